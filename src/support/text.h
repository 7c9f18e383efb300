// Text in and out: numbers that do not depend on the locale, lists, names that are nearly right, durations.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

// The shortest text that reads back as the same double: "0.1", "3", "1e+30", "inf", "nan" (any of them).
std::string format_number(double);
std::string format_fixed(double value, int decimals);
std::string format_integer(std::integral auto value) {
  char digits[24];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
// Digits in groups of three: "12 582 912".
std::string format_grouped(int64_t);

// Text that somebody else wrote, as it may stand in a message: control characters and bytes that are no UTF-8 become \n,
// \x1b ..., and of what is longer than `most` bytes there is its beginning and its length: "128x4096... (70000 bytes)".
std::string shown(std::string_view, size_t most = 120);
std::string in_quotes(std::string_view);  // the same between quotation marks

// The whole text as a number, or nothing. No spaces, no leading '+'; `nan` and `inf` are numbers, 1e999 is none.
std::optional<double> parse_number(std::string_view);
std::optional<int64_t> parse_integer(std::string_view);

// Joins texts, characters, integers and doubles (by format_number).
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  const auto append = [&text](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, char>)
      text += part;
    else if constexpr (std::is_same_v<Part, bool>)
      text += part ? "true" : "false";
    else if constexpr (std::is_integral_v<Part>)
      text += format_integer(part);
    else if constexpr (std::is_floating_point_v<Part>)
      text += format_number(double(part));
    else
      text += std::string_view(part);
  };
  (append(parts), ...);
  return text;
}

std::string_view trim(std::string_view);                                // of spaces, tabs, CR and LF
std::vector<std::string_view> split(std::string_view, char separator);  // keeps empty parts; "" is one empty part
std::vector<std::string_view> split_words(std::string_view);            // at white space; no empty parts
std::string lower_case(std::string_view);                               // ASCII only
bool is_name(std::string_view);                                         // [A-Za-z_][A-Za-z0-9_]*
bool is_name_character(char, bool first);                               // of such a name

template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    first = false;
    text += std::string_view(part);
  }
  return text;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other, case ignored.
// Optimal string alignment: Damerau (1964), Wagner and Fischer (1974).
int edit_distance(std::string_view, std::string_view);
// The nearest of the known names, which `name` is probably meant to be; none if nothing is near.
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> known);
// The remedy for an unknown name: "did you mean gelu?" or, if nothing is near, "known: a, b, c".
std::string suggest(std::string_view name, std::span<const std::string> known);

// "500ms", "10s", "2m", "1.5h", "20us" in seconds. `where` begins the error: "--budget".
Result<double> parse_duration(std::string_view text, std::string_view where);

// Three significant digits with a unit that fits: "12.3 us", "4.56 ms", "10.0 s".
std::string print_duration(double seconds);
std::string print_rate(double per_second, std::string_view unit);  // "812 GFLOP/s", "1.24 TFLOP/s" for unit "FLOP/s"
std::string print_bytes(double bytes);                             // "12.6 MB": decimal units

}  // namespace gemmsmith
