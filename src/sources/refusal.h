// Errors as reasons of refusals.
#pragma once
#include <string>

#include "gemmsmith/result.h"

namespace gemmsmith {

// A reason is one line: an error's notes follow after semicolons.
inline std::string one_line(const Error& error) {
  std::string line;
  for (const char c : error.text()) {
    if (c == '\n')
      line += ';';
    else if (c != ' ' || line.empty() || line.back() != ' ')
      line += c;
  }
  return line;
}

}  // namespace gemmsmith
