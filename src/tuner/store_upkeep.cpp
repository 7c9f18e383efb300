// What keeps a store sound and small: verify and gc.
#include "support/text.h"
#include "tuner/stamp.h"
#include "tuner/store_line.h"
#include "tuner/store_rows.h"
#include "tuner/store_state.h"

namespace gemmsmith {
namespace {

constexpr const char* kDropIt = "gemmsmith store gc --damaged drops it; tune the problem again";

Status check_pages(const Database& db, std::vector<Error>& findings) {
  GS_TRY(Statement check, db.prepare("PRAGMA integrity_check"));
  for (;;) {
    GS_TRY(const bool row, check.step());
    if (!row) return Done{};
    std::string said = check.text();
    if (said != "ok")
      findings.push_back(
          {concat("store ", db.path()),
           {},
           concat("SQLite's integrity check says: ", said),
           "drop damaged decisions with gemmsmith store gc --damaged, export the rest and import it into a new store",
           {}});
  }
}

// Rows whose decision is not there.
Status check_orphans(const Database& db, std::vector<Error>& findings) {
  for (const char* table : {"sources", "measurements"}) {
    GS_TRY(const int64_t count,
           db.integer(concat("SELECT count(*) FROM ", table, " WHERE decision NOT IN (SELECT id FROM decisions)")));
    if (count > 0)
      findings.push_back({concat("store ", db.path()),
                          concat(count, count == 1 ? " row" : " rows", " of the table ", table),
                          "belong to no decision",
                          "gemmsmith store gc --damaged drops them",
                          {}});
  }
  return Done{};
}

// Why a decision cannot be relied on; nothing if it can.
Result<std::optional<Error>> why_damaged(const Database& db, int64_t id) {
  GS_TRY(Statement select, db.prepare("SELECT problem, hash FROM decisions WHERE id = ?"));
  GS_CHECK(select.bind(id).step());
  const std::string problem = select.text(), hash = select.text();
  auto decision = read_decision(db, id);
  if (!decision.ok()) return std::optional(std::move(decision).error());
  if (decision->report.problem.print() != problem)
    return std::optional(
        damaged_decision(db, id, concat("problem \"", problem, "\""),
                         concat("is not in the form that look-ups use, \"", decision->report.problem.print(), '"')));
  if (hash_of_line(print_line(decision->report, decision->stamp)) != hash)
    return std::optional(
        damaged_decision(db, id, "its content", "does not agree with the hash that was saved with it"));
  if (Status sound = check_decision(*decision); !sound.ok())
    return std::optional(std::move(sound).error().note(concat("in store ", db.path(), ", decision ", id)));
  return std::optional<Error>();
}

// Of `decisions d`, that one for the same problem and device, %s, is newer and as good: a tuning that was interrupted
// does not supersede a whole one.
std::string superseded(const char* also) {
  return concat("EXISTS (SELECT 1 FROM decisions e WHERE e.problem = d.problem AND e.device = d.device ", also,
                " AND e.hash IS NOT NULL AND e.winner >= 0 AND (e.interrupted = 0 OR d.interrupted = 1)"
                " AND (e.stamp, e.hash) > (d.stamp, d.hash))");
}

Result<std::vector<int64_t>> to_drop(const Database& db, const StoreGc& options) {
  GS_TRY(Statement select, db.prepare(concat("SELECT id FROM decisions d WHERE d.hash IS NOT NULL AND (",
                                             superseded("AND e.sources = d.sources AND e.gemmsmith = d.gemmsmith"),
                                             " OR d.measured_at < ?1 AND ", superseded(""), ") ORDER BY id")));
  select.bind(options.measured_before);
  std::vector<int64_t> ids;
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return ids;
    ids.push_back(select.integer());
  }
}

Status drop_damaged(const Database& db, int64_t& dropped) {
  GS_TRY(const std::vector<int64_t> ids, db.integers("SELECT id FROM decisions ORDER BY id"));
  for (const int64_t id : ids) {
    GS_TRY(const std::optional<Error> damage, why_damaged(db, id));
    if (!damage) continue;
    GS_CHECK(delete_decision(db, id));
    ++dropped;
  }
  for (const char* table : {"sources", "measurements"})
    GS_CHECK(db.execute(concat("DELETE FROM ", table, " WHERE decision NOT IN (SELECT id FROM decisions)")));
  return Done{};
}

Result<int64_t> size_bytes(const Database& db, const char* pages) {
  GS_TRY(const int64_t count, db.integer(concat("PRAGMA ", pages)));
  GS_TRY(const int64_t size, db.integer("PRAGMA page_size"));
  return count * size;
}

}  // namespace

Result<std::vector<Error>> Store::verify() const {
  const Database& db = *state_->db;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  std::vector<Error> findings;
  GS_CHECK(check_pages(db, findings));
  GS_CHECK(check_orphans(db, findings));
  GS_TRY(const std::vector<int64_t> ids, db.integers("SELECT id FROM decisions ORDER BY id"));
  for (const int64_t id : ids) {
    GS_TRY(std::optional<Error> damage, why_damaged(db, id));
    if (!damage) continue;
    damage->remedy = kDropIt;
    findings.push_back(*std::move(damage));
  }
  return findings;
}

Result<StoreFreed> Store::gc(const StoreGc& options) {
  const Database& db = *state_->db;
  if (!options.measured_before.empty() && !is_timestamp(options.measured_before))
    return Error{"measured_before", options.measured_before, "is not a time in UTC, as 2026-12-01T11:08:14Z", {}, {}};
  StoreFreed freed;
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(const int64_t free_before, size_bytes(db, "freelist_count"));
  if (options.damaged) GS_CHECK(drop_damaged(db, freed.dropped));
  GS_TRY(const std::vector<int64_t> ids, to_drop(db, options));
  for (const int64_t id : ids) GS_CHECK(delete_decision(db, id));
  freed.dropped += int64_t(ids.size());
  GS_TRY(freed.kept, db.integer("SELECT count(*) FROM decisions"));
  GS_TRY(const int64_t free_after, size_bytes(db, "freelist_count"));
  freed.bytes = free_after - free_before;
  if (options.dry_run) return freed;
  GS_TRY(const int64_t size_before, size_bytes(db, "page_count"));
  GS_CHECK(transaction.commit());
  // The file shrinks only if nobody else is using it and its disk has room for a copy; if not, later decisions fill the
  // pages that are free now.
  if (db.execute("VACUUM").ok()) {
    (void)db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    GS_TRY(const int64_t size_after, size_bytes(db, "page_count"));
    freed.bytes = size_before - size_after;
  }
  return freed;
}

}  // namespace gemmsmith
