// What every source promises, checked over many problems:
//   supports  =>  offers candidates, each once and always the same; each builds and agrees with the float64 reference,
//   twice, and
//                 writes nothing but D's elements and reads nothing that the problem does not read;
//   refuses   =>  says why, with a number or a name of the problem in it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sources/source.h"

namespace gemmsmith {

// Values that are put into operands beside random ones.
enum class Contents : uint8_t {
  random,
  nan_where_unread,  // A and B are NaN if alpha is 0: such memory may hold anything
  nan_in_a,          // one element is NaN: whatever it meets has to show it, zeros too
  infinity_in_b,     // one element is infinite and meets zeros and numbers
};

struct ConformanceCase {
  GemmProblem problem;
  Contents contents = Contents::random;
};

// Valid problems of every kind: extents of 0, 1 and beside multiples of a tile, majors, padding, broadcasts, negative
// strides, batches, alpha, beta, types, epilogues. The same for the same seed.
std::vector<ConformanceCase> conformance_cases(int count, uint64_t seed);

struct ConformanceReport {
  int supported = 0, refused = 0, kernels = 0;
  std::vector<std::string> violations;  // "openblas sgemm, 3x4x5 dtype=f32: ..."
};

// One source on one case; adds to the report.
void check_conformance(Source&, const DeviceFacts&, const ConformanceCase&, ConformanceReport&);
ConformanceReport check_conformance(Source&, const DeviceFacts&, const std::vector<ConformanceCase>&);

}  // namespace gemmsmith
