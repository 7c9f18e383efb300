// What `explain` prints: a whole report as text.
#pragma once
#include <string>

#include "gemmsmith/tune.h"
#include "output/text.h"

namespace gemmsmith::cli {

// `candidates`: how many of them are listed, best first; 0 lists all.
std::string explain_text(const TuneReport&, size_t candidates, const Style&);

}  // namespace gemmsmith::cli
