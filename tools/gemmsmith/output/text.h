// Text for terminals: widths, padding, splitting, names that are near a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gemmsmith::cli {

constexpr size_t kUnlimited = size_t(-1);

// How a stream is written to. Nothing else decides about escapes and glyphs.
struct Style {
  size_t width = 120;    // columns that a line may take
  bool colour = false;   // ANSI escapes are welcome
  bool unicode = false;  // the locale shows UTF-8
};

// Columns that UTF-8 text takes, one for each code point: what this tool prints has no wide or combining ones.
size_t display_width(std::string_view text);
// The text itself if it fits, else its beginning and an ellipsis.
std::string fit(std::string_view text, size_t width, bool unicode);
std::string pad_right(std::string text, size_t width);
std::string pad_left(std::string text, size_t width);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Parts between separators, without blanks around them; empty parts are left out.
std::vector<std::string> split(std::string_view text, char separator);

// Up to three of `known` within an edit distance (Levenshtein) of a third of their length, nearest first.
std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known);

enum class Tint { none, bold, dim, green, red, yellow };
std::string tinted(std::string text, Tint, bool colour);

}  // namespace gemmsmith::cli
