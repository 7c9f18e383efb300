// Which kernel is the best for which m, measured at as few values of m as will do. gemmsmith/dispatch.h says how.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gemmsmith/dispatch.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

struct KernelChoice {
  std::string source, config;
  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
};

// What a tuning at one m found.
struct TunedPoint {
  KernelChoice best;
  std::vector<KernelChoice> tied;  // others that are as fast
  bool accepts(const KernelChoice&) const;
};

// Not thread safe.
class Crossovers {
 public:
  using Tune = std::function<Result<TunedPoint>(int64_t m)>;
  // 1 <= min_m <= max_m. `tune` is called at most once for an m, unless it fails.
  Crossovers(int64_t min_m, int64_t max_m, int points_per_octave, Tune tune);

  // For an m of the range. Tunes what is missing.
  Result<KernelChoice> choice(int64_t m);
  // Where that choice turned out to be impossible: that of a tuning at this very m, which is its choice from now on.
  Result<KernelChoice> own_choice(int64_t m);
  // Of what choice() was asked for; neighbours with one choice are one range.
  std::vector<DispatchRange> ranges() const;
  const std::vector<int64_t>& points() const { return points_; }

 private:
  struct Stretch {
    int64_t end;  // one past its last m
    KernelChoice choice;
  };
  Result<const TunedPoint*> tuned(int64_t m);
  Status settle(int64_t first, int64_t next, KernelChoice choice, int halvings, std::map<int64_t, Stretch>& out);

  std::vector<int64_t> points_;  // the first is min_m, the last max_m
  Tune tune_;
  std::map<int64_t, TunedPoint> tuned_;
  std::map<int64_t, Stretch> stretches_;  // by their first m; those of an interval between points are all there or none
};

}  // namespace gemmsmith
