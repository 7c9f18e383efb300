#include "support/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "support/text.h"

extern char** environ;

namespace gemmsmith {
namespace {

// Files of the child while others are put in their places: above every place that is asked for.
constexpr int kFirstPassed = 3, kHighest = 200;

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  // The child's signals are those of a program that was just started, whatever this one blocks or ignores.
  void reset_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  void pass_files(const ChildProcess::Options& options, int nowhere) {
    posix_spawn_file_actions_adddup2(&actions, nowhere, STDIN_FILENO);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_adddup2(&actions, options.output >= 0 ? options.output : nowhere, stream);
    for (size_t i = 0; i < options.passed.size(); ++i)
      posix_spawn_file_actions_adddup2(&actions, options.passed[i], kFirstPassed + int(i));
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, kFirstPassed + int(options.passed.size()));
#endif
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// A file moved out of the way of the numbers that children get theirs at.
Result<FileDescriptor> moved_up(int number) {
  const int moved = ::fcntl(number, F_DUPFD_CLOEXEC, kHighest);
  if (moved < 0) return Error{"process", "a file for it", concat("cannot be copied: ", std::strerror(errno)), {}, {}};
  return FileDescriptor(moved);
}

}  // namespace

FileDescriptor::~FileDescriptor() { close(); }
void FileDescriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? concat("SIG", name) : concat("signal ", signal);
}

std::string ProcessEnd::text() const {
  if (!known) return "ended, and this program's SIGCHLD settings hide how";
  return signal != 0 ? "killed by " + name_of_signal(signal) : concat("exited with ", code);
}

Result<ChildProcess> ChildProcess::spawn(const Options& options) {
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  GS_TRY(const FileDescriptor nowhere, moved_up(null.number()));
  std::vector<FileDescriptor> files;
  Options moved = options;
  for (int& number : moved.passed) {
    GS_TRY(FileDescriptor file, moved_up(number));
    number = file.number();
    files.push_back(std::move(file));
  }
  if (options.output >= 0) {
    GS_TRY(FileDescriptor file, moved_up(options.output));
    moved.output = file.number();
    files.push_back(std::move(file));
  }
  SpawnSettings settings;
  settings.reset_signals();
  settings.pass_files(moved, nowhere.number());
  std::vector<std::string> words = {options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t id = -1;
  const int failed =
      posix_spawn(&id, options.program.c_str(), &settings.actions, &settings.attributes, pointers.data(), environ);
  if (failed != 0)
    return Error{"process", options.program, concat("cannot be started: ", std::strerror(failed)), {}, {}};
  return ChildProcess(id);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)), end_(std::exchange(other.end_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(end_, other.end_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (id_ > 0) end();
}

std::optional<ProcessEnd> ChildProcess::wait(int flags) {
  int status = 0;
  rusage usage{};
  pid_t got = -1;
  do got = ::wait4(id_, &status, flags, &usage);
  while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  ProcessEnd end;
  end.known = got == id_;
  end.code = end.known && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = end.known && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.peak_bytes = int64_t(usage.ru_maxrss) * 1024;
  return end;
}

std::optional<ProcessEnd> ChildProcess::ended() {
  if (!end_ && id_ > 0) {
    end_ = wait(WNOHANG);
    if (end_) ::kill(-id_, SIGKILL);  // what it has started
  }
  return end_;
}

ProcessEnd ChildProcess::end() {
  if (!ended()) {
    ::kill(-id_, SIGKILL);
    ::kill(id_, SIGKILL);  // if it has left its group
    end_ = wait(0);
  }
  return *end_;
}

double ChildProcess::cpu_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (end_ || id_ <= 0 || clock_getcpuclockid(id_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

}  // namespace gemmsmith
