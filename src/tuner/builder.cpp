#include "tuner/builder.h"

#include <algorithm>
#include <utility>

namespace gemmsmith {

Builder::Builder(const GemmProblem& problem, const DeviceFacts& device, int threads)
    : problem_(problem), device_(device) {
  for (int i = 0; i < std::max(threads, 1); ++i) workers_.emplace_back([this](std::stop_token token) { work(token); });
}

Builder::~Builder() {
  for (std::jthread& worker : workers_) worker.request_stop();
}

void Builder::start(std::vector<BuildJob> jobs, std::function<bool()> stop) {
  {
    const std::lock_guard lock(mutex_);
    GS_ASSERT(finished_ == jobs_.size() && results_.empty(), "the last wave has to be taken before the next begins");
    jobs_ = std::move(jobs);
    stop_ = std::move(stop);
    results_.resize(jobs_.size());
    next_ = finished_ = 0;
  }
  changed_.notify_all();
}

std::vector<BuildResult> Builder::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_ == jobs_.size(); });
  return std::exchange(results_, {});
}

void Builder::work(std::stop_token token) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, token, [this] { return next_ < jobs_.size(); }) && !token.stop_requested()) {
    const size_t index = next_++;
    lock.unlock();
    BuildResult result = build(jobs_[index], stop_);  // neither changes before this job is finished
    lock.lock();
    results_[index] = std::move(result);
    ++finished_;
    changed_.notify_all();
  }
}

BuildResult Builder::build(const BuildJob& job, const std::function<bool()>& stop) const {
  BuildResult result;
  result.id = job.id;
  if (stop()) {
    result.skipped = true;
    return result;
  }
  auto kernel = job.source->build(problem_, device_, job.candidate);
  if (kernel.ok())
    result.kernel = std::move(kernel).value();
  else
    result.error = std::move(kernel).error();
  return result;
}

}  // namespace gemmsmith
