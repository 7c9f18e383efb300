#include "tuner/store_rows.h"

#include "support/text.h"
#include "tuner/store_line.h"
#include "tuner/store_trials.h"

namespace gemmsmith {
namespace {

Result<int64_t> insert_facts(const Database& db, const TuneReport& r, const std::string& stamp,
                             const std::string& hash) {
  GS_TRY(Statement insert,
         db.prepare("INSERT INTO decisions (problem, device, sources, gemmsmith, measured_at, winner, margin, "
                    "decision, floor_us, seconds, conditions, store_note, interrupted, stamp, hash, memory, isolation, "
                    "load_average, load_others) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
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
  insert.bind(stamp).bind(hash).bind(r.memory).bind(r.isolation);
  if (r.load)
    insert.bind(r.load->load_average).bind(r.load->others);
  else
    insert.bind_null().bind_null();
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
    if (!known) return damaged_decision(db, decision, concat("state \"", state, "\""), "is not a candidate's state");
    c.state = *known;
    c.reason = select.text();
    c.predicted_us = select.real();
    c.build_ms = select.real();
    read_measured(select, c.timing, c.accuracy);
    candidates.push_back(std::move(c));
  }
}

}  // namespace

Error damaged_decision(const Database& db, int64_t id, std::string given, std::string limit) {
  return Error{concat("store ", db.path(), ", decision ", id),
               std::move(given),
               std::move(limit),
               "move the file away to begin a new one, or name another with --store or GEMMSMITH_STORE",
               {}};
}

Status insert_decision(const Database& db, const Decision& decision) {
  const TuneReport& report = decision.report;
  GS_TRY(const int64_t id, insert_facts(db, report, decision.stamp, hash_of_line(print_line(report, decision.stamp))));
  GS_CHECK(insert_sources(db, id, report.sources));
  GS_CHECK(insert_measurements(db, id, report.candidates));
  return insert_quarantine(db, report);  // so it travels with decisions
}

Result<Decision> read_decision(const Database& db, int64_t decision) {
  GS_TRY(Statement select,
         db.prepare("SELECT problem, device, sources, gemmsmith, measured_at, winner, margin, decision, floor_us, "
                    "seconds, conditions, store_note, interrupted, stamp, memory, isolation, load_average, load_others "
                    "FROM decisions WHERE id = ?"));
  GS_TRY(const bool row, select.bind(decision).step());
  if (!row) return damaged_decision(db, decision, "its row", "is missing");
  Decision found;
  TuneReport& r = found.report;
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
  found.stamp = select.text();
  r.memory = select.text();
  r.isolation = select.text();
  if (!select.next_is_null()) {
    r.load.emplace();
    r.load->load_average = select.real();
    r.load->others = select.real();
  }
  r.from_store = true;
  auto parsed = GemmProblem::parse(problem);
  if (!parsed.ok()) return std::move(parsed).error().note(concat("in store ", db.path(), ", decision ", decision));
  r.problem = *std::move(parsed);
  GS_CHECK(read_sources(db, decision, r.sources));
  GS_CHECK(read_measurements(db, decision, r.candidates));
  if (r.winner < -1 || r.winner >= int(r.candidates.size()))
    return damaged_decision(db, decision, concat("winner ", r.winner),
                            concat("is not one of its ", r.candidates.size(), " candidates"));
  return found;
}

Status delete_decision(const Database& db, int64_t id) {
  for (const char* sql : {"DELETE FROM measurements WHERE decision = ?", "DELETE FROM sources WHERE decision = ?",
                          "DELETE FROM decisions WHERE id = ?"}) {
    GS_TRY(Statement statement, db.prepare(sql));
    GS_CHECK(statement.bind(id).step());
  }
  return Done{};
}

}  // namespace gemmsmith
