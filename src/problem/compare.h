// The numeric gate's comparison: an output against the float64 reference, with a tolerance made from the problem.
//
// An element passes if it lies between the lowest and the highest value that an f32 evaluation of the problem may give
// (enclosure.h, reference.h), each rounded to D's type. Rounding is monotone, so this is exact about D's own rounding,
// about ties, overflow and saturation. Where nothing rounds, as in i8 products into i32, both bounds are the reference
// itself. NaN equals NaN and nothing else; infinity equals infinity.
#pragma once
#include <cstdint>
#include <vector>

#include "gemmsmith/measure.h"
#include "problem/reference.h"

namespace gemmsmith {

struct CheckOptions {
  uint64_t seed = 1;                    // of the positions
  double all_up_to_products = 1 << 26;  // every element is compared if batch * m * n * k is no more
  double sample_products = 1 << 24;     // otherwise as many elements as need so many products of a and b ...
  int64_t min_samples = 256;            // ... and at least so many
  int64_t max_samples = 1 << 16;
  int64_t max_elements = 1 << 22;  // compared at all: what is right is kept for each of them, some 0.4 GB of this many
};

// The most that a Check keeps, for budgets of memory.
int64_t check_bytes(const GemmProblem&, const CheckOptions& = {});

// The right results of a problem at chosen places, computed once for one filling of its operands and compared with the
// output of each kernel that runs on them. Does not read D until compare().
class Check {
 public:
  // The problem and the memory behind the arguments have to outlive it and stay unchanged.
  Check(const GemmProblem&, const GemmArguments&, const CheckOptions& = {});

  // `d` is laid out as the problem says. Reads the chosen elements, and all others for NaN: one that the reference does
  // not have (an element that was never written) fails.
  Accuracy compare(const void* d) const;
  int64_t elements() const { return int64_t(expected_.size()); }

 private:
  struct Expected {
    int64_t batch, row, column;
    ReferenceElement reference;
    double low, high;  // rounded to D's type
  };
  Expected expect(int64_t batch, int64_t row, int64_t column, const DotProduct&) const;
  void expect_all();
  void expect_samples(const CheckOptions&);
  void compare_element(const Expected&, double d, Accuracy&) const;
  void look_for_nan(const void* d, Accuracy&) const;

  const GemmProblem& p_;
  Reference reference_;
  std::vector<Expected> expected_;
  bool all_ = false;
};

}  // namespace gemmsmith
