// What tune, explain, check and bench print, whole.
#include <gtest/gtest.h>

#include "output/case_table.h"
#include "output/explain_text.h"
#include "output/peak.h"
#include "output/tune_table.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

DeviceFacts device() {
  DeviceFacts facts;
  facts.kind = "cpu";
  facts.peak_f32_gflops = 300;
  facts.peak_bf16_gflops = 150;
  return facts;
}

Accuracy accuracy() {
  Accuracy accuracy;
  accuracy.max_rel = 2e-3;
  accuracy.allowed_rel = 8e-3;
  accuracy.worst = 0.25;
  accuracy.compared = 4096;
  accuracy.passed = true;
  return accuracy;
}

CandidateReport candidate(std::string source, std::string config, CandidateState state, double time_us) {
  CandidateReport report;
  report.source = std::move(source);
  report.config = std::move(config);
  report.state = state;
  report.predicted_us = time_us > 0 ? time_us * 0.9 : 0;
  if (time_us > 0) report.timing = Timing{time_us, time_us * 0.99, time_us * 1.01, 25};
  if (time_us > 0) report.accuracy = accuracy();
  if (time_us > 0) report.build_ms = 25;
  return report;
}

TuneReport report_of(const GemmProblem& problem) {
  TuneReport report;
  report.problem = problem;
  report.sources = {{"native", "1a2b3c", true, ""},
                    {"openblas", "0.3.21", true, ""},
                    {"onednn", "", false, "no such library"},
                    {"reference", "0.1.0", true, ""}};
  report.candidates = {candidate("native", "gemv rows=2", CandidateState::measured, 100),
                       candidate("native", "gemv rows=4", CandidateState::won, 80),
                       candidate("openblas", "default", CandidateState::measured, 108),
                       candidate("native", "gemm_packed mr=99", CandidateState::dropped, 0),
                       candidate("native", "gemv rows=64", CandidateState::wrong, 0),
                       candidate("reference", "float64", CandidateState::eliminated, 9000)};
  report.candidates[0].reason = "25% slower than the winner";
  report.candidates[3].reason = "registers: 99 > 32";
  report.candidates[4].accuracy = Accuracy{};
  report.candidates[4].accuracy->failure = "D[0,1] is 2, reference 1";
  report.candidates[5].reason = "first sample 112x the winner's";
  report.winner = 1;
  report.margin = 0.35;
  report.decision = "fastest, and its interval is apart from all others";
  report.candidates[1].reason = report.decision;
  report.floor_us = 60;
  report.seconds = 5.24;
  report.provenance = {"cpu X, 2 threads", "native 1a2b3c; openblas 0.3.21", "0.1.0", "2026-12-01T11:08:14Z"};
  return report;
}

// Two problems of a model, the second one run 28 times.
struct Sample {
  Work work;
  std::vector<Outcome> outcomes;
};
Sample sample() {
  Sample s;
  const GemmProblem o = make_problem(1, 1024, 2048, DataType::bf16), qkv = make_problem(1, 4096, 1024, DataType::bf16);
  s.work.distinct = {o, qkv};
  s.work.groups = {{"qwen3-0.6b", 1}};
  s.work.items = {{{"qkv", 28, qkv}, 0, 1}, {{"o", 1, o}, 0, 0}};
  s.outcomes = {{report_of(o), ""}, {report_of(qkv), ""}};
  s.outcomes[0].report->from_store = true;
  return s;
}

TEST(TuneSummary, IsWholeAt120Columns) {
  const Sample s = sample();
  EXPECT_EQ(tune_summary(s.work, s.outcomes, device(), {.width = 120}),
            "problem                   winner                 time GFLOP/s %peak %floor native openblas error  spent\n"
            "qkv 1x4096x1024 bf16 x28  native gemv rows=4  80.0 us     105   35%    75%    won     +35% 2e-03  5.2 s\n"
            "o 1x1024x2048 bf16        native gemv rows=4  80.0 us    52.4   17%    75%    won     +35% 2e-03 stored\n"
            "\n"
            "qwen3-0.6b, 1 token: 29 GEMMs in 2.32 ms a pass; with native alone 2.32 ms (1.00x), with openblas alone "
            "3.13 ms (1.35x)\n"
            "Under a source's name: how much longer its fastest correct kernel takes than the winner; no: it refuses.\n"
            "%floor: of the least time that the bytes and the operations allow at this device's measured peaks.\n"
            "error: largest distance from the float64 reference, relative to the magnitudes summed.\n"
            "Not weighed: onednn refuses: no such library\n");
}

TEST(TuneSummary, FitsTheTerminalAndKeepsWhatMatters) {
  const Sample s = sample();
  for (size_t width = 60; width < 140; ++width) {
    const std::string text = tune_summary(s.work, s.outcomes, device(), {.width = width});
    const std::string table = text.substr(0, text.find("\n\n"));
    for (const std::string& line : split(table, '\n')) EXPECT_LE(display_width(line), width);
    for (const char* title : {"problem", "winner", "time"}) EXPECT_NE(table.find(title), std::string::npos);
  }
}

TEST(TuneSummary, SaysWhatIsMissing) {
  Sample s = sample();
  s.outcomes[0] = {std::nullopt, "no source can compute it"};
  s.outcomes[1].report->interrupted = true;
  s.outcomes[1].report->store_note = "openblas changed from 0.3.20 to 0.3.21";
  const std::string text = tune_summary(s.work, s.outcomes, device(), {.width = 120});
  EXPECT_NE(text.find("5.2 s*\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n*: interrupted before its time was up.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n1x4096x1024 bf16: measured again: openblas changed from 0.3.20 to 0.3.21\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("failed\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nno source can compute it\n")) << text;
  EXPECT_EQ(text.find("a pass"), std::string::npos) << "a pass without all of its problems has no time\n" << text;

  s.outcomes = {{}, {}};
  EXPECT_EQ(tune_summary(s.work, s.outcomes, device(), {.width = 120}), "2 problems not reached.\n");
}

TEST(PassTotals, CountEachProblemAsOftenAsItRuns) {
  const Sample s = sample();
  const auto totals = pass_totals(s.work, s.outcomes);
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].gemms, 29);
  EXPECT_DOUBLE_EQ(totals[0].time_us, 29 * 80.0);
  ASSERT_EQ(totals[0].alone_us.size(), 2u);
  EXPECT_EQ(totals[0].alone_us[1].first, "openblas");
  EXPECT_DOUBLE_EQ(totals[0].alone_us[1].second, 29 * 108.0);
}

TEST(MarginOver, IsOfTheFastestCorrectKernel) {
  TuneReport report = report_of(make_problem(1, 8, 8, DataType::f32));
  EXPECT_DOUBLE_EQ(margin_over(report, "openblas").value(), 0.35);
  EXPECT_DOUBLE_EQ(margin_over(report, "native").value(), 0);
  EXPECT_FALSE(margin_over(report, "onednn").has_value());
  report.winner = -1;
  EXPECT_FALSE(margin_over(report, "openblas").has_value());
}

TEST(OutcomeLine, IsOneLineForEachEnd) {
  const TuneReport report = report_of(make_problem(1, 8, 8, DataType::f32));
  EXPECT_EQ(outcome_line("qkv", {report, ""}), "qkv: native gemv rows=4  80.0 us  5.2 s");
  EXPECT_EQ(outcome_line("qkv", {std::nullopt, "bad"}), "qkv: bad");
  TuneReport none = report;
  none.winner = -1;
  none.decision = "no winner: every candidate failed";
  EXPECT_EQ(outcome_line("qkv", {none, ""}), "qkv: no winner: every candidate failed");
}

TEST(Explain, PrintsTheWholeReport) {
  const GemmProblem problem = make_problem(1, 4096, 1024, DataType::bf16);
  EXPECT_EQ(
      explain_text(report_of(problem), 0, {}),
      problem.print() +
          "\n"
          "work       8.39 MFLOP, 8.40 MB to move at least\n"
          "floor      60.0 us by the device's measured peaks\n"
          "winner     native gemv rows=4\n"
          "time       80.0 us (79.2 us to 80.8 us, 25 samples), 105 GFLOP/s, 75% of the floor\n"
          "margin     +35% over openblas default\n"
          "           112x over reference float64\n"
          "decision   fastest, and its interval is apart from all others\n"
          "accuracy   relative error 2e-03; 4096 elements compared with float64, the nearest to its tolerance at 25.0% "
          "of it\n"
          "\n"
          "source     version  what it offered\n"
          "native     1a2b3c   1 won, 1 measured, 1 wrong, 1 dropped\n"
          "openblas   0.3.21   1 measured\n"
          "onednn     -        refused: no such library\n"
          "reference  0.1.0    1 eliminated\n"
          "\n"
          "6 candidates: 1 won, 2 measured, 1 eliminated, 1 wrong, 1 dropped\n"
          "state       candidate                 predicted measured    from      to   build error  why\n"
          "won         native gemv rows=4          72.0 us  80.0 us 79.2 us 80.8 us 25.0 ms 2e-03\n"
          "measured    native gemv rows=2          90.0 us   100 us 99.0 us  101 us 25.0 ms 2e-03  25% slower than the "
          "winner\n"
          "measured    openblas default            97.2 us   108 us  107 us  109 us 25.0 ms 2e-03\n"
          "eliminated  reference float64           8.10 ms  9.00 ms 8.91 ms 9.09 ms 25.0 ms 2e-03  first sample 112x "
          "the "
          "winner's\n"
          "wrong       native gemv rows=64               -        -       -       -       -     -  D[0,1] is 2, "
          "reference 1\n"
          "dropped     native gemm_packed mr=99          -        -       -       -       -     -  registers: 99 > 32\n"
          "\n"
          "device     cpu X, 2 threads\n"
          "sources    native 1a2b3c; openblas 0.3.21\n"
          "gemmsmith  0.1.0\n"
          "measured   2026-12-01T11:08:14Z, in 5.2 s\n");
}

TEST(Explain, ListsAsManyAsAskedAndCountsTheRest) {
  const std::string text = explain_text(report_of(make_problem(1, 8, 8, DataType::f32)), 2, {});
  EXPECT_NE(text.find("\n4 more: --all lists them\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("registers"), std::string::npos) << text;
}

TEST(Explain, WorksWithoutAWinner) {
  TuneReport report;
  report.problem = make_problem(1, 8, 8, DataType::f32);
  report.decision = "no source can compute it";
  const std::string text = explain_text(report, 15, {});
  EXPECT_NE(text.find("winner     none\ndecision   no source can compute it\n"), std::string::npos) << text;
  EXPECT_NE(text.find("0 candidates: \n"), std::string::npos) << text;
}

TEST(Peak, IsThatOfTheTypes) {
  const DeviceFacts facts = device();
  EXPECT_EQ(peak_gflops(make_problem(1, 1, 1, DataType::f32), facts), 300);
  EXPECT_EQ(peak_gflops(make_problem(1, 1, 1, DataType::bf16), facts), 300)
      << "widening beats a slower dot instruction";
  EXPECT_EQ(peak_gflops(make_problem(1, 1, 1, DataType::f64), facts), 150);
  EXPECT_EQ(of_peak(make_problem(1, 1, 1, DataType::i8), facts, 1), "-");
  EXPECT_EQ(of_floor(0, 1), "-");
  EXPECT_EQ(of_floor(50, 100), "50%");
}

CaseResult result_of(int line, std::string source, CaseOutcome outcome, double time_us) {
  CaseResult result;
  result.line = line;
  result.problem = make_problem(8, 8 + line, 8, DataType::f32);
  result.source = std::move(source);
  result.outcome = outcome;
  if (time_us > 0) result.timing = Timing{time_us, time_us * 0.99, time_us * 1.01, 9};
  return result;
}

TEST(Cases, CountAndNameFailures) {
  CaseResult failed = result_of(12, "native", CaseOutcome::failed, 0);
  failed.config = "gemm_packed mr=8";
  failed.accuracy.failure = "D[3,17] is 1.25, reference 1.5";
  const std::string problem = failed.problem.print();
  EXPECT_EQ(failure_text("edges.cases", failed),
            "edges.cases:12: native gemm_packed mr=8: D[3,17] is 1.25, reference 1.5\n    " + problem);
  failed.reason = "did not build";
  EXPECT_EQ(failure_text("edges.cases", failed),
            "edges.cases:12: native gemm_packed mr=8: did not build\n    " + problem);
  const std::vector<FileResults> files = {
      {"a", {failed, result_of(1, "native", CaseOutcome::passed, 0), result_of(2, "native", CaseOutcome::passed, 0)}},
      {"b", {result_of(1, "openblas", CaseOutcome::refused, 0)}}};
  EXPECT_EQ(summary_line(count(files)), "2 passed, 1 refused, 1 failed");
}

TEST(Bench, ComparesSourcesOverTheProblemsThatAllHave) {
  const std::vector<FileResults> files = {
      {"a",
       {result_of(1, "native", CaseOutcome::passed, 10), result_of(1, "openblas", CaseOutcome::passed, 40),
        result_of(2, "native", CaseOutcome::passed, 20), result_of(2, "openblas", CaseOutcome::passed, 20),
        result_of(3, "native", CaseOutcome::passed, 30), result_of(3, "openblas", CaseOutcome::refused, 0)}}};
  const std::string text = bench_table(files, device(), {.width = 200});
  EXPECT_TRUE(text.ends_with("\n\ngeometric mean over the fastest, 2 problems: native 1.00x openblas 2.00x\n")) << text;
  EXPECT_NE(text.find("40.0 us"), std::string::npos) << text;
  EXPECT_NE(text.find("4.00x\n"), std::string::npos) << text;
  EXPECT_NE(text.find("refused\n"), std::string::npos) << text;
  EXPECT_EQ(bench_table({}, device(), {}), "");
}

}  // namespace
}  // namespace gemmsmith::cli
