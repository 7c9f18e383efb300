// Choices of the store that do not hold: the caller gets a kernel all the same, and the store a decision that does.
#include <gtest/gtest.h>

#include "gemmsmith/gemm.h"

namespace gemmsmith {
namespace {

class StoredChoice : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cpu", {.threads = 1, .measure_peaks = false, .kernel_cache = {}, .warn = {}});
    if (!opened.ok()) GTEST_SKIP() << "skipped: " << opened.error().text();
    device_ = std::make_unique<Device>(std::move(opened).value());
    options_.budget_seconds = 0.1;
    options_.sources = {"native", "reference"};
    report_ = tune(*device_, problem_, options_).value();
    ASSERT_NE(report_.best(), nullptr);
  }
  CandidateReport& winner() { return report_.candidates[size_t(report_.winner)]; }
  TuneReport newest() const { return **store_.find(problem_, device_->facts().fingerprint()); }
  void multiply(Gemm& gemm) const {
    const std::vector<float> a(size_t(problem_.m * problem_.k), 1.0f), b(size_t(problem_.k * problem_.n), 2.0f);
    std::vector<float> d(size_t(problem_.m * problem_.n));
    ASSERT_TRUE(gemm.run({.a = a.data(), .b = b.data(), .d = d.data()}).ok());
    EXPECT_EQ(d, std::vector<float>(d.size(), 2.0f * float(problem_.k)));
  }

  std::unique_ptr<Device> device_;
  const GemmProblem problem_ = make_problem(3, 40, 17, DataType::f32);
  TuneOptions options_;
  TuneReport report_;
  Store store_ = Store::open(":memory:").value();
};

TEST_F(StoredChoice, ThatCannotBeBuiltIsReplaced) {
  for (const char* config : {"gemm_packed mr=1000", "no_such_template mr=1"}) {
    winner().source = "native";
    winner().config = config;
    ASSERT_TRUE(store_.save(report_).ok());
    ASSERT_EQ(newest().best()->config, config);
    auto gemm = Gemm::create(*device_, problem_, options_, &store_);
    ASSERT_TRUE(gemm.ok()) << gemm.error().text();
    multiply(*gemm);
    EXPECT_EQ(newest().best()->config, gemm->config()) << "next time it is used at once";
    EXPECT_NE(gemm->config(), config);
  }
}

TEST_F(StoredChoice, OfUnknownVersionsIsNeverUsedAndReplaced) {
  for (const bool sources : {true, false}) {
    store_ = Store::open(":memory:").value();  // an earlier decision that holds would be used instead
    TuneReport without = report_;
    (sources ? without.provenance.sources : without.provenance.gemmsmith) = "";
    ASSERT_TRUE(store_.save(without).ok());
    const TuneReport again = tune(*device_, problem_, options_, &store_).value();
    EXPECT_FALSE(again.from_store);
    EXPECT_NE(again.store_note, "");
    EXPECT_EQ(newest().provenance.sources, report_.provenance.sources);
    EXPECT_EQ(newest().provenance.gemmsmith, report_.provenance.gemmsmith);
    EXPECT_TRUE(tune(*device_, problem_, options_, &store_)->from_store) << "what replaced it holds";
  }
}

}  // namespace
}  // namespace gemmsmith
