// Arithmetic on vectors: element-wise, lanes and element types known while staging. Operands have the same of both, or
// the mistake is reported at the line that wrote it. bf16 can be loaded, moved, converted and multiplied by dot
// products; whatever else computes wants it as f32.
#pragma once
#include <vector>

#include "dsl/staged.h"

namespace gemmsmith {

Vec zero(Kind, int lanes, Where at = Where::current());
Vec constant(Kind, int lanes, double, Where at = Where::current());
Vec like(const Vec&, double);  // a constant of the same type

Vec operator+(VecArg, VecArg);
Vec operator-(VecArg, VecArg);
Vec operator*(VecArg, VecArg);
Vec operator/(VecArg, VecArg);  // of floats
Vec operator-(VecArg);
Vec min(VecArg, VecArg);  // NaN if either is
Vec max(VecArg, VecArg);
Vec fma(VecArg a, VecArg b, VecArg c);  // a * b + c, rounded once; of integers too
Vec bitwise_xor(VecArg, VecArg);        // of integers

enum class Compare : uint8_t { less, less_equal, greater, greater_equal, equal, not_equal };
Vec compare(Compare, VecArg, VecArg);  // i1; false where either is NaN, but for not_equal; integers are signed
Vec select(VecArg mask, Vec, Vec);

// exp tanh erf log sqrt rsqrt abs floor, of f32 and f64
enum class Math : uint8_t { exp, tanh, erf, log, sqrt, rsqrt, abs, floor };
Vec math(Math, VecArg);

// Between f32, f16, bf16, i8 and i32 (and f64 with f32). Narrowing rounds to nearest, ties to even; integers saturate,
// and NaN becomes 0. i8 is signed.
Vec convert(VecArg, Kind);
Vec bitcast(VecArg, Kind);  // the same bits; the number of lanes follows
// Of lanes that hold several narrower elements, element `part` of each: part 1 of i32 as bf16 is the upper half.
Vec part_of_lanes(VecArg, Kind element, int part);
Vec broadcast(VecArg one_lane, int lanes);
// Lane i is lane lanes[i] of a followed by b; -1: anything.
Vec permute(VecArg a, Vec b, const std::vector<int>& lanes);
Vec extract(VecArg, int lane);  // a vector of one lane
Vec join(const std::vector<Vec>& one_lane_each, Where at = Where::current());
Vec reduce_add(VecArg);  // pairwise, to one lane; lanes are a power of two
// n vectors of n lanes, seen as a matrix, transposed: log2(n) shuffles of each, in 128-bit lanes first where elements
// have 4 bytes.
std::vector<Vec> transpose(const std::vector<Vec>&, Where at = Where::current());

}  // namespace gemmsmith
