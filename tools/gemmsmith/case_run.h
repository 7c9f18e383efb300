// What `check` and `bench` share: one runner over case files.
#pragma once
#include <string>
#include <vector>

#include "command.h"
#include "output/case_table.h"

namespace gemmsmith::cli {

struct CaseFlags {
  std::vector<std::string> files;
  DeviceFlags device;
  int configs = 1;
  uint64_t seed = 1;
  size_t sample = 0;             // how many cases of each file, at random; 0: all
  std::string budget = "500ms";  // of measuring, for each problem
  bool json = false;
};
void add_case_flags(CLI::App*, CaseFlags&);

// Runs all files, with progress on standard error, where failures are printed as they come. An error is one of usage.
Result<std::vector<FileResults>> run_files(const CaseFlags&, const Device&, bool time);
// Counts, and each result with file, line, problem, source, config, outcome, reason, accuracy and timing.
std::string case_json(const std::vector<FileResults>&, const Device&);
// kFailed if something failed, kInterrupted after Ctrl-C.
int case_exit_code(const std::vector<FileResults>&);

}  // namespace gemmsmith::cli
