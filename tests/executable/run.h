// Runs the built executable and gives what it printed.
#pragma once
#include <string>
#include <vector>

namespace gemmsmith {

struct Ran {
  int code = -1;  // exit code; -signal if a signal ended it
  std::string out, err;
};

// With `interrupt_at`, SIGINT is sent once standard error contains that text.
Ran run_gemmsmith(const std::vector<std::string>& arguments, const std::string& interrupt_at = {});

}  // namespace gemmsmith
