// What a report says beyond the measurements: floors, margins and where it comes from.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "sources/source.h"

namespace gemmsmith {

// The least time that bytes and flops allow on a device, by its measured peaks; 0 if none is measured. An operation
// counts at the highest rate that its types allow: bf16 may be widened to f32, i8 may not run faster than the better of
// the two.
double floor_us(const GemmProblem&, const DeviceFacts&);

// Time of the best candidate of another source over the winner's, minus 1; 0 without one.
double margin_of(const TuneReport&);

// "native 1a2b3c; library 0.3.21": the sources that supported the problem, in order. A source that refused
// does not count: it could not have been chosen.
std::string print_sources(const std::vector<SourceReport>&);

// Provenance of what is measured now, but for the time.
Provenance provenance_of(const DeviceFacts&, const std::vector<SourceReport>&);

// Why a stored choice does not hold today; empty if it does. Names each part that changed, with both values. A source
// that is no longer weighed matters only if the choice was its own: the best of more is the best of fewer.
std::string mismatch(const TuneReport& stored, const Provenance& now);

}  // namespace gemmsmith
