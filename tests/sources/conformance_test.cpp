#include "sources/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "problem/reference.h"
#include "problem/spec.h"
#include "sources/sources_under_test.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int kCases = 100;  // of a shard

std::string first_lines(const std::vector<std::string>& lines) {
  std::string text = concat(lines.size(), " violations");
  for (size_t i = 0; i < std::min<size_t>(lines.size(), 25); ++i) text += "\n  " + lines[i];
  return text;
}

// ---- every source

// In shards, so that several cores can share them.
class Conformance : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Shards, Conformance, testing::Range(0, 6));

TEST_P(Conformance, every_source_keeps_its_promises) {
  const std::vector<ConformanceCase> cases = conformance_cases(kCases, uint64_t(GetParam() + 1));
  for (const std::unique_ptr<Source>& source : sources_under_test()) {
    SCOPED_TRACE(source->name());
    EXPECT_FALSE(source->version().empty());
    const ConformanceReport report = check_conformance(*source, device_under_test(), cases);
    EXPECT_TRUE(report.violations.empty()) << first_lines(report.violations);
    EXPECT_EQ(report.supported + report.refused, kCases);
    RecordProperty(source->name(),
                   concat(report.supported, " supported, ", report.refused, " refused, ", report.kernels, " kernels"));
    // A library that is not installed refuses everything; one that is has to do its part.
    const int least = source->name() == "reference" ? kCases : source->version() == "not found" ? 0 : kCases / 10;
    EXPECT_GE(report.kernels, least);
  }
}

// ---- the suite itself: what it has to find

// Right except for what a subclass changes.
class FakeSource : public Source {
 public:
  std::string name() const override { return "fake"; }
  std::string version() const override { return "1"; }
  Supports supports(const GemmProblem&, const DeviceFacts&) const override { return {}; }
  CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override { return {{{"fake", "only", 0}}, {}}; }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem& p, const DeviceFacts&, const Candidate& candidate) override {
    if (candidate.config != "only") return Error{"fake", candidate.config, "is not a configuration", {}, {}};
    return std::unique_ptr<Kernel>(std::make_unique<FakeKernel>(*this, p));
  }
  virtual void run(const GemmProblem& p, const GemmArguments& arguments) { compute_reference(p, arguments); }

 private:
  struct FakeKernel final : Kernel {
    FakeKernel(FakeSource& s, const GemmProblem& p) : source(s), problem(p) {}
    Status run(const GemmArguments& arguments) override {
      source.run(problem, arguments);
      return Done{};
    }
    FakeSource& source;
    GemmProblem problem;
  };
};

// A padded D, so that there is something behind each row.
ConformanceCase padded_case() {
  return {GemmProblem::parse("5x7x3 d=ld=9 epilogue=relu(acc + bias[n])").value(), Contents::random};
}

std::string verdict(Source& source, const ConformanceCase& c = padded_case()) {
  ConformanceReport report;
  check_conformance(source, device_under_test(), c, report);
  return join(report.violations, "\n");
}

std::string problem_text() { return padded_case().problem.print(); }

TEST(ConformanceSuite, passes_a_source_that_is_right) {
  FakeSource right;
  EXPECT_EQ(verdict(right), "");
}

TEST(ConformanceSuite, finds_one_wrong_element) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      compute_reference(p, arguments);
      float* d = static_cast<float*>(arguments.d);
      d[4 * p.d.row_stride + 6] += 1e-3f;
    }
  } source;
  EXPECT_NE(verdict(source).find(concat("fake only, ", problem_text(), ": is wrong: D[4,6]")), std::string::npos)
      << verdict(source);
}

TEST(ConformanceSuite, finds_an_element_that_is_not_written) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      const float before = static_cast<float*>(arguments.d)[3];
      compute_reference(p, arguments);
      static_cast<float*>(arguments.d)[3] = before;
    }
  } source;
  EXPECT_NE(verdict(source).find("is wrong: D[0,3]"), std::string::npos) << verdict(source);
}

TEST(ConformanceSuite, finds_a_write_past_the_end_of_a_row) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      compute_reference(p, arguments);
      static_cast<float*>(arguments.d)[p.n] = 0;
    }
  } source;
  EXPECT_EQ(verdict(source), concat("fake only, ", problem_text(),
                                    ": gap between elements of d overwritten, at element 7 of its memory"));
}

TEST(ConformanceSuite, finds_a_write_before_an_operand) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      compute_reference(p, arguments);
      static_cast<float*>(const_cast<void*>(arguments.b))[-1] = 0;
    }
  } source;
  EXPECT_NE(verdict(source).find("guard band before b overwritten"), std::string::npos) << verdict(source);
}

TEST(ConformanceSuite, finds_what_is_right_only_once) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      if (!ran_) compute_reference(p, arguments);
      ran_ = true;
    }
    bool ran_ = false;
  } source;
  EXPECT_NE(verdict(source).find("the second time, is wrong: "), std::string::npos) << verdict(source);
}

TEST(ConformanceSuite, finds_a_read_of_what_the_problem_does_not_read) {
  struct : FakeSource {
    void run(const GemmProblem& p, const GemmArguments& arguments) override {
      compute_reference(p, arguments);
      float* d = static_cast<float*>(arguments.d);
      d[0] += 0 * static_cast<const float*>(arguments.a)[0] * float(p.k);
      for (int64_t k = 0; k < p.k; ++k) d[0] += 0 * static_cast<const float*>(arguments.a)[k];
    }
  } source;
  EXPECT_EQ(verdict(source), "");
  const ConformanceCase unread{GemmProblem::parse("5x7x3 alpha=0").value(), Contents::nan_where_unread};
  EXPECT_NE(verdict(source, unread).find("is wrong: "), std::string::npos) << verdict(source, unread);
}

TEST(ConformanceSuite, finds_a_refusal_without_a_reason) {
  struct : FakeSource {
    Supports supports(const GemmProblem&, const DeviceFacts&) const override { return Supports::no(reason); }
    std::string reason;
  } source;
  EXPECT_EQ(verdict(source), concat("fake, ", problem_text(), ": refuses without a reason"));
  source.reason = "not supported";
  EXPECT_EQ(verdict(source), concat("fake, ", problem_text(), ": refuses without a number or a name: not supported"));
  source.reason = "k = 3 is odd";
  EXPECT_EQ(verdict(source), "");
}

TEST(ConformanceSuite, finds_support_without_a_kernel) {
  struct : FakeSource {
    CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override { return {}; }
  } nothing;
  EXPECT_EQ(verdict(nothing), concat("fake, ", problem_text(), ": supports the problem but offers no candidate"));
  struct : FakeSource {
    Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate&) override {
      return Error{"fake", "out of luck", {}, {}, {}};
    }
  } unbuilt;
  EXPECT_EQ(verdict(unbuilt),
            concat("fake only, ", problem_text(), ": supported, but does not build: fake: out of luck"));
}

TEST(ConformanceSuite, checks_every_candidate_and_their_names) {
  struct : FakeSource {
    CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override {
      return {{{"fake", "only", 0}, {"fake", "only", 0}, {"other", "second", 0}}, {{"third", "too slow"}}};
    }
  } source;
  const std::string found = verdict(source);
  EXPECT_NE(found.find("fake only, " + problem_text() + ": is offered twice"), std::string::npos) << found;
  EXPECT_NE(found.find("fake second, " + problem_text() + ": names another source: other"), std::string::npos) << found;
  EXPECT_NE(found.find("fake second, " + problem_text() + ": supported, but does not build"), std::string::npos)
      << found;
  EXPECT_NE(found.find("fake third, " + problem_text() + ": is dropped by a rule that says nothing: too slow"),
            std::string::npos)
      << found;
}

// ---- the cases: what they have to contain

TEST(ConformanceCases, are_deterministic_and_reach_the_edges) {
  const std::vector<ConformanceCase> cases = conformance_cases(6 * kCases, 1);
  const std::vector<ConformanceCase> again = conformance_cases(6 * kCases, 1);
  ASSERT_EQ(int(cases.size()), 6 * kCases);
  int empty = 0, no_depth = 0, one_row = 0, broadcast = 0, negative = 0, batched = 0, nan = 0, fused = 0, no_alpha = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const GemmProblem& p = cases[i].problem;
    ASSERT_EQ(p, again[i].problem);
    ASSERT_EQ(GemmProblem::parse(p.print()).value(), p);
    empty += p.m == 0 || p.n == 0 || p.batch == 0;
    no_depth += p.k == 0;
    one_row += p.m == 1 || p.n == 1;
    broadcast += p.a.row_stride == 0 || p.b.row_stride == 0 || (p.batch > 1 && p.a.batch_stride == 0);
    negative += p.a.row_stride < 0 || p.d.row_stride < 0;
    batched += p.batch > 1;
    nan += cases[i].contents != Contents::random;
    fused += !p.epilogue.is_accumulator();
    no_alpha += p.alpha == 0;
  }
  for (const int count : {empty, no_depth, one_row, broadcast, negative, batched, nan, fused, no_alpha})
    EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace gemmsmith
