// What a measurement says: of time and of accuracy.
#pragma once
#include <cstdint>
#include <string>

namespace gemmsmith {

// A median over samples with its 95 % confidence interval (order statistics).
struct Timing {
  double median_us = 0, low_us = 0, high_us = 0;
  int samples = 0;
};

// How far an output was from the float64 reference. The scale of an element is what its roundings are proportional to:
// the sum of |alpha * a * b| over k and |beta * c|, or |reference| where that is larger.
struct Accuracy {
  double max_abs = 0;      // largest |D - reference|
  double max_rel = 0;      // largest |D - reference| / scale
  double allowed_rel = 0;  // tolerance / scale of the element that came nearest to its tolerance
  double worst = 0;        // largest |D - reference| / tolerance: an element passes up to 1
  int64_t compared = 0;    // elements
  bool passed = false;
  std::string
      failure;  // "D[3,17] is 1.25, reference 1.5, allowed from 1.4999 to 1.5001", of the first element that failed
};

}  // namespace gemmsmith
