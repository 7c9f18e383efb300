// Every template, in configurations whose blocks are small enough that a small problem has all of their edges, against the float64
// reference: poisoned outputs, guard bands, MLIR's verifier on, and every access held to the extents.
#include <gtest/gtest.h>

#include <map>

#include "sources/native/native_source.h"
#include "support/clock.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"
#include "templates/template.h"
#include "tuner/host_bench.h"

namespace gemmsmith {
namespace {

struct Cpu {
  std::unique_ptr<Target> target;
  std::unique_ptr<Source> native;
};

// One target for each instruction set; kernels of one class are compiled once for all tests.
Cpu* cpu(const std::string& features_limit) {
  static std::map<std::string, Cpu> targets;
  const auto found = targets.find(features_limit);
  if (found != targets.end()) return &found->second;
  Cpu made;
  auto target = make_cpu_target({.threads = 2, .measure_peaks = false, .features_limit = features_limit});
  if (!target.ok()) return nullptr;
  made.target = std::move(target).value();
  made.native = make_native_source(*made.target, {.verify = true, .check_bounds = true});
  return &(targets[features_limit] = std::move(made));
}

struct TemplateCase {
  std::string name;
  std::string config;  // with small blocks
  std::string types;   // of the problem
  std::vector<int64_t> m, n, k;
  std::string features_limit = "";
};

void PrintTo(const TemplateCase& c, std::ostream* out) { *out << c.name; }

class Templates : public testing::TestWithParam<TemplateCase> {};

TEST_P(Templates, agrees_with_the_reference_at_every_edge) {
  const TemplateCase& c = GetParam();
  Cpu* device = cpu(c.features_limit);
  if (!device) GTEST_SKIP() << "this CPU is not one that the target covers";
  const DeviceFacts& facts = device->target->facts();
  const SystemClock clock;
  HostBench bench(clock);
  int ran = 0;
  std::string refusal;
  for (const int64_t m : c.m)
    for (const int64_t n : c.n)
      for (const int64_t k : c.k) {
        const std::string text = concat("m=", m, " n=", n, " k=", k, " ", c.types);
        const auto problem = GemmProblem::parse(text);
        ASSERT_TRUE(problem.ok()) << problem.error().text();
        const std::string name = c.config.substr(0, c.config.find(' '));
        ASSERT_NE(template_named(name), nullptr) << name;
        if (const Supports answer = template_named(name)->supports(*problem, facts); !answer)
          continue;  // another class of sizes
        auto kernel = device->native->build(*problem, facts, {"native", c.config, 0});
        if (!kernel.ok() && kernel.error().text().find("dot = 1 needs") != std::string::npos) {
          refusal = kernel.error().text();
          continue;
        }
        ASSERT_TRUE(kernel.ok()) << text << ": " << kernel.error().text();
        ASSERT_TRUE(bench.prepare(*problem, facts, {.seed = uint64_t(m * 31 + n * 7 + k), .rotate = false}).ok());
        const auto accuracy = bench.check(**kernel, 5);
        ASSERT_TRUE(accuracy.ok()) << text << ": " << accuracy.error().text();
        EXPECT_TRUE(accuracy->passed) << text << ": " << accuracy->failure;
        ++ran;
      }
  if (!ran && !refusal.empty()) GTEST_SKIP() << refusal;
  EXPECT_GT(ran, 0);
}

const std::vector<int64_t> kM = {1, 2, 7, 8, 9, 33}, kN = {1, 15, 32, 33, 100}, kK = {0, 1, 3, 32, 65},
                           kFew = {1, 2, 5};
const char* kPacked = "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32";
const char* kPackedRows = "gemm_packed mr=6 nr=64 mc=12 nc=64 kc=16 mb=24 split_rows=1 prefetch=0";
const char* kAvx2 = "gemm_packed mr=6 nr=16 mc=12 nc=32 kc=16 mb=24";

std::vector<TemplateCase> cases() {
  std::vector<TemplateCase> out;
  const auto packed = [&](const std::string& name, const std::string& config, const std::string& types,
                          const std::string& limit = "") { out.push_back({name, config, types, kM, kN, kK, limit}); };
  packed("packed_f32", kPacked, "dtype=f32");
  packed("packed_f32_rows", kPackedRows, "dtype=f32");
  packed("packed_f32_weights", kPacked, "dtype=f32 b=f32:col");
  packed("packed_f32_both_transposed", kPacked, "dtype=f32 a=f32:col b=f32:col");
  packed("packed_f32_scaled", kPacked, "dtype=f32 alpha=0.5 beta=-2 c=f32:col");
  packed("packed_f32_batch", kPacked, "dtype=f32 batch=3");
  packed("packed_f32_column_major_d", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 swap=1",
         "dtype=f32 d=f32:col epilogue=acc + bias[n] * aux[m,n]");
  packed("packed_f32_epilogue", kPacked, "dtype=f32 epilogue=gelu(acc + bias[n]) * aux[m,n] + r[m] - s");
  // Walked as a tree, this would be 3^24 operations.
  std::string deep = "acc";
  for (int i = 0; i < 24; ++i) deep = "silu(" + deep + ")";
  out.push_back({"packed_f32_deep_epilogue", kPacked, "dtype=f32 epilogue=" + deep, {9}, {33}, {3}});
  packed("packed_bf16", kPacked, "dtype=bf16");
  packed("packed_bf16_weights", kPacked, "dtype=bf16 b=bf16:col epilogue=silu(acc + bias[n])");
  packed("packed_bf16_dot", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 dot=1", "dtype=bf16");
  packed("packed_bf16_dot_weights", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 dot=1",
         "dtype=bf16 a=bf16:col b=bf16:col d=f32");
  packed("packed_f16", kPacked, "dtype=f16 b=f16:col");
  packed("packed_i8", kPacked, "dtype=i8");
  packed("packed_i8_dot", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 dot=1", "dtype=i8");
  packed("packed_i8_dot_weights", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 dot=1",
         "dtype=i8 b=i8:col d=f32 alpha=0.125 epilogue=relu(acc)");
  packed("packed_strided", kPacked, "dtype=f32 a=f32:strides(300,3) b=f32:strides(2,400)");
  packed("packed_f32_avx2", kAvx2, "dtype=f32 b=f32:col", "avx2");
  packed("packed_bf16_avx2", kAvx2, "dtype=bf16 epilogue=tanh(acc)", "avx2");
  packed("packed_i8_avx2", kAvx2, "dtype=i8", "avx2");

  const auto few = [&](const std::string& name, const std::string& config, const std::string& types,
                       const std::string& limit = "") {
    out.push_back({name, config, types, kFew, {1, 31, 64, 200}, {0, 1, 7, 64, 130}, limit});
  };
  few("streaming_f32", "gemm_streaming mr=5 nr=32 nb=64 unroll=8", "dtype=f32");
  few("streaming_bf16", "gemm_streaming mr=5 nr=32 nb=64 unroll=4", "dtype=bf16 epilogue=relu(acc + bias[n])");
  few("streaming_i8", "gemm_streaming mr=5 nr=32 nb=64 unroll=4", "dtype=i8");
  few("streaming_batch", "gemm_streaming mr=5 nr=16 nb=32 unroll=4", "dtype=f32 batch=3 beta=1");
  few("streaming_f32_avx2", "gemm_streaming mr=5 nr=16 nb=64 unroll=8", "dtype=f32", "avx2");
  few("gemv_f32", "gemv mr=5 nr=4 unroll=2 block=64", "dtype=f32 b=f32:col");
  few("gemv_f32_one_column", "gemv mr=5 nr=1 unroll=1 block=16", "dtype=f32 b=f32:col beta=2");
  few("gemv_bf16", "gemv mr=5 nr=4 unroll=2 block=64", "dtype=bf16 b=bf16:col epilogue=gelu_tanh(acc)");
  few("gemv_bf16_dot", "gemv mr=5 nr=4 unroll=2 block=64 dot=1", "dtype=bf16 b=bf16:col");
  few("gemv_i8_dot", "gemv mr=5 nr=2 unroll=2 block=64 dot=1", "dtype=i8 b=i8:col");
  few("gemv_batch", "gemv mr=5 nr=4 unroll=1 block=64", "dtype=f32 batch=3 b=f32:col");
  few("gemv_f32_avx2", "gemv mr=5 nr=2 unroll=2 block=64", "dtype=f32 b=f32:col", "avx2");
  out.push_back({"gemv_few_columns",
                 "gemv mr=3 nr=4 unroll=2 block=64 swap=1",
                 "dtype=f32 b=f32:col",
                 {1, 40, 100},
                 {1, 2, 3},
                 {0, 5, 64, 130}});
  out.push_back({"streaming_few_columns",
                 "gemm_streaming mr=3 nr=32 nb=64 unroll=4 swap=1",
                 "dtype=f32 a=f32:col epilogue=acc + bias[m]",
                 {40, 100},
                 {1, 2, 3},
                 {0, 5, 64}});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, Templates, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// The generated space of every supported problem is not empty, legal throughout, ordered by the model, and names a rule for each
// configuration that it drops.
TEST(TemplateSpace, is_legal_ordered_and_explained) {
  Cpu* device = cpu("");
  if (!device) GTEST_SKIP() << "this CPU is not one that the target covers";
  const DeviceFacts& facts = device->target->facts();
  for (const char* text : {"1x4096x1024 dtype=bf16 b=col", "128x4096x1024 dtype=f32", "8x100x50 dtype=i8",
                           "2048x2048x2048 dtype=f32 d=f32:col"}) {
    const auto problem = GemmProblem::parse(text);
    ASSERT_TRUE(problem.ok()) << problem.error().text();
    int kept = 0;
    for (const KernelTemplate& t : templates()) {
      if (!t.supports(*problem, facts)) continue;
      double last = 0;
      for (const ScoredConfig& c : t.configs(*problem, facts)) {
        if (!c.dropped.empty()) continue;
        EXPECT_TRUE(t.stage(c.config, *problem, facts).ok()) << text << ": " << t.name << " " << c.config;
        EXPECT_GT(c.predicted_us, 0) << c.config;
        EXPECT_GE(c.predicted_us, last) << c.config;
        last = c.predicted_us;
        ++kept;
      }
    }
    EXPECT_GE(kept, 4) << text;
  }
}

TEST(TemplateErrors, say_what_is_wrong) {
  Cpu* device = cpu("");
  if (!device) GTEST_SKIP() << "this CPU is not one that the target covers";
  const GemmProblem p = make_problem(64, 64, 64, DataType::f32);
  const auto text = [&](const std::string& config) {
    IrContext context;
    const auto staged = stage_kernel(context, config, p, device->target->facts());
    return staged.ok() ? std::string("ok") : staged.error().text();
  };
  EXPECT_EQ(
      text("gemm_packet mr=8"), "--config: \"gemm_packet\" is not a template; known: " + [] {
        std::string names;
        for (const KernelTemplate& t : templates()) names += (names.empty() ? "" : ", ") + t.name;
        return names;
      }());
  EXPECT_EQ(text("gemv mr=one"),
            "--config: \"mr=one\" is not name=integer; e.g. mr=1 nr=4 unroll=2 block=64 dot=0 swap=0");
  EXPECT_EQ(text("gemv rows=1"),
            "--config: \"rows\" is not a field of this template; its fields: mr, nr, unroll, block, dot, swap");
  EXPECT_EQ(text("gemm_packed mr=8 mc=12"),
            "--config: gemm_packed mr=8 nr=32 mc=12 nc=1024 kc=256 mb=768 prefetch=16 split_rows=0 dot=0 swap=0 "
            "is not legal: mc = 12 is not a multiple of mr");
}

}  // namespace
}  // namespace gemmsmith
