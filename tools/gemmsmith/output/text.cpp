#include "output/text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gemmsmith::cli {

size_t display_width(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

std::string fit(std::string_view text, size_t width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view ellipsis = unicode ? "…" : "~";  // one column either way
  if (width == 0) return {};
  size_t bytes = 0;
  for (size_t columns = 0; bytes < text.size(); ++bytes) {
    const bool starts_code_point = (uint8_t(text[bytes]) & 0xC0) != 0x80;
    if (starts_code_point && columns++ == width - 1) break;
  }
  return std::string(text.substr(0, bytes)).append(ellipsis);
}

std::string pad_right(std::string text, size_t width) {
  const size_t taken = display_width(text);
  if (taken < width) text.append(width - taken, ' ');
  return text;
}

std::string pad_left(std::string text, size_t width) {
  const size_t taken = display_width(text);
  if (taken < width) text.insert(0, width - taken, ' ');
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    const size_t first = part.find_first_not_of(" \t");
    if (first != std::string_view::npos)
      parts.emplace_back(part.substr(first, part.find_last_not_of(" \t") - first + 1));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(given, name);
    if (distance <= std::max<size_t>(1, std::max(given.size(), name.size()) / 3)) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (ranked.size() > 3) ranked.resize(3);
  std::vector<std::string> names;
  for (auto& [distance, name] : ranked) names.push_back(std::move(name));
  return names;
}

std::string tinted(std::string text, Tint tint, bool colour) {
  if (!colour || tint == Tint::none) return text;
  const char* codes[] = {"", "1", "2", "32", "31", "33"};
  return std::string("\x1b[") + codes[int(tint)] + "m" + text + "\x1b[0m";
}

}  // namespace gemmsmith::cli
