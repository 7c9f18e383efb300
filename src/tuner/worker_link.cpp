#include "tuner/worker_link.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "support/shared_memory.h"
#include "support/text.h"
#include "tuner/frame_socket.h"
#include "tuner/worker_status.h"

namespace gemmsmith {
namespace {

constexpr size_t kKeptOutput = 400;  // bytes of what a worker printed
constexpr int kGraceMs = 500;        // for a worker whose connection is closed to end by itself

std::string hex(uint64_t value) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789abcdef"[value % 16]);
  while ((value /= 16) > 0);
  return "0x" + digits;
}

// The place of a touch in words: relative to the operand that is nearest.
std::string place(int64_t offset, const std::vector<SharedRegion>& regions) {
  const SharedRegion* nearest = nullptr;
  int64_t best = 0;
  for (const SharedRegion& region : regions) {
    const int64_t distance = offset < region.data                  ? region.data - offset
                             : offset >= region.data + region.size ? offset - region.data - region.size + 1
                                                                   : 0;
    if (nearest && distance >= best) continue;
    nearest = &region;
    best = distance;
  }
  if (!nearest) return concat("byte ", offset, " of the operands");
  if (best == 0) return concat("byte ", offset - nearest->data, " of ", nearest->name, ", which is not its to write");
  return offset < nearest->data ? concat(best, " bytes before the start of ", nearest->name)
                                : concat(best, " bytes past the end of ", nearest->name);
}

class SpawnedWorker final : public WorkerLink {
 public:
  SpawnedWorker(ChildProcess child, FrameSocket socket, FileDescriptor output, SharedMemory status, const Clock& clock)
      : child_(std::move(child)),
        socket_(std::move(socket)),
        output_(std::move(output)),
        status_(std::move(status)),
        clock_(clock) {}

  Status send(const Frame& frame, int file) override { return socket_.send(frame, file); }

  Received receive(double deadline_seconds) override {
    for (;;) {
      auto frame = socket_.next();
      if (!frame.ok()) {
        garbage_ = true;
        return {std::nullopt, true};
      }
      if (*frame) return {std::move(*frame), false};
      if (over_) return {std::nullopt, true};
      const double left_ms = std::ceil((deadline_seconds - clock_.seconds()) * 1e3);
      std::array<pollfd, 2> ends = {pollfd{socket_.number(), POLLIN, 0}, pollfd{output_.number(), POLLIN, 0}};
      const int ready = ::poll(ends.data(), ends.size(), int(std::clamp(left_ms, 0.0, 1e6)));
      if (ready < 0 && errno != EINTR) return {std::nullopt, true};
      if (ready == 0 && left_ms <= 0) return {};
      if (ready > 0 && ends[1].revents != 0) keep_output();
      if (ready > 0 && ends[0].revents != 0 && !socket_.read().ok())
        over_ = true;  // frames that came before still count
    }
  }

  WorkerDeath end(WorkerDeath::Cause cause) override {
    WorkerDeath death;
    bool closed_only = false;
    if (over_ && !garbage_) {
      for (int waited = 0; !child_.ended() && waited < kGraceMs; ++waited) ::poll(nullptr, 0, 1);
      closed_only = !child_.ended().has_value();
    }
    death.cause = garbage_ || closed_only ? WorkerDeath::Cause::garbage : over_ ? WorkerDeath::Cause::ended : cause;
    death.end = child_.end();
    keep_output();
    death.said = std::string(trim(said_));
    read_status(death);
    over_ = true;
    return death;
  }

  double cpu_seconds() const override { return child_.cpu_seconds(); }

 private:
  void keep_output() {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t count = output_.open() ? ::read(output_.number(), buffer.data(), buffer.size()) : 0;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;  // nothing for now
      if (count == 0) return output_.close();
      said_.append(buffer.data(), size_t(count));
      if (said_.size() > kKeptOutput) said_.erase(0, said_.size() - kKeptOutput);
    }
  }

  void read_status(WorkerDeath& death) const {
    const auto& status = *reinterpret_cast<const WorkerStatus*>(status_.data());
    death.no_memory = status.no_memory.load() != 0;
    death.signal = status.signal.load();
    const int slot = status.slot.load();
    if (death.signal != 0 && slot >= 0 && slot < WorkerStatus::kSlots && status.at[slot].load() != 0) {
      death.at.push_back(status.at[slot].load());
    } else {
      for (const auto& at : status.at)
        if (at.load() != 0) death.at.push_back(at.load());
    }
    if (death.signal != SIGSEGV && death.signal != SIGBUS) return;
    death.address = status.address.load();
    death.writing = status.writing.load();
    if (status.operands.load() != 0) death.offset = int64_t(*death.address) - int64_t(status.operands.load());
  }

  ChildProcess child_;
  FrameSocket socket_;
  FileDescriptor output_;
  SharedMemory status_;
  const Clock& clock_;
  std::string said_;
  bool over_ = false, garbage_ = false;
};

class Launcher final : public WorkerLauncher {
 public:
  Launcher(std::string program, const Clock& clock) : program_(std::move(program)), clock_(clock) {}

  Result<std::unique_ptr<WorkerLink>> launch() override {
    GS_TRY(SharedMemory status, SharedMemory::create(sizeof(WorkerStatus)));
    GS_TRY(auto ends, FrameSocket::pair());
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
      return Error{"worker", "a pipe for what it prints", concat("cannot be made: ", std::strerror(errno)), {}, {}};
    FileDescriptor output(pipe[0]);
    const FileDescriptor its_output(pipe[1]);
    ::fcntl(its_output.number(), F_SETFL, 0);  // the worker waits where a terminal would have it wait
    GS_TRY(ChildProcess child, ChildProcess::spawn({.program = program_,
                                                    .arguments = {kWorkerArgument},
                                                    .passed = {ends.second.number(), status.file()},
                                                    .output = its_output.number()}));
    return std::unique_ptr<WorkerLink>(std::make_unique<SpawnedWorker>(std::move(child), std::move(ends.first),
                                                                       std::move(output), std::move(status), clock_));
  }
  std::string name() const override { return program_.substr(program_.rfind('/') + 1); }

 private:
  std::string program_;
  const Clock& clock_;
};

}  // namespace

bool WorkerDeath::conclusive(const std::vector<SharedRegion>& regions) const {
  if (cause == Cause::hung) return true;
  if (cause != Cause::ended) return false;
  if (end.signal == SIGILL || end.signal == 0) return true;
  if (!offset || regions.empty()) return false;
  return *offset >= 0 && *offset < regions.back().offset + regions.back().bytes + kSharedGuardBytes;
}

std::string WorkerDeath::text(const std::vector<SharedRegion>& regions) const {
  std::string text;
  switch (cause) {
    case Cause::hung:
      text = "no answer for " + print_duration(waited_seconds);
      break;
    case Cause::garbage:
      text = "its worker's connection was closed or written over";
      break;
    case Cause::device_lost:
      text = "the device was lost: " + error;
      break;
    case Cause::ended:
      text = no_memory ? "memory exhausted, then " + end.text() : end.text();
      if (end.signal == SIGKILL) text += ", as the system does to who takes too much memory";
      if (!address) break;
      text += writing == 1 ? ": writes " : writing == 0 ? ": reads " : ": touches ";
      text += conclusive(regions) && offset ? place(*offset, regions) : "address " + hex(*address);
      break;
  }
  if (!said.empty()) {
    std::string line = said;
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += "; it printed: " + line;
  }
  return text;
}

std::unique_ptr<WorkerLauncher> make_launcher(std::string program, const Clock& clock) {
  return std::make_unique<Launcher>(std::move(program), clock);
}

}  // namespace gemmsmith
