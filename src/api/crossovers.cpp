#include "api/crossovers.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr int kHalvings = 2;  // of an interval whose ends have different winners

std::vector<int64_t> points_between(int64_t min_m, int64_t max_m, int points_per_octave) {
  std::vector<int64_t> points = {min_m};
  for (int64_t octave = 1; octave < max_m; octave *= 2)
    for (int i = 0; i < points_per_octave; ++i) {
      const int64_t m = octave + octave * i / points_per_octave;
      if (m > points.back() && m < max_m) points.push_back(m);
    }
  if (max_m > min_m) points.push_back(max_m);
  return points;
}

}  // namespace

bool TunedPoint::accepts(const KernelChoice& choice) const {
  return choice == best || std::find(tied.begin(), tied.end(), choice) != tied.end();
}

Crossovers::Crossovers(int64_t min_m, int64_t max_m, int points_per_octave, Tune tune)
    : points_(points_between(min_m, max_m, points_per_octave)), tune_(std::move(tune)) {}

Result<const TunedPoint*> Crossovers::tuned(int64_t m) {
  auto found = tuned_.find(m);
  if (found == tuned_.end()) {
    GS_TRY(TunedPoint point, tune_(m));
    found = tuned_.emplace(m, std::move(point)).first;
  }
  return &found->second;
}

// Divides [first, next), where `choice` is the one at `first`.
Status Crossovers::settle(int64_t first, int64_t next, KernelChoice choice, int halvings,
                          std::map<int64_t, Stretch>& out) {
  GS_TRY(const TunedPoint* const end, tuned(next));
  const int64_t middle = first + (next - first) / 2;
  if (end->accepts(choice) || halvings == 0 || middle == first) {
    out.insert({first, {next, std::move(choice)}});
    return Done{};
  }
  GS_TRY(const TunedPoint* const half, tuned(middle));
  GS_CHECK(settle(first, middle, choice, halvings - 1, out));
  return settle(middle, next, half->accepts(choice) ? choice : half->best, halvings - 1, out);
}

Result<KernelChoice> Crossovers::choice(int64_t m) {
  const auto stretch_of = [this](int64_t m) {
    auto after = stretches_.upper_bound(m);
    return after != stretches_.begin() && m < std::prev(after)->second.end ? &std::prev(after)->second : nullptr;
  };
  if (const Stretch* known = stretch_of(m)) return known->choice;
  const auto next = std::upper_bound(points_.begin(), points_.end(), m);
  const int64_t first = *std::prev(next);
  GS_TRY(const TunedPoint* const point, tuned(first));
  std::map<int64_t, Stretch> settled;
  if (next == points_.end())
    settled.insert({first, {first + 1, point->best}});
  else
    GS_CHECK(settle(first, *next, point->best, kHalvings, settled));
  stretches_.merge(settled);
  return stretch_of(m)->choice;
}

Result<KernelChoice> Crossovers::own_choice(int64_t m) {
  GS_CHECK(choice(m));
  GS_TRY(const TunedPoint* const point, tuned(m));
  const auto around = std::prev(stretches_.upper_bound(m));
  const auto [first, stretch] = *around;
  stretches_.erase(around);
  if (first < m) stretches_.insert({first, {m, stretch.choice}});
  stretches_.insert({m, {m + 1, point->best}});
  if (m + 1 < stretch.end) stretches_.insert({m + 1, {stretch.end, stretch.choice}});
  return point->best;
}

std::vector<DispatchRange> Crossovers::ranges() const {
  std::vector<DispatchRange> out;
  for (const auto& [first, stretch] : stretches_) {
    const auto& [source, config] = stretch.choice;
    if (!out.empty() && out.back().last_m + 1 == first && out.back().source == source && out.back().config == config)
      out.back().last_m = stretch.end - 1;
    else
      out.push_back({first, stretch.end - 1, source, config});
  }
  return out;
}

}  // namespace gemmsmith
