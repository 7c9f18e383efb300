// The float64 reference that every source is checked by: slow, plain, and exact where the problem is.
#pragma once
#include <cstdint>
#include <vector>

#include "expr/linear.h"
#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"
#include "problem/enclosure.h"

namespace gemmsmith {

// A dot product of a row of A and a column of B with what its error is measured by.
struct DotProduct {
  double sum = 0;        // sum of a * b over k: in float64, or of integers exactly, wrapped to i32
  double magnitude = 0;  // sum of |a * b|
};

// What one element of D has to be.
struct ReferenceElement {
  Enclosure result;  // before it is rounded to D's type: value is the reference
  double scale = 0;  // |alpha| * sum of |a * b| + |beta * c|, or |value| if that is larger
};

// Reads A, B, C and the epilogue's inputs where they lie; never D. Holds pointers to both arguments' contents: the
// problem and the memory have to outlive it. Used by one thread at a time. Contract for alpha = 0, beta = 0, k = 0, NaN
// and infinity: gemmsmith/problem.h.
//
// How far a kernel's sum may be from the float64 sum: min(k, 4 * sqrt(k)) + 1 unit roundoffs of f32 times `magnitude`.
// k is the bound that holds for every order of summation (Higham, section 4.2); 4 * sqrt(k) the one that roundings of
// random sign exceed with probability below 1e-3 a sum that is as large as it can get (Higham and Mary, "A new approach
// to probabilistic rounding error analysis", 2019), and sums in blocks stay far below it; 1 is for alpha. The smaller
// bound matters: with k alone, a kernel that drops an element of a long sum or adds in bf16 would pass.
class Reference {
 public:
  Reference(const GemmProblem&, const GemmArguments&);

  DotProduct dot(int64_t batch, int64_t row, int64_t column) const;
  // All dot products of rows [first_row, first_row + rows) of one member of the batch, row by row; blocked.
  std::vector<DotProduct> dots(int64_t batch, int64_t first_row, int64_t rows) const;

  // An element of D before it is rounded to D's type.
  double value(int64_t batch, int64_t row, int64_t column, const DotProduct&) const;
  double value(int64_t batch, int64_t row, int64_t column) const {
    return value(batch, row, column, dot(batch, row, column));
  }
  ReferenceElement element(int64_t batch, int64_t row, int64_t column, const DotProduct&) const;

 private:
  bool reads_ab() const { return p_.alpha != 0 && p_.k > 0; }
  double read_c(int64_t batch, int64_t row, int64_t column) const;
  double read_input(size_t input, int64_t batch, int64_t row, int64_t column) const;
  Enclosure sum(const DotProduct&) const;

  const GemmProblem& p_;
  GemmArguments args_;
  LinearExpr epilogue_;
  mutable std::vector<double> values_;         // scratch of the epilogue
  mutable std::vector<Enclosure> enclosures_;  // the same
};

// Computes D of a whole problem, rounded once to D's type, in place: the `reference` source.
void compute_reference(const GemmProblem&, const GemmArguments&);

}  // namespace gemmsmith
