#include "gemmsmith/store.h"

#include "support/environment.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/sqlite.h"

namespace gemmsmith {
namespace {

// Rows are only added: the decision for a problem on a device is the newest, earlier ones are its history.
constexpr int64_t kSchemaVersion = 1;
constexpr int64_t kApplicationId = 0x67656d73;  // "gems": tells a store from other SQLite files
constexpr const char* kSchema = R"sql(
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
)sql";

Status check_version(const Database& db, int64_t version) {
  if (version <= kSchemaVersion) return Done{};
  return Error{concat("store ", db.path()),
               concat("schema version ", version),
               concat("is newer than ", kSchemaVersion, ", the last that gemmsmith " GEMMSMITH_VERSION " knows"),
               "use the newer gemmsmith, or name another store with GEMMSMITH_STORE",
               {}};
}

Status create_schema(const Database& db) {
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(const int64_t version, db.integer("PRAGMA user_version"));  // another process may have been first
  if (version != 0) return check_version(db, version);
  GS_TRY(const int64_t tables, db.integer("SELECT count(*) FROM sqlite_master"));
  if (tables != 0)
    return Error{concat("store ", db.path()),
                 "an SQLite file",
                 "of another program",
                 "name another store with GEMMSMITH_STORE",
                 {}};
  GS_CHECK(db.execute(kSchema));
  GS_CHECK(db.execute(concat("PRAGMA application_id = ", kApplicationId, "; PRAGMA user_version = ", kSchemaVersion)));
  return transaction.commit();
}

Result<int64_t> insert_decision(const Database& db, const TuneReport& r) {
  GS_TRY(Statement insert,
         db.prepare("INSERT INTO decisions (problem, device, sources, gemmsmith, measured_at, winner, margin, "
                    "decision, floor_us, seconds, conditions, store_note, interrupted) "
                    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  const std::string problem = r.problem.print();
  const Provenance& p = r.provenance;
  insert.bind(problem)
      .bind(p.device)
      .bind(p.sources)
      .bind(p.gemmsmith)
      .bind(p.measured_at)
      .bind(r.winner)
      .bind(r.margin);
  insert.bind(r.decision).bind(r.floor_us).bind(r.seconds).bind(r.conditions).bind(r.store_note).bind(r.interrupted);
  GS_CHECK(insert.step());
  return db.last_row();
}

Status insert_sources(const Database& db, int64_t decision, const std::vector<SourceReport>& sources) {
  GS_TRY(Statement insert, db.prepare("INSERT INTO sources VALUES (?,?,?,?,?,?)"));
  for (size_t i = 0; i < sources.size(); ++i) {
    const SourceReport& s = sources[i];
    insert.bind(decision).bind(int64_t(i)).bind(s.name).bind(s.version).bind(s.supported).bind(s.reason);
    GS_CHECK(insert.step());
  }
  return Done{};
}

void bind_measured(Statement& insert, const std::optional<Timing>& t, const std::optional<Accuracy>& a) {
  if (t)
    insert.bind(t->samples).bind(t->median_us).bind(t->low_us).bind(t->high_us);
  else
    for (int i = 0; i < 4; ++i) insert.bind_null();
  if (a)
    insert.bind(a->compared)
        .bind(a->max_abs)
        .bind(a->max_rel)
        .bind(a->allowed_rel)
        .bind(a->worst)
        .bind(a->passed)
        .bind(a->failure);
  else
    for (int i = 0; i < 7; ++i) insert.bind_null();
}

Status insert_measurements(const Database& db, int64_t decision, const std::vector<CandidateReport>& candidates) {
  GS_TRY(Statement insert, db.prepare("INSERT INTO measurements VALUES (?,?,?,?,?,?,?,?, ?,?,?,?, ?,?,?,?,?,?,?)"));
  for (size_t i = 0; i < candidates.size(); ++i) {
    const CandidateReport& c = candidates[i];
    insert.bind(decision).bind(int64_t(i)).bind(c.source).bind(c.config).bind(name_of(c.state)).bind(c.reason);
    insert.bind(c.predicted_us).bind(c.build_ms);
    bind_measured(insert, c.timing, c.accuracy);
    GS_CHECK(insert.step());
  }
  return Done{};
}

// Reading. A decision that was written whole reads whole; what does not is damage, and is said with the decision's
// number.

Error damaged(const Database& db, int64_t decision, std::string given, std::string limit) {
  return Error{concat("store ", db.path(), ", decision ", decision),
               std::move(given),
               std::move(limit),
               "move the file away to begin a new one, or name another with GEMMSMITH_STORE",
               {}};
}

Status read_sources(const Database& db, int64_t decision, std::vector<SourceReport>& sources) {
  GS_TRY(Statement select,
         db.prepare("SELECT name, version, supported, reason FROM sources WHERE decision = ? ORDER BY position"));
  select.bind(decision);
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return Done{};
    SourceReport s;
    s.name = select.text();
    s.version = select.text();
    s.supported = select.integer() != 0;
    s.reason = select.text();
    sources.push_back(std::move(s));
  }
}

void read_measured(Statement& select, std::optional<Timing>& timing, std::optional<Accuracy>& accuracy) {
  if (select.next_is_null()) {
    select.skip(4);
  } else {
    Timing& t = timing.emplace();
    t.samples = int(select.integer());
    t.median_us = select.real();
    t.low_us = select.real();
    t.high_us = select.real();
  }
  if (select.next_is_null()) return;
  Accuracy& a = accuracy.emplace();
  a.compared = select.integer();
  a.max_abs = select.real();
  a.max_rel = select.real();
  a.allowed_rel = select.real();
  a.worst = select.real();
  a.passed = select.integer() != 0;
  a.failure = select.text();
}

Status read_measurements(const Database& db, int64_t decision, std::vector<CandidateReport>& candidates) {
  GS_TRY(Statement select,
         db.prepare("SELECT source, config, state, reason, predicted_us, build_ms, samples, median_us, low_us, "
                    "high_us, compared, max_abs, max_rel, allowed_rel, worst, passed, failure "
                    "FROM measurements WHERE decision = ? ORDER BY position"));
  select.bind(decision);
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return Done{};
    CandidateReport c;
    c.source = select.text();
    c.config = select.text();
    const std::string state = select.text();
    const auto known = candidate_state_named(state);
    if (!known) return damaged(db, decision, concat("state \"", state, "\""), "is not a candidate's state");
    c.state = *known;
    c.reason = select.text();
    c.predicted_us = select.real();
    c.build_ms = select.real();
    read_measured(select, c.timing, c.accuracy);
    candidates.push_back(std::move(c));
  }
}

Result<TuneReport> read_decision(const Database& db, int64_t decision) {
  GS_TRY(Statement select,
         db.prepare("SELECT problem, device, sources, gemmsmith, measured_at, winner, margin, decision, floor_us, "
                    "seconds, conditions, store_note, interrupted FROM decisions WHERE id = ?"));
  GS_TRY(const bool row, select.bind(decision).step());
  if (!row) return damaged(db, decision, "its row", "is missing");
  TuneReport r;
  const std::string problem = select.text();
  r.provenance.device = select.text();
  r.provenance.sources = select.text();
  r.provenance.gemmsmith = select.text();
  r.provenance.measured_at = select.text();
  r.winner = int(select.integer());
  r.margin = select.real();
  r.decision = select.text();
  r.floor_us = select.real();
  r.seconds = select.real();
  r.conditions = select.text();
  r.store_note = select.text();
  r.interrupted = select.integer() != 0;
  r.from_store = true;
  auto parsed = GemmProblem::parse(problem);
  if (!parsed.ok()) return std::move(parsed).error().note(concat("in store ", db.path(), ", decision ", decision));
  r.problem = *std::move(parsed);
  GS_CHECK(read_sources(db, decision, r.sources));
  GS_CHECK(read_measurements(db, decision, r.candidates));
  if (r.winner < -1 || r.winner >= int(r.candidates.size()))
    return damaged(db, decision, concat("winner ", r.winner),
                   concat("is not one of its ", r.candidates.size(), " candidates"));
  return r;
}

}  // namespace

struct Store::State {
  std::unique_ptr<Database> db;
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& path) {
  if (path != ":memory:") GS_CHECK(make_directories(parent_of(path)));
  GS_TRY(std::unique_ptr<Database> db, Database::open(path));
  GS_TRY(const int64_t version, db->integer("PRAGMA user_version"));
  GS_CHECK(check_version(*db, version));
  // Readers and a writer at once; file systems without shared memory stay with a rollback journal, which is as safe. In
  // WAL mode `normal` loses nothing to a killed process, and at most the last decisions to a power failure.
  (void)db->execute("PRAGMA journal_mode = WAL");
  GS_CHECK(db->execute("PRAGMA synchronous = NORMAL"));
  if (version == 0) GS_CHECK(create_schema(*db));
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

Status Store::save(const TuneReport& report) {
  const Database& db = *state_->db;
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(const int64_t decision, insert_decision(db, report));
  GS_CHECK(insert_sources(db, decision, report.sources));
  GS_CHECK(insert_measurements(db, decision, report.candidates));
  return transaction.commit();
}

Result<std::optional<TuneReport>> Store::find(const GemmProblem& problem, const std::string& device) const {
  const Database& db = *state_->db;
  GS_TRY(Statement select, db.prepare("SELECT max(id) FROM decisions WHERE problem = ?1 AND (?2 = '' OR device = ?2)"));
  const std::string text = problem.print();
  GS_CHECK(select.bind(text).bind(device).step());
  if (select.next_is_null()) return std::optional<TuneReport>();
  GS_TRY(TuneReport report, read_decision(db, select.integer()));
  return std::optional<TuneReport>(std::move(report));
}

Result<std::vector<TuneReport>> Store::list(const std::string& device) const {
  const Database& db = *state_->db;
  GS_TRY(Statement select,
         db.prepare("SELECT max(id) FROM decisions WHERE ?1 = '' OR device = ?1 GROUP BY problem, device ORDER BY 1"));
  select.bind(device);
  std::vector<TuneReport> reports;
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return reports;
    GS_TRY(TuneReport report, read_decision(db, select.integer()));
    reports.push_back(std::move(report));
  }
}

}  // namespace gemmsmith
