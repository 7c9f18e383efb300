// A decision as one line of JSON: the form that stores are exported in, reviewed in and imported from.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tuner/store_rows.h"

namespace gemmsmith {

constexpr int64_t kLinesVersion = 1;

// The first line of an export, without the newline.
std::string print_lines_header();

// Keys in the order of TuneReport, the stamp last, no blanks, numbers as short as they read back: equal decisions have
// equal lines. Where a report was read from is no part of it. -0 is 0, which SQLite does not tell apart.
std::string print_line(const TuneReport&, std::string_view stamp);

// What identifies a decision: equal lines, equal hashes. 32 hex digits.
std::string hash_of_line(std::string_view line);

// The inverse, with everything that check_decision asks. Nothing for a blank line and for a header of a version that is
// known. A line without a stamp has that of its measured_at. Errors name the place within the line.
Result<std::optional<Decision>> parse_line(std::string_view line);

// What must hold of a decision that came from elsewhere before it may choose kernels here: above all that its winner was
// timed and has passed the numeric gate. `where` of the error names the member: "report.winner".
Status check_decision(const Decision&);

}  // namespace gemmsmith
