#include "targets/cuda/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/environment.h"

extern char** environ;

namespace gemmsmith {
namespace {

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = ::read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, size_t(n));
  }
}

}  // namespace

Result<ProgramOutput> run_program(const std::string& program, const std::vector<std::string>& arguments) {
  const auto failed = [&](int code) {
    return Error{program, "the program", std::string("cannot be run: ") + std::strerror(code), {}, {}};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(errno);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int code = ::posix_spawn(&child, program.c_str(), &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  ProgramOutput output;
  if (code == 0) output.text = read_all(ends[0]);
  ::close(ends[0]);
  if (code != 0) return failed(code);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return failed(errno);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::string path = environment_variable("TMPDIR").value_or("/tmp") + "/gemmsmith-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return Error{path, "the folder", std::string("cannot be made: ") + std::strerror(errno), "set TMPDIR", {}};
  return TemporaryFolder(std::move(path));
}
TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace gemmsmith
