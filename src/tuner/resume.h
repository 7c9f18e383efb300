// What earlier tunings spare this one: candidates in quarantine, and those that an interrupted tuning had done with. Pure
// functions.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "tuner/plan.h"
#include "tuner/policy.h"

namespace gemmsmith {

struct Quarantined {
  std::string source, config;
  std::string evidence;  // what it did
  std::string since;     // when it did it
};

// Takes candidates in quarantine out of the queue; the report has them with the evidence.
void keep_out(Plan&, const std::vector<Quarantined>&);

// Takes out of the queue what an interrupted tuning of the same problem, device and versions had done with: candidates
// that failed or were wrong, slower than the rest, or would be by halving what it had measured. They are in the report as
// that one had them. Times of different hours do not pair up, so those that were still in the race are measured again,
// the fastest of them first. Returns what it did in a sentence: "goes on where
// the tuning of ... was interrupted: ..."; nothing if that spares nothing.
std::string go_on(Plan&, const TuneReport& unfinished, const SearchPolicy&);

}  // namespace gemmsmith
