// What `explain` prints: a whole report as text.
#pragma once
#include <string>

#include "gemmsmith/tune.h"
#include "output/text.h"

namespace gemmsmith::cli {

// `candidates`: how many of them are listed, best first; 0 lists all.
// What a report was measured with, a line each: copies of operands, memory, worker, load of the machine.
std::string surroundings(const TuneReport&);
std::string explain_text(const TuneReport&, size_t candidates, const Style&);

}  // namespace gemmsmith::cli
