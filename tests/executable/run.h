// Runs the built executable and gives what it printed.
#pragma once
#include <csignal>
#include <string>
#include <vector>

namespace gemmsmith {

struct Ran {
  int code = -1;  // exit code; -signal if a signal ended it
  std::string out, err;
};

// With `interrupt_at`, a signal is sent once standard error contains that text so many times.
Ran run_gemmsmith(const std::vector<std::string>& arguments, const std::string& interrupt_at = {}, int signal = SIGINT,
                  int times = 1);

}  // namespace gemmsmith
