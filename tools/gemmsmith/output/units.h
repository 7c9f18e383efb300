// Numbers with units, both ways: three significant digits out, `10s` and `1,128` in.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "gemmsmith/tune.h"

namespace gemmsmith::cli {

std::string format_digits(double value);       // three significant digits, no exponent: "0.123" "12.3" "1230"
std::string format_time(double time_us);       // "812 ns" "80.1 us" "3.41 ms" "1.20 s"
std::string format_seconds(double seconds);    // "0.02 s" "9.8 s" "1 m 05 s"
std::string format_bytes(double bytes);        // decimal: "512 B" "12.6 MB"
std::string format_flops(double flops);        // "8.39 MFLOP" "275 GFLOP"
std::string format_fraction(double fraction);  // "0.4%" "94%"
std::string format_margin(double margin);      // "+3.2%" "+120%" "4.1x" from double on; "-0.4%"
std::string format_error(double error);        // "3e-03", "0"
std::string format_interval(const Timing&);    // "3.41 ms (3.39 to 3.44 ms, 25 samples)"
std::string plural(int64_t count, std::string_view noun);  // "1 problem" "3 problems"

// "1x4096x1024 bf16": the extents and types of a problem whose layout goes without saying. `2x8x8x8 f32*bf16->f32`.
std::string shape_label(const GemmProblem&);

// `option` is where errors say that they are: "--budget".
Result<double> parse_duration(std::string_view option, std::string_view text);  // seconds, more than 0
Result<int64_t> parse_bytes(std::string_view option, std::string_view text);    // "512MB", "2GiB": at least 1
Result<std::vector<int64_t>> parse_counts(std::string_view option, std::string_view text);  // "1,128": each at least 1

}  // namespace gemmsmith::cli
