#include "output/units.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "output/text.h"

namespace gemmsmith::cli {
namespace {

std::string print(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// A count of whole things with the decimal prefix that leaves one to three digits before the point.
std::string with_prefix(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  for (; value >= 999.5 && prefix < 4; ++prefix) value /= 1e3;
  return (prefix == 0 ? print("%.0f", value) : format_digits(value)) + " " + prefixes[prefix] + unit;
}

}  // namespace

std::string format_digits(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::fabs(value);
  // The limits are those of rounding: 9.995 prints as 10.0, not as 9.99 or 10.00.
  if (magnitude >= 99.95) return print("%.0f", value);
  if (magnitude >= 9.995) return print("%.1f", value);
  return print(magnitude >= 0.9995 || magnitude == 0 ? "%.2f" : "%.3f", value);
}

std::string format_time(double time_us) {
  if (time_us < 0.9995) return format_digits(time_us * 1e3) + " ns";
  if (time_us < 999.5) return format_digits(time_us) + " us";
  if (time_us < 999.5e3) return format_digits(time_us / 1e3) + " ms";
  return format_digits(time_us / 1e6) + " s";
}

std::string format_seconds(double seconds) {
  if (seconds < 9.95) return print(seconds < 0.995 ? "%.2f s" : "%.1f s", seconds);
  if (seconds < 59.5) return print("%.0f s", seconds);
  const int64_t whole = std::llround(seconds);
  char text[64];
  std::snprintf(text, sizeof text, "%lld m %02lld s", static_cast<long long>(whole / 60),
                static_cast<long long>(whole % 60));
  return text;
}

std::string format_bytes(double bytes) { return with_prefix(bytes, "B"); }
std::string format_flops(double flops) { return with_prefix(flops, "FLOP"); }

std::string format_fraction(double fraction) {
  const double percent = fraction * 100;
  return print(percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
}

std::string format_margin(double margin) {
  if (margin >= 1) return format_digits(1 + margin) + "x";
  const double percent = margin * 100;
  return print(std::fabs(percent) < 9.95 ? "%+.1f%%" : "%+.0f%%", percent);
}

std::string format_error(double error) { return error == 0 ? "0" : print("%.0e", error); }

std::string format_interval(const Timing& timing) {
  return format_time(timing.median_us) + " (" + format_time(timing.low_us) + " to " + format_time(timing.high_us) +
         ", " + plural(timing.samples, "sample") + ")";
}

std::string plural(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string shape_label(const GemmProblem& problem) {
  std::string text;
  if (problem.batch != 1) text += std::to_string(problem.batch) + "x";
  text += std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k) + " ";
  const std::string a(name_of(problem.a.type)), b(name_of(problem.b.type)), d(name_of(problem.d.type));
  if (a != b) text += a + "*" + b;
  if (a == b) text += a;
  if (a != b || b != d) text += "->" + d;
  return text;
}

Result<double> parse_duration(std::string_view option, std::string_view text) {
  const Error error{std::string(option), std::string(text), "is not a duration", "try 500ms, 10s, 2m", {}};
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || !std::isfinite(number)) return error;
  const std::string_view unit(end, size_t(text.data() + text.size() - end));
  const double seconds = unit == "ms" ? 1e-3 : unit == "s" ? 1 : unit == "m" ? 60 : 0;
  if (seconds == 0) return error;
  if (!(number > 0)) return Error{std::string(option), std::string(text), "is not more than no time", error.remedy, {}};
  return number * seconds;
}

Result<int64_t> parse_bytes(std::string_view option, std::string_view text) {
  const Error error{std::string(option), std::string(text), "is not a size", "try 512MB, 2GB, 2GiB", {}};
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || !std::isfinite(number)) return error;
  const std::string_view unit(end, size_t(text.data() + text.size() - end));
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1},         {"kB", 1e3},   {"MB", 1e6},
      {"GB", 1e9},      {"KiB", 1024}, {"MiB", 1048576},
      {"GiB", 1 << 30}, {"TB", 1e12},  {"TiB", 1024.0 * (1 << 30)}};
  for (const auto& [name, bytes] : kUnits)
    if (unit == name && number * bytes >= 1 && number * bytes < 9e18) return int64_t(number * bytes);
  return error;
}

Result<std::vector<int64_t>> parse_counts(std::string_view option, std::string_view text) {
  std::vector<int64_t> counts;
  for (const std::string& part : split(text, ',')) {
    int64_t count = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (code != std::errc() || end != part.data() + part.size() || count < 1)
      return Error{std::string(option),
                   part,
                   "is not a whole number of at least 1",
                   "try " + std::string(option) + " 1,128",
                   {}};
    counts.push_back(count);
  }
  if (counts.empty())
    return Error{std::string(option), "an empty list", "names no number", "try " + std::string(option) + " 1,128", {}};
  return counts;
}

}  // namespace gemmsmith::cli
