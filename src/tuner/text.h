// Numbers as the tuner's sentences print them.
#pragma once
#include <string>

#include "support/text.h"

namespace gemmsmith {

inline std::string print_us(double us) { return print_duration(us * 1e-6); }  // "102 us", "4.56 ms"
inline std::string print_percent(double part) { return concat(format_fixed(part * 100, 1), " %"); }  // 0.034: "3.4 %"
inline std::string print_ratio(double ratio) {
  return concat(format_fixed(ratio, ratio < 9.9995 ? 3 : 1), "x");
}  // "1.078x"

}  // namespace gemmsmith
