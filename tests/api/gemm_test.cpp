// The public API as a program uses it.
#include <gtest/gtest.h>

#include <vector>

#include "gemmsmith/cases.h"
#include "gemmsmith/gemm.h"

namespace gemmsmith {
namespace {

class Api : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cpu", {.threads = 2, .measure_peaks = false});
    if (!opened.ok()) GTEST_SKIP() << opened.error().text();
    device_ = std::make_unique<Device>(std::move(opened).value());
  }
  std::unique_ptr<Device> device_;
};

TEST(ApiErrors, an_unknown_device_lists_the_known) {
  const auto opened = Device::open("gpu");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().text(),
            "device: \"gpu\" is not a device of this build; known: cpu, cuda, sim:sm_90a; to compile only: sm_80, "
            "sm_89, sm_90a, sm_100a");
}

TEST_F(Api, a_tuned_gemm_multiplies) {
  const GemmProblem p = make_problem(3, 5, 4, DataType::f32);
  Store store = Store::open(":memory:").value();
  TuneOptions options;
  options.budget_seconds = 0.2;
  options.sources = {"native", "reference"};
  auto gemm = Gemm::create(*device_, p, options, &store);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  std::vector<float> a(12), b(20), d(15, -1.0f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i) - 5;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 7) - 3;
  ASSERT_TRUE(gemm->run({.a = a.data(), .b = b.data(), .d = d.data()}).ok());
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 5; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += a[i * 4 + k] * b[k * 5 + j];
      EXPECT_EQ(d[i * 5 + j], sum) << i << "," << j;
    }
  // The second time the store answers, and the choice is the same.
  const auto again = tune(*device_, p, options, &store);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->from_store);
  EXPECT_EQ(again->best()->config, gemm->config());
}

TEST_F(Api, a_certain_candidate_can_be_built_and_an_unknown_source_is_named) {
  const GemmProblem p = make_problem(2, 32, 8, DataType::f32);
  auto gemm = Gemm::build(*device_, p, "native", "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=8");
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  EXPECT_EQ(gemm->source(), "native");
  const auto unknown = Gemm::build(*device_, p, "magic");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text(), "sources: \"magic\" is not a source; known: native, openblas, onednn, reference");
}

// One compiled kernel serves a class of problems, but a configuration may be legal for some of the class only.
TEST_F(Api, a_kernel_compiled_for_few_rows_is_not_taken_for_more) {
  const std::string config = "gemm_streaming mr=2 nr=32 nb=512 unroll=4 swap=0";
  ASSERT_TRUE(Gemm::build(*device_, make_problem(2, 32, 8, DataType::f32), "native", config).ok());
  const auto more = Gemm::build(*device_, make_problem(3, 32, 8, DataType::f32), "native", config);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().text(), "--config: " + config + " is not legal: mr = 2 < 3, the rows that there are");
}

TEST_F(Api, every_stage_can_be_printed) {
  const GemmProblem p = make_problem(64, 64, 64, DataType::f32);
  const auto stage = [&](const std::string& name) { return emit(*device_, p, "gemm_packed mr=4 nr=32", name); };
  ASSERT_TRUE(stage("mlir").ok()) << stage("mlir").error().text();
  EXPECT_NE(stage("mlir")->content.find("vector.fma"), std::string::npos);
  EXPECT_NE(stage("llvm")->content.find("define void @gemm_packed"), std::string::npos);
  EXPECT_NE(stage("asm")->content.find("vfmadd"), std::string::npos);
  EXPECT_EQ(stage("object")->content.substr(1, 3), "ELF");
  const auto unknown = stage("ptx");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text(),
            "--stage: \"ptx\" is not a stage of a kernel for the device \"cpu\"; known: asm, llvm, mlir, object");
}

TEST_F(Api, cases_pass_are_refused_or_fail_with_a_reason) {
  const auto lines = read_cases("m={1,5} n=9 k=3 dtype={f32,bf16}\nsources=reference\n2x2x2\n", "x.cases");
  ASSERT_TRUE(lines.ok());
  CaseOptions options;
  options.sources = {"native", "reference"};
  const auto results = run_cases(*device_, *lines, options);
  ASSERT_TRUE(results.ok()) << results.error().text();
  EXPECT_EQ(results->size(), 4u * 2 + 1);
  for (const CaseResult& r : *results) {
    EXPECT_EQ(r.outcome, CaseOutcome::passed) << r.source << " " << r.problem.print() << ": " << r.reason;
    EXPECT_TRUE(r.accuracy.passed);
  }
}

TEST_F(Api, tuning_everything_of_size_zero_and_one_works) {
  TuneOptions options;
  options.budget_seconds = 0.05;
  options.sources = {"native", "reference"};
  for (int bits = 0; bits < 16; ++bits) {
    GemmProblem p = make_problem(bits & 1, bits >> 1 & 1, bits >> 2 & 1, DataType::f32);
    p.batch = bits >> 3 & 1;
    const auto report = tune(*device_, p, options);
    ASSERT_TRUE(report.ok()) << p.print() << ": " << report.error().text();
    EXPECT_NE(report->best(), nullptr) << p.print() << ": " << report->decision;
  }
}

}  // namespace
}  // namespace gemmsmith
