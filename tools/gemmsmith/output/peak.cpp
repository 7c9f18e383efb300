#include "output/peak.h"

#include <algorithm>

#include "output/units.h"

namespace gemmsmith::cli {

double peak_gflops(const GemmProblem& problem, const DeviceFacts& facts) {
  switch (problem.a.type) {
    case DataType::i8:
    case DataType::i32:
      return facts.peak_i8_gops;
    case DataType::bf16:  // widening to f32 while packing may be faster than the dot instruction
      return problem.b.type == DataType::bf16 ? std::max(facts.peak_bf16_gflops, facts.peak_f32_gflops)
                                              : facts.peak_f32_gflops;
    case DataType::f16:
    case DataType::f32:
      return facts.peak_f32_gflops;
    case DataType::f64:
      return facts.peak_f32_gflops / 2;  // half as many lanes in a register
  }
  return 0;
}

double gflops(const GemmProblem& problem, double time_us) { return time_us > 0 ? problem.flops() / time_us / 1e3 : 0; }

std::string of_peak(const GemmProblem& problem, const DeviceFacts& facts, double time_us) {
  const double peak = peak_gflops(problem, facts);
  return peak > 0 && time_us > 0 ? format_fraction(gflops(problem, time_us) / peak) : "-";
}

std::string of_floor(double floor_us, double time_us) {
  return floor_us > 0 && time_us > 0 ? format_fraction(floor_us / time_us) : "-";
}

}  // namespace gemmsmith::cli
