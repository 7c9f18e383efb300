// Runs a program of a toolkit to its end.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

struct ProgramOutput {
  int exit_code = 0;  // 128 + signal, if one ended it
  std::string text;   // standard output and error together
};
// `program` is a path. Ctrl-C in the terminal does not reach it: what was begun is finished. Errors: it cannot be started.
Result<ProgramOutput> run_program(const std::string& program, const std::vector<std::string>& arguments);

// A folder that is removed with its files when destroyed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&&) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace gemmsmith
