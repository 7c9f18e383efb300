#include "helpers/killed.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>

extern char** environ;

namespace gemmsmith {
namespace {

class Process {
 public:
  Process(Words words, int lines_left) : lines_left_(lines_left) {
    std::array<int, 2> out{};
    if (pipe2(out.data(), O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    out_ = out[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (out_ >= 0) close(out_);
  }

  int out() const { return out_; }
  const std::string& text() const { return text_; }
  // True while it is alive and may go on. Lines that it wrote before it was killed are still read.
  bool read_some() {
    std::array<char, 4096> buffer{};
    const ssize_t got = read(out_, buffer.data(), buffer.size());
    if (got <= 0) return false;
    text_.append(buffer.data(), size_t(got));
    for (ssize_t i = 0; i < got; ++i) lines_left_ -= buffer[size_t(i)] == '\n';
    if (lines_left_ <= 0) kill_it();
    return true;
  }
  void kill_it() {
    if (pid_ > 0 && !killed_) kill(pid_, SIGKILL);
    killed_ = true;
  }
  bool killed() const { return killed_; }
  bool due() const { return lines_left_ <= 0; }
  int wait() {
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1, lines_left_;
  bool killed_ = false;
  std::string text_;
};

void keep_whole_lines(const std::string& text, std::vector<std::string>& lines) {
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    lines.push_back(text.substr(begin, end - begin));
}

}  // namespace

std::vector<std::string> run_and_kill(const std::function<Words(int)>& command, int at_once, int kills, int most_lines,
                                      Random& random) {
  std::vector<std::string> lines;
  std::vector<std::unique_ptr<Process>> running;
  int started = 0;
  const auto start = [&] {
    running.push_back(std::make_unique<Process>(command(started++), int(random.below(uint64_t(most_lines)))));
    if (running.back()->due()) running.back()->kill_it();
  };
  while (started < at_once) start();
  while (!running.empty()) {
    std::vector<pollfd> streams;
    for (const auto& process : running) streams.push_back({process->out(), POLLIN, 0});
    poll(streams.data(), streams.size(), -1);
    for (size_t i = streams.size(); i-- > 0;) {
      if (streams[i].revents == 0 || running[i]->read_some()) continue;
      running[i]->wait();
      keep_whole_lines(running[i]->text(), lines);
      running.erase(running.begin() + ptrdiff_t(i));
      if (started < kills) start();
    }
  }
  return lines;
}

Finished run_to_end(Words command) {
  Process process(std::move(command), 1 << 30);
  while (process.read_some()) {
  }
  Finished finished;
  finished.out = process.text();
  finished.code = process.wait();
  return finished;
}

}  // namespace gemmsmith
