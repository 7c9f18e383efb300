// What a store keeps besides decisions: candidates in quarantine, and tunings that have not ended.
#pragma once
#include "gemmsmith/tune.h"
#include "tuner/sqlite.h"

namespace gemmsmith {

// Every candidate of a report that crashed, with the versions that it crashed in; those known stay as they are.
Status insert_quarantine(const Database&, const TuneReport&);

}  // namespace gemmsmith
