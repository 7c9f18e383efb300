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

std::string join_notes(const std::string& first, const std::string& second) {
  return concat(first, first.empty() || second.empty() ? "" : "\n", second);
}

// What the store knows of earlier tunings with these versions. It spares time: if it cannot be read, nothing is lost.
void spare_known(TuneRequest& request, const std::vector<SourceReport>& sources, const Store& store) {
  const Provenance now = provenance_of(request.device, sources);
  if (auto entries = store.quarantine(request.problem, now.device); entries.ok())
    for (const QuarantineEntry& e : *entries)
      for (const SourceReport& source : sources)
        if (e.source == source.name && e.version == source.version && e.gemmsmith == now.gemmsmith)
          request.quarantine.push_back({e.source, e.config, e.evidence, e.since});
  auto unfinished = store.find_unfinished(request.problem, now.device);
  if (unfinished.ok() && *unfinished && !request.options.retune && mismatch(**unfinished, now).empty())
    request.unfinished = **std::move(unfinished);
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

  spare_known(request, sources, *store);
  request.checkpoint = [store](const TuneReport& so_far) { (void)store->save_unfinished(so_far); };
  GS_TRY(TuneReport report, search(request));
  // A report that is not interrupted says all that the next tuning has to know, even where it is not saved.
  if (!report.interrupted) (void)store->drop_unfinished(request.problem, report.provenance.device);
  report.store_note = join_notes(stored.note, report.store_note);
  if (!report.best() || !report.best()->timing) return report;
  if (const Status saved = store->save(report); !saved.ok())
    report.store_note = join_notes(report.store_note, "not saved: " + saved.error().text());
  return report;
}

}  // namespace gemmsmith
