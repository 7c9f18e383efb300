// Who ended a worker: worker_bench.h has the rule.
#include <algorithm>

#include "support/text.h"
#include "tuner/worker_bench.h"

namespace gemmsmith {
namespace {

constexpr size_t kMostSuspects = 8;  // that are tried in company: each costs a worker

}  // namespace

std::string WorkerBench::key(uint64_t kernel) const {
  const auto found = known_.find(kernel);
  if (found == known_.end()) return {};
  return concat(found->second.candidate.source, " ", found->second.candidate.config);
}

void WorkerBench::charge(uint64_t kernel, const std::string& how, const char* phase) {
  faults_.emplace(key(kernel), concat("while it was ", phase, ": ", how));
}

Error WorkerBench::fault_error(const Candidate& candidate) const {
  return Error{"worker", concat(candidate.source, " ", candidate.config), *fault_of(candidate), {}, {}};
}

// Ends with the seat's worker ended: what was replayed in it is suspect.
std::optional<WorkerDeath> WorkerBench::replay(Seat& seat, const std::vector<uint64_t>& kernels) {
  seat.worker.end(WorkerDeath::Cause::hung);
  if (!ready(seat, prepared_).ok()) return std::nullopt;
  const auto ask = [&](uint64_t request, double seconds) -> std::optional<WorkerDeath> {
    const Worker::Answer answer = seat.worker.wait(request, clock_.seconds() + seconds);
    if (answer.frame && answer.frame->kind != FrameKind::device_lost) return std::nullopt;
    if (!answer.frame) return end(seat, answer.over, seconds);
    WorkerDeath death = seat.worker.end(WorkerDeath::Cause::device_lost);
    death.error = parse_error(answer.frame->text).text();
    return death;
  };
  const double seconds = options_.hang_seconds + 4e-6 * problem_.flops() * 1e-3;
  for (const uint64_t kernel : kernels) {
    if (auto death = ask(ask_to_build(seat, kernel), options_.build_seconds)) return death;
    if (!prepared_) continue;
    const KernelRequest request{kernel, known_[kernel].repeats};
    for (const FrameKind kind : {FrameKind::run, FrameKind::run, FrameKind::sample, FrameKind::run})
      if (auto death = ask(seat.worker.ask(kind, print(request)), seconds)) return death;
  }
  seat.worker.end(WorkerDeath::Cause::hung);
  return std::nullopt;
}

void WorkerBench::blame(Seat& seat, const std::vector<uint64_t>& company, const WorkerDeath& death,
                        std::optional<uint64_t> running, const char* phase) {
  static const std::vector<SharedRegion> kNone;
  const std::vector<SharedRegion>& regions = shared_ ? shared_->regions() : kNone;
  std::vector<uint64_t> at;
  for (const uint64_t kernel : death.at)
    if (known_.contains(kernel)) at.push_back(kernel);
  if (at.empty() && running) at.push_back(*running);
  if (at.empty()) return;  // it ended while it had nothing to do: nobody's fault, the next call starts another
  const std::string how = death.text(regions);
  const auto phase_of = [&](uint64_t kernel) { return !running || kernel != *running ? "built" : phase; };

  std::vector<uint64_t> others;
  for (auto it = company.rbegin(); it != company.rend() && others.size() < kMostSuspects; ++it)
    if (std::find(at.begin(), at.end(), *it) == at.end() && known_.contains(*it) && !faults_.contains(key(*it)))
      others.push_back(*it);
  if (at.size() == 1 && (others.empty() || death.conclusive(regions))) return charge(at[0], how, phase_of(at[0]));

  bool found = false;
  for (const uint64_t kernel : at)
    if (const auto alone = replay(seat, {kernel})) {
      charge(kernel, concat(alone->text(regions), ", again when it was alone"), phase_of(kernel));
      found = true;
    }
  for (size_t i = 0; i < others.size() && !found; ++i) {
    // Damage strikes who comes after it; what happens in either order is that both together take too much.
    if (!replay(seat, {others[i], at[0]}) || replay(seat, {at[0], others[i]})) continue;
    charge(others[i], concat(how, ", in ", key(at[0]), ", which runs well alone and not after this one"), "in company");
    found = true;
  }
  if (!found && ++known_[at[0]].unexplained > 1)
    charge(at[0], concat(how, ", twice, though not when it was alone"), phase_of(at[0]));
}

// Builds.

RemoteBuilder::~RemoteBuilder() {
  stop_ = [] { return true; };
  if (!pending_.empty()) take();  // the next problem must not find builds of this one
}

void RemoteBuilder::send(Pending& pending, size_t place) {
  WorkerBench::Seat& seat = *bench_.seats_[pending.seat];
  (void)bench_.ready(seat, false);  // if there is no worker, waiting for its answer will say so
  pending.life = seat.worker.life();
  pending.request = bench_.ask_to_build(seat, pending.kernel);
  pending.deadline_seconds = bench_.clock_.seconds() + bench_.options_.build_seconds * double(1 + place);
}

void RemoteBuilder::start(std::vector<BuildJob> jobs, std::function<bool()> stop) {
  GS_ASSERT(pending_.empty(), "the last wave has to be taken before the next begins");
  stop_ = std::move(stop);
  told_to_skip_ = false;
  const size_t at_once = bench_.seats_.size() * size_t(std::max(bench_.device_.threads, 1));
  for (BuildJob& job : jobs) {
    Pending pending;
    pending.job = std::move(job);
    pending.kernel = ++bench_.last_kernel_;
    pending.seat = bench_.least_loaded();
    ++bench_.seats_[pending.seat]->kernels;
    bench_.known_[pending.kernel].candidate = pending.job.candidate;
    send(pending, pending_.size() / at_once);
    pending_.push_back(std::move(pending));
  }
}

std::vector<BuildResult> RemoteBuilder::take() {
  std::vector<BuildResult> results;
  for (Pending& pending : pending_) {
    results.push_back(wait_for(pending));
    if (!results.back().kernel) --bench_.seats_[pending.seat]->kernels;
  }
  pending_.clear();
  return results;
}

BuildResult RemoteBuilder::result_of(Pending& pending, const Frame& frame) {
  BuildResult result;
  result.id = pending.job.id;
  if (frame.kind != FrameKind::done) {
    result.error = parse_error(frame.text);
  } else if (const auto ms = parse_number_of(frame.text, "build_ms"); ms.ok()) {
    result.kernel =
        std::make_unique<RemoteKernel>(bench_, pending.kernel, pending.job.candidate, pending.seat, pending.life, *ms);
  } else {
    result.skipped = true;
  }
  return result;
}

BuildResult RemoteBuilder::wait_for(Pending& pending) {
  constexpr double kLookSeconds = 0.05;  // between looks at `stop`
  constexpr int kAttempts = 4;
  WorkerBench::Seat& seat = *bench_.seats_[pending.seat];
  BuildResult result;
  result.id = pending.job.id;
  while (true) {
    if (const auto fault = bench_.fault_of(pending.job.candidate)) {
      result.error = bench_.fault_error(pending.job.candidate);
      return result;
    }
    if (stop_() && !told_to_skip_) {
      told_to_skip_ = true;
      for (const auto& each : bench_.seats_)
        if (each->worker.running()) each->worker.ask(FrameKind::skip, "{}");
    }
    if (pending.life != seat.worker.life() || !seat.worker.running()) {  // it ended over something else
      if (told_to_skip_) {
        result.skipped = true;
        return result;
      }
      if (++pending.attempts == kAttempts) {
        result.error =
            Error{"worker", bench_.launcher_->name(), "ends again and again while kernels are built", {}, {}};
        return result;
      }
      send(pending, 0);
    }
    const double now = bench_.clock_.seconds();
    const Worker::Answer answer =
        seat.worker.wait(pending.request, std::min(pending.deadline_seconds, now + kLookSeconds));
    if (answer.frame && answer.frame->kind != FrameKind::device_lost) return result_of(pending, *answer.frame);
    if (!answer.frame && !answer.over && bench_.clock_.seconds() < pending.deadline_seconds) continue;
    const std::vector<uint64_t> company = seat.company;
    WorkerDeath death = answer.frame ? seat.worker.end(WorkerDeath::Cause::device_lost)
                                     : bench_.end(seat, answer.over, bench_.options_.build_seconds);
    bench_.blame(seat, company, death, death.at.empty() ? std::optional<uint64_t>() : std::optional(pending.kernel),
                 "built");
  }
}

}  // namespace gemmsmith
