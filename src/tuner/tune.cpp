#include "tuner/tune.h"

#include "tuner/report.h"
#include "tuner/text.h"

namespace gemmsmith {
namespace {

// Why a stored report is not used; empty if it is.
std::string why_not(const TuneReport& stored, const Provenance& now, bool retune) {
  if (!stored.best()) return "it has no winner";
  if (std::string changed = mismatch(stored, now); !changed.empty()) return changed;
  if (stored.interrupted) return "its tuning was interrupted";
  return retune ? "asked to measure again" : std::string();
}

std::string note(const TuneReport& stored, const std::string& reason) {
  const CandidateReport* best = stored.best();
  return concat("stored choice", best ? concat(" ", best->source, " ", best->config) : "", " of ",
                stored.provenance.measured_at, " not used: ", reason);
}

struct Lookup {
  std::optional<TuneReport> report;  // of this device
  std::string note;                  // why it, or that of another device, is not used
};

Result<Lookup> look_up(const TuneRequest& request, const Provenance& now, const Store& store) {
  Lookup lookup;
  GS_TRY(lookup.report, store.find(request.problem, now.device));
  if (!lookup.report) {
    GS_TRY(const auto elsewhere, store.find(request.problem, {}));
    if (elsewhere) lookup.note = note(*elsewhere, why_not(*elsewhere, now, false));
    return lookup;
  }
  const std::string reason = why_not(*lookup.report, now, request.options.retune);
  if (reason.empty()) return lookup;
  // One before it may hold: versions that were changed back, or a store that was merged with those of other versions.
  // If they cannot be read it does not matter: what is measured now takes their place.
  auto history = store.history(request.problem, now.device);
  if (!history.ok()) history = std::vector<TuneReport>();
  for (TuneReport& earlier : *history) {
    if (!why_not(earlier, now, request.options.retune).empty()) continue;
    lookup.report = std::move(earlier);
    return lookup;
  }
  lookup.note = note(*lookup.report, reason);
  return lookup;
}

}  // namespace

Result<TuneReport> tune_with_store(TuneRequest request, Store* store) {
  if (!store) return search(request);
  GS_CHECK(request.problem.validate());
  GS_TRY(const std::vector<SourceReport> sources,
         report_sources(request.problem, request.device, request.sources, request.options.sources));
  GS_TRY(Lookup stored, look_up(request, provenance_of(request.device, sources), *store));
  if (stored.report && stored.note.empty()) return *std::move(stored.report);
  if (stored.report && stored.report->best())
    request.incumbent = {stored.report->best()->source, stored.report->best()->config};

  GS_TRY(TuneReport report, search(request));
  report.store_note = stored.note;
  if (!report.best() || !report.best()->timing) return report;
  if (const Status saved = store->save(report); !saved.ok())
    report.store_note += concat(report.store_note.empty() ? "" : "\n", "not saved: ", saved.error().text());
  return report;
}

}  // namespace gemmsmith
