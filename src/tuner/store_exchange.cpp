// What passes between stores: lines, unions, differences.
#include <map>

#include "support/text.h"
#include "tuner/store_line.h"
#include "tuner/store_rows.h"
#include "tuner/store_state.h"

namespace gemmsmith {
namespace {

Result<bool> has_hash(const Database& db, const std::string& hash) {
  GS_TRY(Statement select, db.prepare("SELECT 1 FROM decisions WHERE hash = ?"));
  return select.bind(hash).step();
}

Status add(const Database& db, const Decision& decision, StoreAdded& count) {
  GS_TRY(const bool known, has_hash(db, hash_of_line(print_line(decision.report, decision.stamp))));
  if (!known) GS_CHECK(insert_decision(db, decision));
  ++(known ? count.known : count.added);
  return Done{};
}

Result<std::vector<Decision>> parse_lines(std::string_view lines, const std::string& name) {
  std::vector<Decision> decisions;
  int64_t number = 0;
  for (const std::string_view line : split(lines, '\n')) {
    ++number;
    auto parsed = parse_line(line);
    if (!parsed.ok()) {
      Error error = std::move(parsed).error();
      error.where = concat(name, ":", number, error.where.empty() ? "" : ": ", error.where);
      return error;
    }
    if (*parsed) decisions.push_back(**std::move(parsed));
  }
  return decisions;
}

struct Row {
  int64_t id;
  std::string hash;
};

// By problem and device.
using Newest = std::map<std::pair<std::string, std::string>, Row>;

Result<Newest> newest_of(const Database& db) {
  GS_TRY(Statement select, db.prepare(concat("SELECT problem, device, id, hash FROM decisions d WHERE ", kIsNewest)));
  Newest newest;
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return newest;
    std::string problem = select.text(), device = select.text();
    const int64_t id = select.integer();
    newest[{std::move(problem), std::move(device)}] = {id, select.text()};
  }
}

Status read_side(const Database& db, const Newest& newest, const Newest::key_type& key, StoreDifference& difference,
                 std::optional<TuneReport>& side) {
  const auto it = newest.find(key);
  if (it == newest.end()) return Done{};
  GS_TRY(Decision decision, read_decision(db, it->second.id));
  difference.problem = decision.report.problem;
  side = std::move(decision.report);
  return Done{};
}

double time_of(const std::optional<TuneReport>& report) {
  const CandidateReport* best = report ? report->best() : nullptr;
  return best && best->timing ? best->timing->median_us : 0;
}

}  // namespace

bool StoreDifference::same_winner() const {
  const CandidateReport* mine = here ? here->best() : nullptr;
  const CandidateReport* other = there ? there->best() : nullptr;
  return mine && other && mine->source == other->source && mine->config == other->config;
}

double StoreDifference::time_ratio() const {
  return time_of(here) > 0 && time_of(there) > 0 ? time_of(there) / time_of(here) : 0;
}

Status Store::export_lines(const StoreSelection& selection, const std::function<void(std::string_view)>& write) const {
  const Database& db = *state_->db;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  GS_TRY(Statement select, db.prepare(concat("SELECT id FROM decisions d WHERE (?1 = '' OR device = ?1)",
                                             selection.newest ? concat(" AND ", kIsNewest) : "",
                                             " ORDER BY problem, device, stamp, hash")));
  select.bind(selection.device);
  write(print_lines_header() + "\n");
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return Done{};
    GS_TRY(const Decision decision, read_decision(db, select.integer()));
    write(print_line(decision.report, decision.stamp) + "\n");
  }
}

Result<StoreAdded> Store::import_lines(std::string_view lines, const std::string& name) {
  const Database& db = *state_->db;
  GS_TRY(const std::vector<Decision> decisions, parse_lines(lines, name));
  GS_TRY(Transaction transaction, Transaction::begin(db));
  StoreAdded count;
  for (const Decision& decision : decisions) GS_CHECK(add(db, decision, count));
  GS_CHECK(transaction.commit());
  return count;
}

// Decisions are a set, known by their lines, and the order within it is that of their stamps: so merging is a union,
// and commutative, associative and idempotent as one.
Result<StoreAdded> Store::merge(const Store& other) {
  const Database &db = *state_->db, &from = *other.state_->db;
  StoreAdded count;
  if (&db == &from) {
    GS_TRY(count.known, db.integer("SELECT count(*) FROM decisions"));
    return count;
  }
  // The reading begins first: a transaction here must not keep another process waiting on what is read there.
  GS_TRY(const Snapshot snapshot, Snapshot::begin(from));
  GS_TRY(const std::vector<int64_t> ids, from.integers("SELECT id FROM decisions ORDER BY stamp, id"));
  GS_TRY(Transaction transaction, Transaction::begin(db));
  for (const int64_t id : ids) {
    GS_TRY(const Decision decision, read_decision(from, id));
    if (Status sound = check_decision(decision); !sound.ok())
      return std::move(sound).error().note(concat("in store ", from.path(), ", decision ", id));
    GS_CHECK(add(db, decision, count));
  }
  GS_CHECK(transaction.commit());
  return count;
}

Result<std::vector<StoreDifference>> Store::diff(const Store& other) const {
  const Database &db = *state_->db, &their = *other.state_->db;
  std::vector<StoreDifference> differences;
  if (&db == &their) return differences;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  GS_TRY(const Snapshot their_snapshot, Snapshot::begin(their));
  GS_TRY(const Newest here, newest_of(db));
  GS_TRY(const Newest there, newest_of(their));
  Newest both = here;
  both.insert(there.begin(), there.end());
  for (const auto& [key, row] : both) {
    const auto mine = here.find(key), theirs = there.find(key);
    const bool same =
        mine != here.end() && theirs != there.end() && !row.hash.empty() && mine->second.hash == theirs->second.hash;
    if (same) continue;
    StoreDifference difference;
    difference.device = key.second;
    GS_CHECK(read_side(db, here, key, difference, difference.here));
    GS_CHECK(read_side(their, there, key, difference, difference.there));
    differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace gemmsmith
