#include "tuner/halving.h"

#include <algorithm>
#include <set>

#include "tuner/statistics.h"
#include "tuner/text.h"

namespace gemmsmith {

void sort_standings(std::vector<Standing>& standings) {
  std::sort(standings.begin(), standings.end(), [](const Standing& x, const Standing& y) {
    return x.timing.median_us != y.timing.median_us ? x.timing.median_us < y.timing.median_us : x.id < y.id;
  });
}

std::vector<Elimination> halve(std::vector<Standing> standings, const SearchPolicy& policy,
                               const std::string& name_of_fastest) {
  sort_standings(standings);
  std::vector<Elimination> eliminated;
  for (size_t i = (standings.size() + 1) / 2; i < standings.size(); ++i) {
    const Timing &fastest = standings[0].timing, &t = standings[i].timing;
    const bool few = std::min(fastest.samples, t.samples) < kSamplesForInterval;
    const double bound = fastest.high_us * (few ? 1 + policy.few_samples_guard : 1);
    if (t.low_us <= bound) continue;
    eliminated.push_back({standings[i].id, "at least " + print_us(t.low_us) + " in " + std::to_string(t.samples) +
                                               " samples, " + name_of_fastest + " at most " +
                                               print_us(fastest.high_us)});
  }
  return eliminated;
}

std::vector<size_t> choose_finalists(std::vector<Standing> standings, const std::vector<bool>& survives,
                                     const SearchPolicy& policy) {
  sort_standings(standings);
  std::vector<size_t> chosen;
  std::set<int> sources;
  int places = policy.finalists;
  for (const Standing& s : standings) {
    const bool first_of_source = !sources.contains(s.source);
    const bool near = s.timing.median_us <= policy.companion_ratio * standings[0].timing.median_us;
    const bool place = survives[s.id] && places > 0;
    const bool companion = near && (first_of_source || (s.incumbent && survives[s.id]));
    if (!place && !companion) continue;
    if (place) --places;
    sources.insert(s.source);
    chosen.push_back(s.id);
  }
  return chosen;
}

}  // namespace gemmsmith
