// Candidates of the source native, for what compiles without tuning.
#pragma once
#include <vector>

#include "gemmsmith/gemm.h"
#include "sources/source.h"

namespace gemmsmith {

// Best guess first, at least one. Errors: an invalid problem, one that no template serves, with the reasons, an
// architecture whose template nobody has written.
Result<std::vector<Candidate>> native_candidates(const Device&, const GemmProblem&);

}  // namespace gemmsmith
