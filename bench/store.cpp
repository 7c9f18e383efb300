// What a look-up in a large store costs: fills one with decisions for problems on several devices, opens it anew, and measures how long
// finding the newest decision for a problem takes, for problems that it has and for those that it has not.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gemmsmith/json.h"
#include "gemmsmith/store.h"

using namespace gemmsmith;

namespace {

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// The i-th decision: 64 devices, and a problem of its own for each 64.
constexpr int64_t kDevices = 64;
std::string device(int64_t i) {
  return "cpu | some model | avx2 avx512f | 32 KB, 1 MB, 32 MB | " + std::to_string(i % kDevices);
}
GemmProblem problem(int64_t i) {
  const int64_t number = i / kDevices;
  return make_problem(1 + number % 128, 64 * (1 + number / 128), 4096, DataType::bf16, Major::column);
}

TuneReport report(int64_t i, int candidates) {
  TuneReport r;
  r.problem = problem(i);
  r.sources = {{"native", "0.1.0-1a2b3c4d5e", true, {}}, {"openblas", "0.3.21 Cooperlake", false, "bf16 needs SBGEMM"}};
  for (int c = 0; c < candidates; ++c) {
    CandidateReport candidate{"native",
                              "gemm_packed mr=8 nr=32 kc=" + std::to_string(64 * (c + 1)),
                              CandidateState::measured,
                              "slower than the winner",
                              100.0 + c,
                              24.5,
                              {},
                              {}};
    candidate.timing = Timing{99.0 + c, 98.5 + c, 99.5 + c, 25};
    candidate.accuracy = Accuracy{1e-3, 2.5e-8, 1e-7, 0.25, r.problem.m * r.problem.n, true, {}};
    r.candidates.push_back(std::move(candidate));
  }
  r.candidates.front().state = CandidateState::won;
  r.winner = 0;
  r.decision = "native gemm_packed: lowest median";
  r.provenance = {device(i), "native 0.1.0-1a2b3c4d5e", "0.1.0", "2026-12-01T00:00:00Z"};
  return r;
}

// In transactions of many lines each: a saved decision is a transaction by itself, and a million of them are minutes of syncing.
Status fill(Store& store, int64_t records, int candidates) {
  constexpr int64_t kAtOnce = 20'000;
  for (int64_t first = 0; first < records; first += kAtOnce) {
    std::string lines;
    for (int64_t i = first; i < std::min(records, first + kAtOnce); ++i)
      lines += to_json(report(i, candidates), -1) + "\n";
    GS_CHECK(store.import_lines(lines, "filling"));
  }
  return Done{};
}

void print(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const auto at = [&](double part) { return us[std::min(us.size() - 1, size_t(part * double(us.size())))]; };
  std::printf("%-34s %9.1f %9.1f %9.1f %9.1f %9.1f\n", what, at(0.5), at(0.9), at(0.99), at(0.999), us.back());
}

Status make(const std::string& path, int64_t records, int candidates) {
  const auto filling = Clock::now();
  {
    GS_TRY(Store store, Store::open(path));
    GS_CHECK(fill(store, records, candidates));
  }
  std::printf("%lld decisions of %d candidates, %.1f MB, filled in %.0f s\n", (long long)records, candidates,
              double(std::filesystem::file_size(path)) / 1e6, us_since(filling) / 1e6);
  return Done{};
}

Status look(const std::string& path, int64_t records, int candidates, int lookups) {
  std::mt19937_64 random(1);
  std::vector<double> opening, first, known, unknown, saving;
  for (int i = 0; i < 20; ++i) {
    auto start = Clock::now();
    GS_TRY(Store store, Store::open(path));
    opening.push_back(us_since(start));
    const int64_t any = int64_t(random() % uint64_t(records));
    start = Clock::now();
    GS_CHECK(store.find(problem(any), device(any)));
    first.push_back(us_since(start));
  }
  GS_TRY(Store store, Store::open(path));
  for (int i = 0; i < lookups; ++i) {
    const int64_t any = int64_t(random() % uint64_t(records));
    auto start = Clock::now();
    GS_TRY(const auto found, store.find(problem(any), device(any)));
    known.push_back(us_since(start));
    if (!found) return Error{"store", problem(any).print(), "is not found", {}, {}};
    GemmProblem other = problem(any);
    other.alpha = 0.5;
    start = Clock::now();
    GS_TRY(const auto none, store.find(other, device(any)));
    unknown.push_back(us_since(start));
    if (none) return Error{"store", other.print(), "is found, and was not saved", {}, {}};
  }
  for (int i = 0; i < 200; ++i) {
    const TuneReport fresh = report(records + i, candidates);
    const auto start = Clock::now();
    GS_CHECK(store.save(fresh));
    saving.push_back(us_since(start));
  }
  std::printf("%-34s %9s %9s %9s %9s %9s\n", "us", "median", "90%", "99%", "99.9%", "most");
  print("opening the file", opening);
  print("first look-up after opening", first);
  print("a look-up that finds a decision", known);
  print("a look-up that finds none", unknown);
  print("saving a decision", saving);
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures look-ups in a large store.");
  std::string path = (std::filesystem::temp_directory_path() / "gemmsmith_bench.sqlite").string();
  int64_t records = 1'000'000;
  int candidates = 8, lookups = 20'000;
  bool keep = false;
  app.add_option("--store", path,
                 "Where to make the store; one that is there from a run with --keep is used, and removed")
      ->capture_default_str();
  app.add_option("--records", records, "Decisions")
      ->check(CLI::Range(int64_t(1), int64_t(100'000'000)))
      ->capture_default_str();
  app.add_option("--candidates", candidates, "Candidates of each")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--lookups", lookups, "Look-ups to measure")->check(CLI::Range(1, 100'000'000))->capture_default_str();
  app.add_flag("--keep", keep, "Leave the store there");
  CLI11_PARSE(app, argc, argv);
  const bool made = std::filesystem::exists(path);
  if (made) std::printf("%s as it is, from a run with --keep\n", path.c_str());
  Status done = made ? Status(Done{}) : make(path, records, candidates);
  if (done.ok()) done = look(path, records, candidates, lookups);
  if (!keep)
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  if (!done.ok()) return std::fprintf(stderr, "%s\n", done.error().text().c_str()), 1;
  return 0;
}
