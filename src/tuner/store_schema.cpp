#include "tuner/store_schema.h"

#include <map>

#include "support/text.h"
#include "tuner/stamp.h"
#include "tuner/store_line.h"
#include "tuner/store_rows.h"

namespace gemmsmith {
namespace {

constexpr int64_t kApplicationId = 0x67656d73;  // "gems": tells a store from other SQLite files

// `stamp` orders the decisions of a problem on a device (tuner/stamp.h). `hash` is that of the decision's line
// (tuner/store_line.h): equal decisions are one. It is NULL for what an earlier version had and could not read.
constexpr const char* kDecisions = R"sql(
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, problem TEXT NOT NULL, device TEXT NOT NULL, sources TEXT NOT NULL, gemmsmith TEXT NOT NULL,
  measured_at TEXT NOT NULL, winner INTEGER NOT NULL, margin REAL, decision TEXT NOT NULL, floor_us REAL, seconds REAL,
  conditions TEXT NOT NULL, store_note TEXT NOT NULL, interrupted INTEGER NOT NULL,
  stamp TEXT NOT NULL, hash TEXT UNIQUE);
CREATE INDEX decisions_by_problem ON decisions (problem, device, stamp, hash);
)sql";
// Since version 3. A tuning that was not isolated or whose load was not read has nothing there.
constexpr const char* kSurroundings = R"sql(
ALTER TABLE decisions ADD COLUMN memory TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN isolation TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN load_average REAL;
ALTER TABLE decisions ADD COLUMN load_others REAL;
)sql";
// `quarantine`: candidates that ended their worker, with what is known of it. `unfinished`: what a tuning has measured
// that is under way, or was interrupted: a report as JSON.
constexpr const char* kTrials = R"sql(
CREATE TABLE quarantine (
  problem TEXT NOT NULL, device TEXT NOT NULL, source TEXT NOT NULL, version TEXT NOT NULL, gemmsmith TEXT NOT NULL,
  config TEXT NOT NULL, evidence TEXT NOT NULL, since TEXT NOT NULL,
  PRIMARY KEY (problem, device, source, version, gemmsmith, config)) WITHOUT ROWID;
CREATE TABLE unfinished (
  problem TEXT NOT NULL, device TEXT NOT NULL, report TEXT NOT NULL, PRIMARY KEY (problem, device)) WITHOUT ROWID;
)sql";
constexpr const char* kParts = R"sql(
CREATE TABLE sources (
  decision INTEGER NOT NULL REFERENCES decisions, position INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
  supported INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (decision, position)) WITHOUT ROWID;
CREATE TABLE measurements (
  decision INTEGER NOT NULL REFERENCES decisions, position INTEGER NOT NULL, source TEXT NOT NULL, config TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, predicted_us REAL, build_ms REAL,
  samples INTEGER, median_us REAL, low_us REAL, high_us REAL,
  compared INTEGER, max_abs REAL, max_rel REAL, allowed_rel REAL, worst REAL, passed INTEGER, failure TEXT,
  PRIMARY KEY (decision, position)) WITHOUT ROWID;
)sql";
constexpr const char* kWinners = R"sql(
CREATE VIEW winners AS
  SELECT d.problem, m.source, m.config, m.median_us, d.margin, d.measured_at, d.device
  FROM decisions d JOIN measurements m ON m.decision = d.id AND m.position = d.winner
  WHERE d.id = (SELECT id FROM decisions WHERE problem = d.problem AND device = d.device
                ORDER BY stamp DESC, hash DESC LIMIT 1);
)sql";

Status check_version(const Database& db, int64_t version) {
  if (version <= kSchemaVersion) return Done{};
  return Error{concat("store ", db.path()),
               concat("schema version ", version),
               concat("is newer than ", kSchemaVersion, ", the last that gemmsmith " GEMMSMITH_VERSION " knows"),
               "use the newer gemmsmith, or name another store with --store or GEMMSMITH_STORE",
               {}};
}

Status create(const Database& db) {
  GS_TRY(const int64_t tables, db.integer("SELECT count(*) FROM sqlite_master"));
  if (tables != 0)
    return Error{concat("store ", db.path()),
                 "an SQLite file",
                 "of another program",
                 "name another store with --store or GEMMSMITH_STORE",
                 {}};
  for (const char* tables_of : {kDecisions, kSurroundings, kParts, kTrials, kWinners}) GS_CHECK(db.execute(tables_of));
  return db.execute(concat("PRAGMA application_id = ", kApplicationId));
}

// Stamps and hashes for decisions that have none, in the order in which they were saved. What cannot be read stays as
// it is, without a hash: it is an error when it is asked for, as before.
Status stamp_decisions(const Database& db) {
  GS_TRY(const std::vector<int64_t> ids, db.integers("SELECT id FROM decisions ORDER BY id"));
  GS_TRY(Statement where, db.prepare("SELECT problem, device, measured_at FROM decisions WHERE id = ?"));
  GS_TRY(Statement update, db.prepare("UPDATE decisions SET stamp = ?, hash = ? WHERE id = ?"));
  std::map<std::pair<std::string, std::string>, std::string> last;
  for (const int64_t id : ids) {
    GS_CHECK(where.bind(id).step());
    std::string problem = where.text(), device = where.text();
    std::string& stamp = last[{std::move(problem), std::move(device)}];
    stamp = stamp_after(stamp, where.text());
    where.reset();
    const auto decision = read_decision(db, id);
    const std::string hash = decision.ok() ? hash_of_line(print_line(decision->report, stamp)) : std::string();
    update.bind(stamp);
    if (decision.ok())
      update.bind(hash);
    else
      update.bind_null();
    GS_CHECK(update.bind(id).step());
  }
  return Done{};
}

Status migrate_from_2(const Database& db) {
  GS_CHECK(db.execute(kSurroundings));
  return db.execute(kTrials);
}

// The table is made anew, rather than columns added, because a stamp has no default that would be right: a process of
// version 1 that still has the file open cannot save without one.
Status migrate_from_1(const Database& db) {
  // Copied and not renamed: renaming would have the other tables refer to the old one.
  GS_CHECK(db.execute("DROP VIEW winners; CREATE TABLE decisions_1 AS SELECT * FROM decisions; DROP TABLE decisions"));
  GS_CHECK(db.execute(kDecisions));
  GS_CHECK(db.execute("INSERT INTO decisions SELECT *, '', NULL FROM decisions_1; DROP TABLE decisions_1"));
  GS_CHECK(migrate_from_2(db));
  GS_CHECK(stamp_decisions(db));
  return db.execute(kWinners);
}

}  // namespace

Status prepare_schema(const Database& db) {
  GS_TRY(const int64_t seen, db.integer("PRAGMA user_version"));
  if (seen == kSchemaVersion) return Done{};
  GS_CHECK(check_version(db, seen));
  if (db.read_only())
    return Error{concat("store ", db.path()),
                 concat("schema version ", seen),
                 concat("would have to become ", kSchemaVersion, ", and the file may only be read"),
                 "open it once where it can be written, or a copy of it",
                 {}};
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(const int64_t version, db.integer("PRAGMA user_version"));  // another process may have been first
  GS_CHECK(check_version(db, version));
  if (version == 0) GS_CHECK(create(db));
  if (version == 1) GS_CHECK(migrate_from_1(db));
  if (version == 2) GS_CHECK(migrate_from_2(db));
  if (version != kSchemaVersion) GS_CHECK(db.execute(concat("PRAGMA user_version = ", kSchemaVersion)));
  return transaction.commit();
}

}  // namespace gemmsmith
