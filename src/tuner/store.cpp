#include "gemmsmith/store.h"

#include "support/environment.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/stamp.h"
#include "tuner/store_rows.h"
#include "tuner/store_schema.h"
#include "tuner/store_state.h"

namespace gemmsmith {
namespace {

// The stamp of the newest decision for a problem on a device; "" without one.
Result<std::string> last_stamp(const Database& db, const std::string& problem, const std::string& device) {
  GS_TRY(Statement select, db.prepare("SELECT max(stamp) FROM decisions WHERE problem = ? AND device = ?"));
  GS_CHECK(select.bind(problem).bind(device).step());
  return select.text();
}

// Two statements, not one with an OR: that would not use the index to its end.
Result<Statement> select_newest_first(const Database& db, const std::string& problem, const std::string& device) {
  GS_TRY(Statement select,
         db.prepare(device.empty()
                        ? "SELECT id FROM decisions WHERE problem = ? ORDER BY stamp DESC, hash DESC"
                        : "SELECT id FROM decisions WHERE problem = ? AND device = ? ORDER BY stamp DESC, hash DESC"));
  select.bind(problem);
  if (!device.empty()) select.bind(device);
  return select;
}

Result<std::vector<TuneReport>> read_all(const Database& db, Statement select) {
  std::vector<TuneReport> reports;
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return reports;
    GS_TRY(Decision decision, read_decision(db, select.integer()));
    reports.push_back(std::move(decision.report));
  }
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& path, double wait_seconds) {
  if (path != ":memory:") GS_CHECK(make_directories(parent_of(path)));
  GS_TRY(std::unique_ptr<Database> db, Database::open(path, wait_seconds));
  // Readers and a writer at once; file systems without shared memory stay with a rollback journal, which is as safe. In
  // WAL mode `normal` loses nothing to a killed process, and at most the last decisions to a power failure.
  if (!db->read_only()) (void)db->execute("PRAGMA journal_mode = WAL");
  GS_CHECK(db->execute("PRAGMA synchronous = NORMAL"));
  GS_CHECK(prepare_schema(*db));
  return Store(std::make_unique<State>(State{std::move(db)}));
}

std::string Store::default_path() {
  const auto set = [](const char* name) { return environment_variable(name).value_or(""); };
  if (const std::string path = set("GEMMSMITH_STORE"); !path.empty()) return path;
  if (const std::string cache = set("XDG_CACHE_HOME"); !cache.empty()) return cache + "/gemmsmith/store.sqlite";
  if (const std::string home = set("HOME"); !home.empty()) return home + "/.cache/gemmsmith/store.sqlite";
  return "gemmsmith.sqlite";
}

const std::string& Store::path() const { return state_->db->path(); }
bool Store::read_only() const { return state_->db->read_only(); }

Status Store::save(const TuneReport& report) {
  const Database& db = *state_->db;
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(const std::string last, last_stamp(db, report.problem.print(), report.provenance.device));
  GS_CHECK(insert_decision(db, {report, stamp_after(last, report.provenance.measured_at)}));
  return transaction.commit();
}

Result<std::optional<TuneReport>> Store::find(const GemmProblem& problem, const std::string& device) const {
  const Database& db = *state_->db;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  const std::string text = problem.print();
  GS_TRY(Statement select, select_newest_first(db, text, device));
  GS_TRY(const bool row, select.step());
  if (!row) return std::optional<TuneReport>();
  GS_TRY(Decision decision, read_decision(db, select.integer()));
  return std::optional<TuneReport>(std::move(decision.report));
}

Result<std::vector<TuneReport>> Store::history(const GemmProblem& problem, const std::string& device) const {
  const Database& db = *state_->db;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  const std::string text = problem.print();
  GS_TRY(Statement select, select_newest_first(db, text, device));
  return read_all(db, std::move(select));
}

Result<std::vector<TuneReport>> Store::list(const std::string& device) const {
  const Database& db = *state_->db;
  GS_TRY(const Snapshot snapshot, Snapshot::begin(db));
  GS_TRY(Statement select, db.prepare(concat("SELECT id FROM decisions d WHERE (?1 = '' OR device = ?1) AND ",
                                             kIsNewest, " ORDER BY stamp, id")));
  select.bind(device);
  return read_all(db, std::move(select));
}

}  // namespace gemmsmith
