// What `gemmsmith layout` does to a layout: operations in the order in which they are given.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/layout_text.h"

namespace gemmsmith::cli {

struct LayoutStep {
  const char* flag;      // "--compose"
  const char* argument;  // "LAYOUT", or "" if it takes none
  const char* help;
  Result<SymbolicLayout> (*run)(const SymbolicLayout&, const std::string& argument);
};
const std::vector<LayoutStep>& layout_steps();

struct ChosenStep {
  const LayoutStep* step;
  std::string argument;
};
// The layout of `text` after all steps. Errors name the flag they came from.
Result<SymbolicLayout> apply_steps(const std::string& text, const std::vector<ChosenStep>&);

// "((2,4),8):((1,2),16)" with its size and cosize on a second line.
std::string layout_summary(const SymbolicLayout&);

}  // namespace gemmsmith::cli
