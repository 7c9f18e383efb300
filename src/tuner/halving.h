// Who goes on after a round of samples, and who goes into the final: pure functions of what was measured.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "tuner/policy.h"

namespace gemmsmith {

struct Standing {
  size_t id = 0;  // the caller's; a smaller one was tried earlier
  int source = 0;
  bool incumbent = false;
  Timing timing;
};

struct Elimination {
  size_t id = 0;
  std::string reason;
};

// Sorts by median, equal medians by id.
void sort_standings(std::vector<Standing>&);

// One step of successive halving (Jamieson and Talwalkar 2016), made careful: of the slower half only those go whose
// interval lies above that of the fastest, so noise alone eliminates nobody. `name` of the fastest is for the reasons.
std::vector<Elimination> halve(std::vector<Standing> standings, const SearchPolicy&,
                               const std::string& name_of_fastest);

// The ids of the final: the fastest `finalists` survivors; beyond them the best of each other source and the incumbent
// where they are within `companion_ratio` of the fastest, so that the margins over other sources rest on paired
// samples. `standings` are all that were sampled, `survives` tells who was not eliminated.
std::vector<size_t> choose_finalists(std::vector<Standing> standings, const std::vector<bool>& survives,
                                     const SearchPolicy&);

}  // namespace gemmsmith
