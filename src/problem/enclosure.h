// Which results are right: interval arithmetic over the float64 reference.
//
// A kernel computes in f32, in an order of its own, with functions that are not exact; the reference computes in
// float64. Both walk the same expression. An enclosure carries the reference's value together with bounds that every
// f32 evaluation falls into: each operation maps the bounds of its operands and widens them by its own rounding
// (interval arithmetic with outward rounding, Moore 1966; the same idea as running error analysis, Higham, "Accuracy
// and Stability of Numerical Algorithms", section 3.3). So what cancellation, steep functions, casts and comparisons do
// to an error needs no tolerance chosen by hand.
#pragma once
#include "expr/linear.h"

namespace gemmsmith {

struct Enclosure {
  double value = 0;          // the reference's
  double low = 0, high = 0;  // low <= value <= high unless value is NaN
  bool may_be_nan = false;   // some f32 evaluation gives NaN, as infinity - infinity after an overflow
  static Enclosure exact(double value) { return {value, value, value, value != value}; }
};

// A result of an f32 operation: widened by `roundings` unit roundoffs of f32 and `absolute` times 2^-24; what overflows
// f32 may be infinite, what is subnormal may be flushed to 0.
Enclosure rounded(Enclosure, double roundings, double absolute = 0);

Enclosure multiply(const Enclosure&, const Enclosure&);
Enclosure add(const Enclosure&, const Enclosure&);

// One step of an expression other than an input or the accumulator; operands as in evaluate_step().
Enclosure enclose_step(const Expr&, const Enclosure* operands);

}  // namespace gemmsmith
