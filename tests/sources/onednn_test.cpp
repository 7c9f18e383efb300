#include "sources/onednn/onednn_source.h"

#include <gtest/gtest.h>

#include "sources/onednn/post_ops.h"
#include "sources/sources_under_test.h"
#include "support/environment.h"
#include "support/text.h"

namespace gemmsmith::onednn {
namespace {

// A chain in words: "bias + linear(2, 1) gelu".
std::string chain_of(const char* epilogue) {
  const auto chain = post_ops_of(Expr::parse(epilogue).value());
  if (!chain) return "none";
  std::vector<std::string> words;
  for (const PostOp& op : *chain)
    words.push_back(op.function.empty()       ? concat("+-*/"[size_t(op.op)], op.input)
                    : op.function == "linear" ? concat("linear(", op.alpha, ",", op.beta, ")")
                                              : op.function);
  return join(words, " ");
}

TEST(PostOps, reads_an_epilogue_as_a_chain) {
  EXPECT_EQ(chain_of("acc"), "");
  EXPECT_EQ(chain_of("gelu(acc + bias[n])"), "+bias gelu");
  EXPECT_EQ(chain_of("gelu_tanh(bias[n] + acc) * aux[m,n] - row[m]"), "+bias gelu_tanh *aux -row");
  EXPECT_EQ(chain_of("silu(acc) / scale"), "silu /scale");
  EXPECT_EQ(chain_of("-tanh(acc)"), "tanh linear(-1,0)");
  EXPECT_EQ(chain_of("2 * acc + 1"), "linear(2,1)");
  EXPECT_EQ(chain_of("(acc + 1) * -4 - 3"), "linear(-4,-7)") << "neighbours are merged";
}

TEST(PostOps, refuses_what_is_no_chain_or_means_something_else_there) {
  for (const char* epilogue :
       {"acc * acc", "acc / (1 + abs(acc))", "where(acc > 0, acc, 0)", "bf16(acc)", "bias[n] - acc", "1 / acc",
        "relu(acc)", "max(acc, 0)", "acc + bias[n] * row[m]", "tanh(acc * 2) * 3", "acc / 3"})
    EXPECT_EQ(chain_of(epilogue), "none") << epilogue;
}

TEST(OneDnnSource, refuses_when_the_library_is_missing) {
  const auto source = make_onednn_source({{"libdnnl-of-nowhere.so.7"}});
  EXPECT_EQ(source->version(), "not found");
  const Supports answer = source->supports(make_problem(8, 8, 8, DataType::f32), device_under_test());
  EXPECT_FALSE(answer);
  EXPECT_TRUE(answer.reason.starts_with("libdnnl-of-nowhere.so.7: ")) << answer.reason;
  EXPECT_TRUE(source->candidates(make_problem(8, 8, 8, DataType::f32), device_under_test()).kept.empty());
  EXPECT_FALSE(source->build(make_problem(8, 8, 8, DataType::f32), device_under_test(), {"onednn", "matmul", 0}).ok());
}

TEST(OneDnnSource, leaves_the_environment_as_it_was) {
  const auto before = environment_variable("GOMP_SPINCOUNT");
  make_onednn_source();
  EXPECT_EQ(environment_variable("GOMP_SPINCOUNT"), before);
}

class InstalledOneDnn : public testing::Test {
 protected:
  void SetUp() override {
    source_ = make_onednn_source();
    if (source_->version() == "not found") GTEST_SKIP() << "oneDNN is not installed or was not at build time";
  }
  std::string configs(const char* problem) {
    std::vector<std::string> configs;
    for (const Candidate& c : source_->candidates(GemmProblem::parse(problem).value(), device_under_test()).kept)
      configs.push_back(c.config);
    return join(configs, ", ");
  }
  std::string refusal(const char* problem) {
    return source_->supports(GemmProblem::parse(problem).value(), device_under_test()).reason;
  }
  std::unique_ptr<Source> source_;
};

TEST_F(InstalledOneDnn, fuses_where_it_can_and_passes_over_d_elsewhere) {
  EXPECT_EQ(configs("33x64x40 dtype=f32"), "matmul");
  EXPECT_EQ(configs("33x64x40 dtype=f32 epilogue=gelu(acc + bias[n])"), "matmul");
  EXPECT_EQ(configs("33x64x40 dtype=f32 d=col epilogue=gelu(acc)"), "matmul") << "as its transpose";
  EXPECT_EQ(configs("33x64x40 dtype=f32 d=col epilogue=acc + bias[n]"), "matmul + epilogue pass")
      << "a bias for rows there";
  EXPECT_EQ(configs("33x64x40 dtype=f32 alpha=2 beta=1 epilogue=silu(acc) * aux[m,n]"), "matmul");
  EXPECT_EQ(configs("33x64x40 dtype=f32 epilogue=relu(acc)"), "matmul + epilogue pass");
}

TEST_F(InstalledOneDnn, refuses_with_the_rule_and_the_numbers) {
  EXPECT_EQ(refusal("8x8x0"), "k = 0: its matmul leaves D unwritten where there is nothing to add up");
  EXPECT_EQ(refusal("8x8x8 alpha=0"), "alpha = 0: its matmul reads A and B all the same, and 0 * NaN is NaN");
  EXPECT_EQ(refusal("8x8x8 alpha=1e-42"), "alpha = 1e-42 is not a normal number in f32");
  EXPECT_EQ(refusal("8x8x8 a=strides(-8,1)"),
            "onednn: a: 8x8 with strides(-8,1) is invalid_arguments for dnnl_memory_desc_init_by_strides "
            "for 8x8x8 dtype=f32 a=strides(-8,1)");
  EXPECT_EQ(refusal("8x8x8 a=f32 b=bf16 c=f32 d=f32"),
            concat("onednn: dnnl_primitive_desc_create gives unimplemented for ",
                   GemmProblem::parse("8x8x8 a=f32 b=bf16 c=f32 d=f32").value().print()));
  EXPECT_EQ(refusal("8x8x8 dtype=i8 epilogue=floor(acc)"),
            "epilogue floor(acc): not a chain of its post-ops; a pass over D instead needs an f32 D, this one is i32");
}

TEST_F(InstalledOneDnn, names_the_implementation_behind_a_kernel) {
  const GemmProblem p = GemmProblem::parse("64x64x64 dtype=f32").value();
  const auto kernel = source_->build(p, device_under_test(), {"onednn", "matmul", 0});
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_FALSE((*kernel)->stage("implementation").empty());
  EXPECT_GT((*kernel)->build_ms(), 0);
}

}  // namespace
}  // namespace gemmsmith::onednn
