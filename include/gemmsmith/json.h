// Reports and facts as JSON: what `--json` prints and what other programs read. Keys are the members' names; problems
// are in their text form. Numbers that JSON does not have are the strings "nan", "inf" and "-inf".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

// Indented by two spaces; `indent` < 0: on one line. Text that is not UTF-8 has its bad bytes replaced by U+FFFD.
std::string to_json(const TuneReport&, int indent = 2);
std::string to_json(const std::vector<TuneReport>&, int indent = 2);    // an array
std::string to_json(const DeviceFacts&, int indent = 2);                // with the fingerprint
std::string to_json(const std::vector<SourceReport>&, int indent = 2);  // an array

// The inverse of to_json. Errors name the place: "report.candidates[3].state: \"winner\" is not a candidate's state;
// known: ...". Keys that are not known are passed over, so that reports of later versions can be read.
Result<TuneReport> report_from_json(std::string_view text);

}  // namespace gemmsmith
