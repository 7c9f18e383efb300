// Reports at random that are valid everywhere, and stores of them; a folder for each test.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gemmsmith/store.h"
#include "support/clock.h"
#include "support/random.h"

namespace gemmsmith {

// Few problems, devices, versions and moments, so that decisions meet.
inline TuneReport random_report(Random& random) {
  const auto below = [&](uint64_t n) { return int(random.below(n)); };
  TuneReport r;
  r.problem = make_problem(1 + below(3), 8, 8, DataType::f32);
  const std::string version = std::to_string(below(2));
  r.sources = {{"native", version, true, {}}, {"other", "2", below(2) == 0, "\"quotes\", tabs\t, ünïcode, \n lines"}};
  r.provenance = {"cpu " + std::to_string(below(2)), "native " + version, "0.1." + std::to_string(below(2)),
                  format_timestamp(1'796'000'000 + 86'400LL * below(20))};
  const int count = 1 + below(4);
  r.winner = below(8) == 0 ? -1 : below(uint64_t(count));
  for (int i = 0; i < count; ++i) {
    CandidateReport c{below(2) ? "native" : "other",
                      "config " + std::to_string(below(5)),
                      CandidateState::measured,
                      "reason",
                      below(1000) / 8.0,
                      below(100) / 3.0,
                      {},
                      {}};
    c.timing = Timing{1 + below(1000) / 7.0, 0.5, -0.0, 1 + below(30)};
    c.accuracy = Accuracy{1e-3, 1e-7, 1e-6, below(2) ? std::numeric_limits<double>::quiet_NaN() : 0.25, 64, true, {}};
    if (below(8) == 0) c.state = CandidateState::crashed;
    if (i == r.winner) c.state = CandidateState::won;
    r.candidates.push_back(std::move(c));
  }
  r.margin = below(100) / 64.0;
  r.decision = "a rule";
  r.floor_us = below(2) ? std::numeric_limits<double>::infinity() : 1e-3;
  r.seconds = below(1000) / 3.0;
  r.interrupted = below(4) == 0;
  return r;
}

inline Store random_store(Random& random, const std::string& path = ":memory:") {
  Store store = Store::open(path).value();
  for (uint64_t i = random.next() % 12; i > 0; --i) EXPECT_TRUE(store.save(random_report(random)).ok());
  return store;
}

inline std::string exported(const Store& store, const StoreSelection& selection = {}) {
  std::string lines;
  const Status status = store.export_lines(selection, [&](std::string_view line) { lines += line; });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
  return lines;
}

// A folder of its own for each test.
class StoreFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("gemmsmith_" + std::to_string(getpid()) + "_" + info->test_suite_name() + "_" + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "store.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace gemmsmith
