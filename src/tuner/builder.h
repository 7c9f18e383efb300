// Builds kernels a wave at a time.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sources/source.h"

namespace gemmsmith {

struct BuildJob {
  size_t id = 0;  // the caller's
  Source* source = nullptr;
  Candidate candidate;
};

struct BuildResult {
  size_t id = 0;
  std::unique_ptr<Kernel> kernel;
  std::optional<Error> error;
  bool skipped = false;  // `stop` said so before it was begun
};

// Builds kernels while whoever asked for them does something else.
class WaveBuilder {
 public:
  virtual ~WaveBuilder() = default;
  // Begins a wave; only after the last one was taken. A job is skipped once `stop` says so (asked by several threads at
  // once): a compiler cannot be interrupted, so a wave ends at the latest when each thread has finished the kernel that
  // it is at.
  virtual void start(std::vector<BuildJob> jobs, std::function<bool()> stop) = 0;
  // Waits for the end of the wave; no build runs after it. Results are in the order of the jobs, whatever order they
  // ended in.
  virtual std::vector<BuildResult> take() = 0;
};

// In this process. The threads live as long as the builder: compilers keep contexts that are costly to make in thread-local memory.
class Builder final : public WaveBuilder {
 public:
  // Problem and device have to outlive the builder.
  Builder(const GemmProblem& problem, const DeviceFacts& device, int threads);
  ~Builder() override;  // waits for the kernels that are being built; what was not begun is not

  void start(std::vector<BuildJob> jobs, std::function<bool()> stop) override;
  std::vector<BuildResult> take() override;

 private:
  void work(std::stop_token);
  BuildResult build(const BuildJob&, const std::function<bool()>& stop) const;

  const GemmProblem& problem_;
  const DeviceFacts& device_;
  std::mutex mutex_;  // of everything below but workers_
  std::condition_variable_any changed_;
  std::vector<BuildJob> jobs_;
  std::vector<BuildResult> results_;
  std::function<bool()> stop_;
  size_t next_ = 0, finished_ = 0;
  std::vector<std::jthread> workers_;  // last: they end before what they use
};

}  // namespace gemmsmith
