#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <set>

#include "gemmsmith/json.h"
#include "random_report.h"
#include "sample_report.h"

namespace gemmsmith {
namespace {

class StoreUpkeep : public StoreFolder {
 protected:
  void execute(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string findings() const {
    std::string text;
    const std::vector<Error> found = Store::open(path_).value().verify().value();
    for (const Error& error : found) text += error.text() + "\n";
    return text;
  }
};

TEST_F(StoreUpkeep, SoundStoresAreSound) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    EXPECT_TRUE(random_store(random).verify().value().empty());
  }
  ASSERT_TRUE(Store::open(path_).value().save(sample_report()).ok());
  EXPECT_EQ(findings(), "");
}

TEST_F(StoreUpkeep, EveryFieldIsGuarded) {
  ASSERT_TRUE(Store::open(path_).value().save(sample_report()).ok());
  const std::string remedy = "; gemmsmith store gc --damaged drops it; tune the problem again\n";
  const std::string changed =
      "store " + path_ + ", decision 1: its content does not agree with the hash that was saved with it" + remedy;
  for (const char* field : {"sources = 'x'", "gemmsmith = 'x'", "margin = 9", "decision = 'x'", "floor_us = 9",
                            "seconds = 9", "conditions = 'x'", "store_note = 'x'", "interrupted = 0", "device = 'x'",
                            "measured_at = '2026-12-01T11:08:15Z'", "stamp = '2026-12-01T11:08:15Z+000000'"}) {
    execute("CREATE TABLE kept AS SELECT * FROM decisions; UPDATE decisions SET " + std::string(field));
    EXPECT_EQ(findings(), changed) << field;
    execute("DELETE FROM decisions; INSERT INTO decisions SELECT * FROM kept; DROP TABLE kept");
    ASSERT_EQ(findings(), "");
  }
  for (const char* field : {"source = 'x'", "config = 'x'", "reason = 'x'", "predicted_us = 9", "build_ms = 9",
                            "samples = 9", "median_us = 9", "low_us = 9", "high_us = 9", "compared = 9", "max_abs = 9",
                            "max_rel = 9", "allowed_rel = 9", "worst = 9", "failure = 'x'"}) {
    execute("CREATE TABLE kept AS SELECT * FROM measurements; UPDATE measurements SET " + std::string(field) +
            " WHERE position = 1");
    EXPECT_EQ(findings(), changed) << field;
    execute("DELETE FROM measurements; INSERT INTO measurements SELECT * FROM kept; DROP TABLE kept");
    ASSERT_EQ(findings(), "");
  }
}

TEST_F(StoreUpkeep, SaysWhatIsWrongAndGcRemovesIt) {
  {
    Store store = Store::open(path_).value();
    TuneReport report = sample_report();
    for (int m = 1; m <= 5; ++m) {
      report.problem = make_problem(m, 8, 8, DataType::f32);
      ASSERT_TRUE(store.save(report).ok());
    }
  }
  execute(
      "UPDATE decisions SET winner = 9 WHERE id = 1;"
      "UPDATE measurements SET state = 'best' WHERE decision = 2 AND position = 1;"
      "UPDATE decisions SET problem = problem || ' ' WHERE id = 3;"
      "DELETE FROM decisions WHERE id = 4");
  const std::string remedy = "; gemmsmith store gc --damaged drops it; tune the problem again\n";
  const std::string store = "store " + path_, problem = make_problem(3, 8, 8, DataType::f32).print();
  EXPECT_EQ(findings(),
            store + ": 2 rows of the table sources belong to no decision; gemmsmith store gc --damaged drops them\n" +
                store +
                ": 3 rows of the table measurements belong to no decision; gemmsmith store gc --damaged drops them\n" +
                store + ", decision 1: winner 9 is not one of its 3 candidates" + remedy +    //
                store + ", decision 2: state \"best\" is not a candidate's state" + remedy +  //
                store + ", decision 3: problem \"" + problem + " \" is not in the form that look-ups use, \"" +
                problem + "\"" + remedy);
  Store opened = Store::open(path_).value();
  EXPECT_EQ(opened.gc({}).value().dropped, 0) << "damage stays unless it is asked for";
  const StoreFreed freed = opened.gc({.damaged = true}).value();
  EXPECT_EQ(freed.dropped, 3);
  EXPECT_EQ(freed.kept, 1);
  EXPECT_EQ(findings(), "");
  EXPECT_EQ(opened.list().value().size(), 1u);
}

TEST_F(StoreUpkeep, DamagedPagesAreFound) {
  {
    Store store = Store::open(path_).value();
    Random random(1);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store.save(random_report(random)).ok());
  }
  execute(
      "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON;"
      "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'sources') "
      "WHERE name = 'measurements'");
  const auto store = Store::open(path_);
  const auto found = store.ok() ? store->verify() : Result<std::vector<Error>>(store.error());
  EXPECT_TRUE(!found.ok() || !found->empty());
}

// Which choice tune would use for given versions: the newest whole one of them.
std::map<std::string, std::string> usable(const Store& store) {
  std::map<std::string, std::string> choices;
  const std::vector<TuneReport> newest = store.list().value();
  for (const TuneReport& r : newest) {
    std::vector<TuneReport> history = store.history(r.problem, r.provenance.device).value();
    for (const TuneReport& h : history)
      if (h.best() && !h.interrupted)
        choices.try_emplace(h.problem.print() + h.provenance.device + h.provenance.sources + h.provenance.gemmsmith,
                            to_json(h));
  }
  return choices;
}

TEST_F(StoreUpkeep, GcKeepsEveryChoiceThatCouldBeUsed) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Store store = Store::open(":memory:").value();
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(store.save(random_report(random)).ok());
    const auto before = usable(store);
    const std::string lines = exported(store);
    const StoreFreed would = store.gc({.dry_run = true}).value();
    EXPECT_EQ(exported(store), lines) << "a dry run changes nothing";
    const StoreFreed freed = store.gc({}).value();
    EXPECT_EQ(freed.dropped, would.dropped);
    EXPECT_EQ(freed.kept, would.kept);
    EXPECT_EQ(freed.dropped + freed.kept, 25);
    EXPECT_EQ(usable(store), before);
    EXPECT_EQ(store.gc({}).value().dropped, 0) << "once is enough";
    EXPECT_TRUE(store.verify().value().empty());
  }
}

TEST_F(StoreUpkeep, GcByAgeKeepsTheNewestOfEachProblemAndDevice) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Store store = Store::open(":memory:").value();
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(store.save(random_report(random)).ok());
    const std::vector<TuneReport> newest = store.list().value();
    ASSERT_TRUE(store.gc({.measured_before = "9000-01-01T00:00:00Z"}).ok());
    EXPECT_EQ(to_json(store.list().value()), to_json(newest));
    for (const TuneReport& r : newest) {
      std::set<std::string> whole;
      const auto history = store.history(r.problem, r.provenance.device).value();
      for (const TuneReport& h : history)
        if (h.best() && !h.interrupted) whole.insert(to_json(h));
      EXPECT_LE(whole.size(), 1u) << "of any age, one whole decision is enough";
    }
  }
  EXPECT_EQ(Store::open(":memory:").value().gc({.measured_before = "90d"}).error().text(),
            "measured_before: 90d is not a time in UTC, as 2026-12-01T11:08:14Z");
}

TEST_F(StoreUpkeep, GcShrinksTheFile) {
  Store store = Store::open(path_).value();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(store.save(sample_report()).ok());
  const StoreFreed freed = store.gc({}).value();
  EXPECT_EQ(freed.dropped, 299);
  EXPECT_EQ(freed.kept, 1);
  EXPECT_GT(freed.bytes, 100'000);
  EXPECT_LT(std::filesystem::file_size(path_), 100'000u);
  EXPECT_EQ(store.list().value().size(), 1u);
}

}  // namespace
}  // namespace gemmsmith
