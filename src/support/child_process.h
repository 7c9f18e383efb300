// A program run as a child of this process, watched and reaped.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

// An open file, closed when destroyed; move-only.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

// How a process ended.
struct ProcessEnd {
  int code = 0;              // exit code, if no signal ended it
  int signal = 0;            // that ended it, or 0
  bool known = true;         // false: this program's own SIGCHLD handling took the status away
  int64_t peak_bytes = 0;    // largest resident memory that it had
  std::string text() const;  // "exited with 3", "killed by SIGSEGV"
};
std::string name_of_signal(int signal);  // "SIGSEGV"; "signal 64" for one without a name

// Started by posix_spawn, never by fork alone: what other threads of this process hold locked must not matter. The child
// leads a process group of its own, so that a terminal's Ctrl-C does not reach it, and everything that it starts ends
// with it. Destroying kills and reaps: no zombie stays.
class ChildProcess {
 public:
  struct Options {
    std::string program;                 // a path
    std::vector<std::string> arguments;  // without the program's name
    std::vector<int> passed;             // files that the child has as 3, 4, ... in this order; it inherits no others
    int output = -1;                     // its standard output and error; -1: nowhere. Its standard input is empty
  };
  // Errors: the program cannot be started, with what the system said.
  static Result<ChildProcess> spawn(const Options&);

  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ~ChildProcess();

  pid_t id() const { return id_; }
  // How it ended, if it has.
  std::optional<ProcessEnd> ended();
  // Kills it and its group if it has not ended, waits, and tells how it ended.
  ProcessEnd end();
  double cpu_seconds() const;  // of all its threads so far; 0 once it has ended

 private:
  explicit ChildProcess(pid_t id) : id_(id) {}
  std::optional<ProcessEnd> wait(int flags);
  pid_t id_ = -1;
  std::optional<ProcessEnd> end_;
};

}  // namespace gemmsmith
