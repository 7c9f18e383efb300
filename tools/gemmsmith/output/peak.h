// How near a time comes to what the device can do.
#pragma once
#include <optional>
#include <string>

#include "gemmsmith/device.h"
#include "gemmsmith/tune.h"

namespace gemmsmith::cli {

// The measured rate of the device for the types of a problem, in GFLOP/s; 0 if there is none.
double peak_gflops(const GemmProblem&, const DeviceFacts&);
double gflops(const GemmProblem&, double time_us);  // 0 for no time
// Columns `of peak` and `of floor`; "-" where there is no measured peak.
std::string of_peak(const GemmProblem&, const DeviceFacts&, double time_us);
std::string of_floor(double floor_us, double time_us);

}  // namespace gemmsmith::cli
