#include "gemmsmith/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gemmsmith/json.h"
#include "sample_report.h"
#include "support/environment.h"

namespace gemmsmith {
namespace {

// A folder of its own for each test.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() / ("gemmsmith_store_" + std::to_string(getpid()) + "_" + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "store.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::filesystem::path folder_;
  std::string path_;
};

std::string stored_json(TuneReport report) {
  report.from_store = true;
  return to_json(report);
}

TEST_F(StoreTest, ReportsComeBackWhole) {
  for (const std::string& path : {std::string(":memory:"), path_}) {
    Store store = Store::open(path).value();
    EXPECT_EQ(store.path(), path);
    const TuneReport report = sample_report();
    ASSERT_TRUE(store.save(report).ok());
    const auto found = store.find(report.problem, report.provenance.device).value();
    ASSERT_TRUE(found);
    EXPECT_EQ(to_json(*found), stored_json(report));
    EXPECT_TRUE(found->from_store);
  }
}

TEST_F(StoreTest, IsThereAfterReopeningInAFolderThatWasNot) {
  path_ = folder_ / "a" / "b" / "store.sqlite";
  const TuneReport report = sample_report();
  ASSERT_TRUE(Store::open(path_).value().save(report).ok());
  EXPECT_EQ(to_json(*Store::open(path_).value().find(report.problem, report.provenance.device).value()),
            stored_json(report));
}

TEST_F(StoreTest, TheNewestDecisionOfEachProblemAndDevice) {
  Store store = Store::open(path_).value();
  TuneReport report = sample_report();
  const auto save = [&](int64_t m, const std::string& device, const std::string& decision) {
    report.problem = make_problem(m, 8, 8, DataType::f32);
    report.provenance.device = device;
    report.decision = decision;
    ASSERT_TRUE(store.save(report).ok());
  };
  save(1, "x", "old");
  save(2, "x", "two");
  save(1, "y", "other device");
  save(1, "x", "new");
  const auto find = [&](int64_t m, const std::string& device) {
    const auto found = store.find(make_problem(m, 8, 8, DataType::f32), device).value();
    return found ? found->decision : "none";
  };
  EXPECT_EQ(find(1, "x"), "new");
  EXPECT_EQ(find(1, "y"), "other device");
  EXPECT_EQ(find(1, "z"), "none");
  EXPECT_EQ(find(3, "x"), "none");
  EXPECT_EQ(find(1, ""), "new") << "the newest of any device";
  const auto decisions = [&](const std::string& device) {
    std::string text;
    const std::vector<TuneReport> reports = store.list(device).value();
    for (const TuneReport& r : reports) text += r.decision + ",";
    return text;
  };
  EXPECT_EQ(decisions("x"), "two,new,");
  EXPECT_EQ(decisions(""), "two,other device,new,");
  EXPECT_EQ(decisions("z"), "");
}

TEST_F(StoreTest, NewerSchemaIsRefused) {
  ASSERT_TRUE(Store::open(path_).ok());
  execute("PRAGMA user_version = 7");
  EXPECT_EQ(Store::open(path_).error().text(),
            "store " + path_ +
                ": schema version 7 is newer than 3, the last that gemmsmith " GEMMSMITH_VERSION
                " knows; use the newer gemmsmith, or name another store with --store or GEMMSMITH_STORE");
}

TEST_F(StoreTest, DamagedFileIsAnErrorAndStays) {
  const std::string content(5000, 'x');
  std::ofstream(path_) << content;
  EXPECT_EQ(Store::open(path_).error().text(),
            "store " + path_ +
                ": SQLite says: file is not a database; it is damaged or no store; move it away to begin a new one, "
                "or name another with --store or GEMMSMITH_STORE");
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content);
}

TEST_F(StoreTest, FileOfAnotherProgramIsLeftAlone) {
  execute("CREATE TABLE theirs (x)");
  EXPECT_EQ(
      Store::open(path_).error().text(),
      "store " + path_ + ": an SQLite file of another program; name another store with --store or GEMMSMITH_STORE");
  execute("INSERT INTO theirs VALUES (1)");  // still there
}

TEST_F(StoreTest, DamagedRowsAreSaid) {
  const TuneReport report = sample_report();
  ASSERT_TRUE(Store::open(path_).value().save(report).ok());
  const auto error = [&] {
    return Store::open(path_).value().find(report.problem, report.provenance.device).error().text();
  };
  execute("UPDATE measurements SET state = 'best' WHERE state = 'won'");
  EXPECT_EQ(error(), "store " + path_ +
                         ", decision 1: state \"best\" is not a candidate's state; move the file away to begin a new "
                         "one, or name another with --store or GEMMSMITH_STORE");
  execute("DELETE FROM measurements WHERE position > 0");
  EXPECT_EQ(error(), "store " + path_ +
                         ", decision 1: winner 1 is not one of its 1 candidates; move the file away to begin a new "
                         "one, or name another with --store or GEMMSMITH_STORE");
}

TEST_F(StoreTest, FolderThatCannotBeMade) {
  std::ofstream(path_) << "a file";
  const std::string below = path_ + "/store.sqlite";
  const auto opened = Store::open(below);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().text().find(path_), std::string::npos) << opened.error().text();
}

TEST_F(StoreTest, FolderThatCannotBeWritten) {
  if (!std::filesystem::exists("/proc/self")) GTEST_SKIP() << "no /proc, where not even root may create files";
  EXPECT_EQ(Store::open("/proc/store.sqlite").error().text(),
            "store /proc/store.sqlite: SQLite says: unable to open database file; the file and its folder have to be "
            "writable; name "
            "another with --store or GEMMSMITH_STORE");
}

TEST_F(StoreTest, PathThatIsAFolder) {
  EXPECT_EQ(Store::open(folder_).error().text(),
            "store " + folder_.string() +
                ": SQLite says: unable to open database file; the file and its folder have to be writable; "
                "name another with --store or GEMMSMITH_STORE");
}

TEST_F(StoreTest, ManyWritersLoseNothing) {
  constexpr int kWriters = 6, kReports = 15;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < kWriters; ++writer)
      writers.emplace_back([&, writer] {
        Store store = Store::open(path_).value();  // they race to create the schema as well
        TuneReport report = sample_report();
        for (int i = 0; i < kReports; ++i) {
          report.problem = make_problem(writer + 1, i + 1, 8, DataType::f32);
          const Status saved = store.save(report);
          EXPECT_TRUE(saved.ok()) << saved.error().text();
          EXPECT_TRUE(store.find(report.problem, report.provenance.device).value().has_value());
        }
      });
  }
  const auto reports = Store::open(path_).value().list().value();
  EXPECT_EQ(reports.size(), size_t(kWriters * kReports));
  for (const TuneReport& r : reports) EXPECT_EQ(r.candidates.size(), 3u);
}

TEST_F(StoreTest, MovedStoreGoesOn) {
  Store first = Store::open(path_).value();
  Store second = std::move(first);
  ASSERT_TRUE(second.save(sample_report()).ok());
  first = std::move(second);
  EXPECT_EQ(first.list().value().size(), 1u);
}

TEST_F(StoreTest, WinnersAreAViewForPeople) {
  ASSERT_TRUE(Store::open(path_).value().save(sample_report()).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  std::string row;
  const auto collect = [](void* out, int, char** values, char**) {
    *static_cast<std::string*>(out) +=
        std::string(values[0]) + " | " + values[1] + " | " + values[2] + " | " + values[3];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, "SELECT problem, source, config, median_us FROM winners", collect, &row, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(row, sample_report().problem.print() + " | native | gemm_packed mr=8 | 99.125");
}

TEST(StorePath, FollowsTheEnvironment) {
  const auto saved = std::array{std::pair{"GEMMSMITH_STORE", environment_variable("GEMMSMITH_STORE")},
                                std::pair{"XDG_CACHE_HOME", environment_variable("XDG_CACHE_HOME")},
                                std::pair{"HOME", environment_variable("HOME")}};
  set_environment_variable("GEMMSMITH_STORE", "/x/mine.sqlite");
  set_environment_variable("XDG_CACHE_HOME", "/cache");
  set_environment_variable("HOME", "/home/me");
  EXPECT_EQ(Store::default_path(), "/x/mine.sqlite");
  set_environment_variable("GEMMSMITH_STORE", "");
  EXPECT_EQ(Store::default_path(), "/cache/gemmsmith/store.sqlite");
  unset_environment_variable("XDG_CACHE_HOME");
  EXPECT_EQ(Store::default_path(), "/home/me/.cache/gemmsmith/store.sqlite");
  unset_environment_variable("HOME");
  EXPECT_EQ(Store::default_path(), "gemmsmith.sqlite");
  for (const auto& [name, value] : saved)
    value ? set_environment_variable(name, *value) : unset_environment_variable(name);
}

}  // namespace
}  // namespace gemmsmith
