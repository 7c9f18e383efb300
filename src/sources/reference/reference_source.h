// The source that is always there: every valid problem in float64 on one thread, rounded once. Slow; what it computes
// is right.
#pragma once
#include <memory>

#include "sources/source.h"

namespace gemmsmith {

std::unique_ptr<Source> make_reference_source();

}  // namespace gemmsmith
