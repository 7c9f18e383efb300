#include "tuner/store_trials.h"

#include "gemmsmith/json.h"
#include "gemmsmith/store.h"
#include "support/text.h"
#include "tuner/store_state.h"

namespace gemmsmith {
namespace {

constexpr const char* kOfProblem = "(?1 = '' OR problem = ?1) AND (?2 = '' OR device = ?2)";

std::string version_of(const TuneReport& report, const std::string& source) {
  for (const SourceReport& s : report.sources)
    if (s.name == source) return s.version;
  return {};
}

}  // namespace

Status insert_quarantine(const Database& db, const TuneReport& report) {
  GS_TRY(Statement insert, db.prepare("INSERT OR IGNORE INTO quarantine VALUES (?,?,?,?,?,?,?,?)"));
  const std::string problem = report.problem.print();
  const Provenance& from = report.provenance;
  for (const CandidateReport& c : report.candidates) {
    if (c.state != CandidateState::crashed) continue;
    const std::string version = version_of(report, c.source);
    insert.bind(problem).bind(from.device).bind(c.source).bind(version).bind(from.gemmsmith).bind(c.config);
    GS_CHECK(insert.bind(c.reason).bind(from.measured_at).step());
  }
  return Done{};
}

Result<std::vector<QuarantineEntry>> Store::quarantine(const std::optional<GemmProblem>& problem,
                                                       const std::string& device) const {
  const std::string text = problem ? problem->print() : std::string();
  GS_TRY(Statement select,
         state_->db->prepare(concat("SELECT problem, device, source, version, gemmsmith, config, evidence, since "
                                    "FROM quarantine WHERE ",
                                    kOfProblem)));
  select.bind(text).bind(device);
  std::vector<QuarantineEntry> entries;
  for (;;) {
    GS_TRY(const bool row, select.step());
    if (!row) return entries;
    QuarantineEntry e;
    for (std::string* part :
         {&e.problem, &e.device, &e.source, &e.version, &e.gemmsmith, &e.config, &e.evidence, &e.since})
      *part = select.text();
    entries.push_back(std::move(e));
  }
}

Result<int64_t> Store::release(const std::optional<GemmProblem>& problem, const std::string& device) {
  const Database& db = *state_->db;
  const std::string text = problem ? problem->print() : std::string();
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(Statement drop, db.prepare(concat("DELETE FROM quarantine WHERE ", kOfProblem)));
  GS_CHECK(drop.bind(text).bind(device).step());
  GS_TRY(const int64_t count, db.integer("SELECT changes()"));
  GS_CHECK(transaction.commit());
  return count;
}

Status Store::save_unfinished(const TuneReport& report) {
  const Database& db = *state_->db;
  GS_TRY(Transaction transaction, Transaction::begin(db));
  GS_TRY(Statement insert, db.prepare("INSERT OR REPLACE INTO unfinished VALUES (?,?,?)"));
  const std::string problem = report.problem.print(), json = to_json(report, -1);
  GS_CHECK(insert.bind(problem).bind(report.provenance.device).bind(json).step());
  GS_CHECK(insert_quarantine(db, report));
  return transaction.commit();
}

Result<std::optional<TuneReport>> Store::find_unfinished(const GemmProblem& problem, const std::string& device) const {
  const std::string text = problem.print();
  GS_TRY(Statement select, state_->db->prepare("SELECT report FROM unfinished WHERE problem = ? AND device = ?"));
  GS_TRY(const bool row, select.bind(text).bind(device).step());
  if (!row) return std::optional<TuneReport>();
  auto report = report_from_json(select.text());
  if (!report.ok()) return std::optional<TuneReport>();  // nothing of value is lost: it is measured
  return std::optional<TuneReport>(*std::move(report));
}

Status Store::drop_unfinished(const GemmProblem& problem, const std::string& device) {
  const std::string text = problem.print();
  GS_TRY(Statement drop, state_->db->prepare("DELETE FROM unfinished WHERE problem = ? AND device = ?"));
  GS_CHECK(drop.bind(text).bind(device).step());
  return Done{};
}

}  // namespace gemmsmith
