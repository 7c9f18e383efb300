#include "executable/run.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

extern char** environ;

namespace gemmsmith {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

Ran run_gemmsmith(const std::vector<std::string>& arguments, const std::string& interrupt_at, int signal, int times) {
  std::vector<std::string> words = {GEMMSMITH_EXECUTABLE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return {-1, "", "no pipe"};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  pid_t child = 0;
  std::vector<char*> argv = pointers(words);
  const int spawned = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  Ran ran;
  if (spawned != 0) return {-1, "", "cannot start " + words[0]};

  std::array<pollfd, 2> streams = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  bool signalled = interrupt_at.empty();
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    poll(streams.data(), streams.size(), -1);
    for (pollfd& stream : streams) {
      if (stream.fd < 0 || stream.revents == 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t got = read(stream.fd, buffer.data(), buffer.size());
      if (got > 0) {
        (stream.fd == out[0] ? ran.out : ran.err).append(buffer.data(), size_t(got));
      } else {
        close(stream.fd);
        stream.fd = -1;
      }
    }
    if (!signalled && count(ran.err, interrupt_at) >= times) {
      kill(child, signal);
      signalled = true;
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

}  // namespace gemmsmith
