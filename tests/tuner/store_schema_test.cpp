// Files of earlier versions: what they hold is there after opening, in the same order.
#include "tuner/store_schema.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <thread>
#include <vector>

#include "gemmsmith/json.h"
#include "random_report.h"
#include "tuner/sqlite.h"

namespace gemmsmith {
namespace {

// As gemmsmith 0.1.0 made it before stamps.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, problem TEXT NOT NULL, device TEXT NOT NULL, sources TEXT NOT NULL, gemmsmith TEXT NOT NULL,
  measured_at TEXT NOT NULL, winner INTEGER NOT NULL, margin REAL, decision TEXT NOT NULL, floor_us REAL, seconds REAL,
  conditions TEXT NOT NULL, store_note TEXT NOT NULL, interrupted INTEGER NOT NULL);
CREATE INDEX decisions_by_problem ON decisions (problem, device, id);
CREATE TABLE sources (
  decision INTEGER NOT NULL REFERENCES decisions, position INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
  supported INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (decision, position)) WITHOUT ROWID;
CREATE TABLE measurements (
  decision INTEGER NOT NULL REFERENCES decisions, position INTEGER NOT NULL, source TEXT NOT NULL, config TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, predicted_us REAL, build_ms REAL,
  samples INTEGER, median_us REAL, low_us REAL, high_us REAL,
  compared INTEGER, max_abs REAL, max_rel REAL, allowed_rel REAL, worst REAL, passed INTEGER, failure TEXT,
  PRIMARY KEY (decision, position)) WITHOUT ROWID;
CREATE VIEW winners AS
  SELECT d.problem, m.source, m.config, m.median_us, d.margin, d.measured_at, d.device
  FROM decisions d JOIN measurements m ON m.decision = d.id AND m.position = d.winner
  WHERE d.id = (SELECT max(id) FROM decisions WHERE problem = d.problem AND device = d.device);
PRAGMA application_id = 0x67656d73;
PRAGMA user_version = 1;
)sql";

class StoreSchema : public StoreFolder {
 protected:
  void execute(const std::string& sql) {
    const auto db = Database::open(path_, 10).value();
    const Status status = db->execute(sql);
    ASSERT_TRUE(status.ok()) << status.error().text();
  }
  // A file of version 1 with the decisions of a store of today, in the order in which they were saved.
  void make_version_1(const std::vector<TuneReport>& reports) {
    const std::string today = folder_ / "today.sqlite";
    {
      Store store = Store::open(today).value();
      for (const TuneReport& report : reports) ASSERT_TRUE(store.save(report).ok());
    }
    execute(kVersion1);
    execute("ATTACH '" + today +
            "' AS today;"
            "INSERT INTO decisions SELECT id, problem, device, sources, gemmsmith, measured_at, winner, margin, "
            "decision, floor_us, seconds, conditions, store_note, interrupted FROM today.decisions;"
            "INSERT INTO sources SELECT * FROM today.sources;"
            "INSERT INTO measurements SELECT * FROM today.measurements");
  }
  std::vector<TuneReport> random_reports(uint64_t seed, int count) {
    Random random(seed);
    std::vector<TuneReport> reports;
    for (int i = 0; i < count; ++i) reports.push_back(random_report(random));
    return reports;
  }
};

TEST_F(StoreSchema, Version1IsBroughtForward) {
  const std::vector<TuneReport> reports = random_reports(5, 40);
  make_version_1(reports);
  Store store = Store::open(path_).value();
  Store expected = Store::open(":memory:").value();
  for (const TuneReport& report : reports) ASSERT_TRUE(expected.save(report).ok());
  EXPECT_EQ(exported(store), exported(expected)) << "as if it had been saved by this version";
  EXPECT_TRUE(store.verify().value().empty());
  EXPECT_EQ(to_json(store.list().value()), to_json(expected.list().value()));
  ASSERT_TRUE(store.save(reports[0]).ok());
  EXPECT_EQ(Database::open(path_, 10).value()->integer("PRAGMA user_version").value(), kSchemaVersion);
  EXPECT_GT(Database::open(path_, 10).value()->integer("SELECT count(*) FROM winners").value(), 0);
}

TEST_F(StoreSchema, Version2IsBroughtForward) {
  const std::vector<TuneReport> reports = random_reports(11, 20);
  {
    Store store = Store::open(path_).value();
    for (const TuneReport& report : reports) ASSERT_TRUE(store.save(report).ok());
  }
  const std::string before = exported(Store::open(path_).value());
  execute(
      "ALTER TABLE decisions DROP COLUMN memory; ALTER TABLE decisions DROP COLUMN isolation;"
      "ALTER TABLE decisions DROP COLUMN load_average; ALTER TABLE decisions DROP COLUMN load_others;"
      "DROP TABLE quarantine; DROP TABLE unfinished; PRAGMA user_version = 2");
  Store store = Store::open(path_).value();
  EXPECT_EQ(exported(store), before);
  EXPECT_TRUE(store.verify().value().empty()) << "hashes that were saved before still agree";
  EXPECT_TRUE(store.quarantine().value().empty());
  EXPECT_TRUE(store.save_unfinished(reports[0]).ok());
}

TEST_F(StoreSchema, ManyProcessesMayBringItForward) {
  const std::vector<TuneReport> reports = random_reports(6, 40);
  make_version_1(reports);
  std::vector<std::string> seen(4);
  {
    std::vector<std::jthread> openers;
    for (std::string& lines : seen) openers.emplace_back([&] { lines = exported(Store::open(path_).value()); });
  }
  for (const std::string& lines : seen) EXPECT_EQ(lines, seen[0]);
  EXPECT_EQ(Database::open(path_, 10).value()->integer("SELECT count(*) FROM decisions").value(), 40);
}

TEST_F(StoreSchema, DamageIsCarriedAlongAndSaid) {
  make_version_1(random_reports(7, 12));
  execute("UPDATE decisions SET winner = 99 WHERE id = 3; UPDATE decisions SET problem = 'nonsense' WHERE id = 4");
  Store store = Store::open(path_).value();
  EXPECT_EQ(store.verify().value().size(), 2u);
  EXPECT_EQ(Database::open(path_, 10).value()->integer("SELECT count(*) FROM decisions").value(), 12)
      << "nothing is lost";
  const StoreFreed freed = store.gc({.damaged = true}).value();
  EXPECT_GE(freed.dropped, 2);
  EXPECT_EQ(freed.dropped + freed.kept, 12);
  EXPECT_TRUE(store.verify().value().empty());
}

TEST_F(StoreSchema, AProcessOfVersion1ThatIsStillThereCannotSave) {
  make_version_1(random_reports(8, 3));
  const auto old = Database::open(path_, 10).value();
  ASSERT_TRUE(Store::open(path_).ok());
  const Status saved = old->execute(
      "INSERT INTO decisions (problem, device, sources, gemmsmith, measured_at, winner, decision, conditions, "
      "store_note, interrupted) VALUES ('', '', '', '', '', 0, '', '', '', 0)");
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().text(), "store " + path_ + ": SQLite says: NOT NULL constraint failed: decisions.stamp");
}

TEST_F(StoreSchema, WhatIsKilledWhileBringingForwardLeavesTheOldFile) {
  make_version_1(random_reports(9, 5));
  {
    const auto db = Database::open(path_, 10).value();
    auto transaction = Transaction::begin(*db).value();
    ASSERT_TRUE(db->execute("DROP VIEW winners; DROP TABLE decisions; PRAGMA user_version = 2").ok());
  }
  EXPECT_EQ(Store::open(path_).value().verify().value().size(), 0u);
  EXPECT_EQ(Database::open(path_, 10).value()->integer("SELECT count(*) FROM decisions").value(), 5);
}

}  // namespace
}  // namespace gemmsmith
