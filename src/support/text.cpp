#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace gemmsmith {

std::string format_number(double value) {
  if (std::isnan(value)) return "nan";
  char digits[40];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

std::string format_fixed(double value, int decimals) {
  char digits[400];  // the largest double has 309 digits before the point
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, std::clamp(decimals, 0, 60));
  return std::string(digits, end.ptr);
}

std::string format_grouped(int64_t value) {
  std::string digits = format_integer(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = int(digits.size()) - 3; at > first; at -= 3) digits.insert(size_t(at), 1, ' ');
  return digits;
}

namespace {
// Bytes of the character of UTF-8 that the text begins with; 0 if it begins with none, or with an overlong one.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& text, uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      text += concat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
  }
}
}  // namespace

std::string shown(std::string_view text, size_t most) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = utf8_length(text.substr(at));
    if (at + std::max<size_t>(length, 1) > most) return result + concat("... (", text.size(), " bytes)");
    const auto first = uint8_t(text[at]);
    // U+0080 to U+009F are control characters too: terminals may take U+009B for the beginning of a sequence.
    const bool control =
        length == 0 || first < 0x20 || first == 0x7f || (first == 0xc2 && uint8_t(text[at + 1]) < 0xa0);
    if (control)
      for (size_t i = 0; i < std::max<size_t>(length, 1); ++i) append_escaped(result, uint8_t(text[at + i]));
    else
      result += text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return result;
}

std::string in_quotes(std::string_view text) { return concat('"', shown(text), '"'); }

namespace {
template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }
bool is_letter(char c) { return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

std::optional<double> parse_number(std::string_view text) { return parse_whole<double>(text); }
std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

bool is_name_character(char c, bool first) { return is_letter(c) || (!first && is_digit(c)); }

bool is_name(std::string_view text) {
  return !text.empty() && is_name_character(text.front(), true) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_name_character(c, false); });
}

int edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> cost((a.size() + 1) * width);
  const auto at = [&](size_t i, size_t j) -> int& { return cost[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = int(i);
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = int(j);
  const auto same = [&](size_t i, size_t j) { return to_lower(a[i - 1]) == to_lower(b[j - 1]); };
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // nobody mistypes a longer name, and hostile input must not cost its square
  if (name.empty() || name.size() > kLongest) return {};
  int nearest = std::min(1 + int(name.size()) / 4, int(name.size()) - 1);  // one that shares no letter is not near
  std::vector<std::string> names;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(name, candidate);
    if (distance > nearest) continue;
    if (distance < nearest) names.clear();
    nearest = distance;
    names.push_back(candidate);
  }
  return names;
}

std::string suggest(std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string> near = nearest_names(name, known);
  if (!near.empty()) return concat("did you mean ", join(near, " or "), "?");
  return known.empty() ? std::string() : concat("known: ", join(known, ", "));
}

namespace {
struct Unit {
  std::string_view name;
  double scale;
};
constexpr Unit kDurations[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
}  // namespace

Result<double> parse_duration(std::string_view text, std::string_view where) {
  const Error error{std::string(where), std::string(text), "is not a duration", "try 500ms, 10s, 2m", {}};
  const size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) return error;
  const std::optional<double> number = parse_number(text.substr(0, digits));
  if (!number) return error;
  for (const Unit& unit : kDurations)
    if (unit.name == text.substr(digits)) return *number * unit.scale;
  return error;
}

namespace {
// Three significant digits: 1.23, 12.3, 123. `step` is what the next unit is worth: 999.7 would read "1000" in its own
// unit.
std::string with_unit(double value, std::initializer_list<Unit> units) {
  const Unit* chosen = units.begin();
  for (const Unit& unit : units)
    if (std::abs(value) >= 0.9995 * unit.scale) chosen = &unit;
  const double scaled = value / chosen->scale;
  const double size = std::abs(scaled);
  const int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : 2;
  return concat(format_fixed(scaled, decimals), " ", chosen->name);
}
}  // namespace

std::string print_duration(double seconds) {
  return with_unit(seconds, {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
}

std::string print_rate(double per_second, std::string_view unit) {
  return concat(with_unit(per_second, {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}), unit);
}

std::string print_bytes(double bytes) {
  return with_unit(bytes, {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}});
}

}  // namespace gemmsmith
