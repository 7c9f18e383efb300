// Every row of the public bug reports: right or refused with its reason, through every source, the tuner's pick and the
// reference.
#include <gtest/gtest.h>

#include <set>

#include "api/state.h"
#include "gemmsmith/dispatch.h"
#include "gemmsmith/gemm.h"
#include "problem/compare.h"
#include "problem/operands.h"
#include "reports/report_case.h"
#include "support/file.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

const std::vector<ReportCase>& all_cases() {
  static const std::vector<ReportCase> cases =
      read_report_cases(read_file(GEMMSMITH_SOURCE_DIR "/tests/data/report_cases.csv").value());
  return cases;
}

const Device* device() {
  static const auto opened =
      Device::open("cpu", {.threads = 2, .measure_peaks = false, .kernel_cache = {}, .warn = {}});
  return opened.ok() ? &*opened : nullptr;
}

// Types that no kernel of this version computes with. A row that has one is refused while it is read.
bool has_foreign_type(const ReportCase& c) {
  for (const char* type : {"e4m3", "u8", "u4"})
    for (const char* operand : {"a=", "b=", "d="})
      if (c.text.find(concat(operand, type)) != std::string::npos) return true;
  return false;
}

bool is_random(const ReportCase& c) { return c.at("b").starts_with("normal:"); }

// One row's problem with its data.
class Row {
 public:
  explicit Row(const ReportCase& c) : case_(c), problem_(GemmProblem::parse(c.text).value()) {
    auto made = Operands::create(problem_, 1);
    GS_ASSERT(made.ok(), "rows that are run fit into memory");
    operands_.emplace(std::move(*made));
    args_ = operands_->arguments();
    fill_report_operands(c, problem_, args_);
    if (is_random(c))
      check_.emplace(problem_, args_);  // too many products for every element
    else
      answer_ = expected_answer(c, problem_, args_);
  }

  const GemmProblem& problem() const { return problem_; }
  const GemmArguments& arguments() const { return args_; }
  const std::string& reference_failure() const { return answer_.failure; }

  // What is wrong after a run; nothing if it is right.
  std::string run(const std::function<Status(const GemmArguments&)>& kernel) {
    operands_->poison_output();
    if (const Status status = kernel(args_); !status.ok()) return "fails: " + status.error().text();
    if (const auto damage = operands_->damage()) return *damage;
    if (!check_) return judge(case_, problem_, answer_, args_);
    const Accuracy accuracy = check_->compare(args_.d);
    return accuracy.passed ? std::string() : accuracy.failure;
  }

 private:
  const ReportCase& case_;
  GemmProblem problem_;
  std::optional<Operands> operands_;
  GemmArguments args_;
  ReportAnswer answer_;
  std::optional<Check> check_;
};

// ---- the file: nothing is dropped without a word

TEST(ReportFile, EveryRowIsReadAndAccountedFor) {
  std::map<std::string, std::vector<std::string>> by;  // what becomes of a row -> ids
  std::set<std::string> ids;
  for (const ReportCase& c : all_cases()) {
    EXPECT_TRUE(ids.insert(c.id).second) << c.id;
    const auto parsed = GemmProblem::parse(c.text);
    if (has_foreign_type(c)) {
      ASSERT_FALSE(parsed.ok()) << c.id;
      EXPECT_NE(parsed.error().text().find("use a type (f32, f16, bf16, i8, i32)"), std::string::npos)
          << parsed.error().text();
      by["type"].push_back(c.id);
    } else if (!parsed.ok()) {
      EXPECT_TRUE(c.may_be_error) << c.id << ": " << parsed.error().text();
      by["error"].push_back(c.id);
    } else if (c.has("plan_only")) {
      by["plan"].push_back(c.id);
    } else if (c.at("d") == "same_memory_as_a") {
      by["aliasing"].push_back(c.id);
    } else {
      by["runs"].push_back(c.id);
    }
  }
  EXPECT_EQ(all_cases().size(), 81u);
  EXPECT_EQ(by["type"].size(), 15u) << join(by["type"], " ");
  EXPECT_EQ(join(by["error"], " "), "V07a V07b");
  EXPECT_EQ(join(by["aliasing"], " "), "V03a V03b");
  EXPECT_EQ(join(by["plan"], " "), "L04a");
  EXPECT_EQ(by["runs"].size(), 61u) << join(by["runs"], " ");
}

// ---- rows that run

class ReportRows : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (device() == nullptr) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  }
};

std::vector<size_t> rows_that_run() {
  std::vector<size_t> rows;
  for (size_t i = 0; i < all_cases().size(); ++i) {
    const ReportCase& c = all_cases()[i];
    if (!has_foreign_type(c) && !c.has("plan_only") && c.at("d") != "same_memory_as_a" &&
        GemmProblem::parse(c.text).ok())
      rows.push_back(i);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Csv, ReportRows, testing::ValuesIn(rows_that_run()),
                         [](const auto& info) { return all_cases()[info.param].id; });

TEST_P(ReportRows, AreRightOrRefusedWithTheReason) {
  const ReportCase& c = all_cases()[GetParam()];
  Row row(c);
  EXPECT_EQ(row.reference_failure(), "") << c.text;
  int kernels = 0, refused = 0;
  const std::vector<Source*> sources = select_sources(*device()->state(), {}).value();
  for (Source* source : sources) {
    if (const Supports answer = source->supports(row.problem(), device()->facts()); !answer) {
      EXPECT_FALSE(answer.reason.empty()) << source->name();
      EXPECT_NE(source->name(), "reference") << "it computes everything";
      RecordProperty(source->name(), "refused: " + answer.reason);
      ++refused;
      continue;
    }
    std::vector<Candidate> candidates = source->candidates(row.problem(), device()->facts()).kept;
    ASSERT_FALSE(candidates.empty()) << source->name();
    candidates.resize(std::min<size_t>(candidates.size(), 3));
    for (const Candidate& candidate : candidates) {
      auto kernel = source->build(row.problem(), device()->facts(), candidate);
      ASSERT_TRUE(kernel.ok()) << source->name() << " " << candidate.config << ": " << kernel.error().text();
      EXPECT_EQ(row.run([&](const GemmArguments& args) { return (*kernel)->run(args); }), "")
          << source->name() << " " << candidate.config << ": " << c.text;
      ++kernels;
    }
  }
  EXPECT_GE(kernels, 2) << "the reference, and native: no row of these types is beyond it";
  EXPECT_LE(refused, 2);
}

TEST_P(ReportRows, AreRightAsTheTunerPicks) {
  const ReportCase& c = all_cases()[GetParam()];
  Row row(c);
  TuneOptions options;
  options.budget_seconds = 0.1;
  auto gemm = Gemm::create(*device(), row.problem(), options);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  EXPECT_EQ(row.run([&](const GemmArguments& args) { return gemm->run(args); }), "")
      << gemm->source() << " " << gemm->config() << ": " << c.text;
}

// ---- rows that are answered before anything runs

const ReportCase& row_named(const std::string& id) {
  for (const ReportCase& c : all_cases())
    if (c.id == id) return c;
  GS_ASSERT(false, "the row is there");
  return all_cases().front();
}

TEST(ReportErrors, AnOutputThatOverlapsItselfIsRefused) {
  EXPECT_EQ(
      GemmProblem::parse(row_named("V07a").text).error().text(),
      "problem: d of 2 x 4 x 6 with strides (6,1,0) overlaps itself: a stride is not larger than what the smaller "
      "ones span; give each element of d its own place");
  EXPECT_EQ(
      GemmProblem::parse(row_named("V07b").text).error().text(),
      "problem: d of 1 x 4 x 6 with strides (0,1,0) overlaps itself: a stride is not larger than what the smaller "
      "ones span; give each element of d its own place");
}

TEST(ReportErrors, AnOutputInTheMemoryOfAnInputIsRefusedBeforeItIsWritten) {
  if (device() == nullptr) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  for (const char* id : {"V03a", "V03b"}) {
    Row row(row_named(id));
    auto gemm = Gemm::build(*device(), row.problem(), "native");
    ASSERT_TRUE(gemm.ok()) << gemm.error().text();
    const Status status = gemm->run(row.arguments());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().text(),
              "gemm: d shares memory with a, which is read while d is written; give d memory of its own")
        << id;
    EXPECT_EQ(*static_cast<const float*>(row.arguments().a), 1.0f) << "nothing is written";
  }
}

TEST(ReportErrors, PackedBatchStridesAreNotCutTo32Bits) {
  const GemmProblem p = GemmProblem::parse(row_named("L04a").text).value();
  EXPECT_EQ(concat("plan: bsa=", p.a.batch_stride), row_named("L04a").expected);
}

// ---- T03: a handle for a range of m, tuned at 1, 8, 16 and 32, is right between them

TEST(ReportDispatch, SizesBetweenTheTunedOnesAreRight) {
  if (device() == nullptr) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  GemmProblem largest = GemmProblem::parse(row_named("T03m33").text).value();
  DispatchOptions options;
  options.points_per_octave = 1;
  options.tune.budget_seconds = 0.05;
  options.tune.sources = {"native", "reference"};
  auto dispatch = Dispatch::create(*device(), largest, options);
  ASSERT_TRUE(dispatch.ok()) << dispatch.error().text();
  for (const char* id : {"T03m9", "T03m17", "T03m24", "T03m31", "T03m33"}) {
    Row row(row_named(id));
    EXPECT_EQ(row.run([&](const GemmArguments& args) { return dispatch->run(row.problem().m, args); }), "") << id;
  }
  EXPECT_FALSE(dispatch->table().empty()) << "which says what is used for which m";
}

}  // namespace
}  // namespace gemmsmith
