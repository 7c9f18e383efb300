// What standard output and standard error are connected to. The only file of the tool that reads the environment.
#pragma once
#include "output/text.h"

namespace gemmsmith::cli {

struct Terminal {
  bool live = false;  // the stream is a terminal
  Style style;
};

// Colour on a terminal unless NO_COLOR is set and not empty or TERM is "dumb"; UTF-8 if the locale says so; the
// terminal's width, else $COLUMNS, else 120.
Terminal standard_output();
Terminal standard_error();

// Seconds of a steady clock.
double now_seconds();

}  // namespace gemmsmith::cli
