#include "tuner/worker_bench.h"

#include <algorithm>
#include <utility>

#include "support/machine_load.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int kAttempts = 4;  // at a call whose worker ends for what others did

Error not_answered(const Frame& frame) { return parse_error(frame.text); }

}  // namespace

// What a source of the workers offers. Its answers come from there, its kernels stay there.
class RemoteSource final : public Source {
 public:
  RemoteSource(WorkerBench& bench, size_t place) : bench_(bench), place_(place) {}
  std::string name() const override { return bench_.reports_[place_].name; }
  std::string version() const override { return bench_.reports_[place_].version; }
  Supports supports(const GemmProblem& problem, const DeviceFacts& device) const override {
    const Result<SourceOffer> offer = offer_for(problem, device);
    return offer.ok() ? offer->supports : Supports::no(offer.error().text());
  }
  CandidateSet candidates(const GemmProblem& problem, const DeviceFacts& device) const override {
    const Result<SourceOffer> offer = offer_for(problem, device);
    return offer.ok() ? offer->candidates : CandidateSet();
  }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate&) override {
    return Error{name(), "a kernel", "is built in a worker process only", {}, {}};
  }

 private:
  Result<SourceOffer> offer_for(const GemmProblem& problem, const DeviceFacts& device) const {
    GS_TRY(const std::vector<SourceOffer> offers, bench_.offers(problem, device));
    for (const SourceOffer& offer : offers)
      if (offer.source == name()) return offer;
    return SourceOffer{name(), Supports::no(bench_.reports_[place_].reason), {}};
  }
  WorkerBench& bench_;
  size_t place_;
};

Status RemoteKernel::run(const GemmArguments&) {
  return Error{candidate_.source, candidate_.config, "runs in its worker process only", {}, {}};
}

WorkerBench::WorkerBench(std::unique_ptr<WorkerLauncher> launcher, const Clock& clock, WorkerBenchOptions options)
    : launcher_(std::move(launcher)), clock_(clock), options_(std::move(options)) {
  for (int i = 0; i < std::max(options_.workers, 1); ++i)
    seats_.push_back(std::make_unique<Seat>(Seat{Worker(*launcher_, clock_), 0, 0, {}, 0}));
  for (const std::string& name : options_.sources) {
    reports_.push_back({name, {}, false, {}});
    sources_.push_back(std::make_unique<RemoteSource>(*this, reports_.size() - 1));
  }
}

WorkerBench::~WorkerBench() = default;

Result<std::unique_ptr<WorkerBench>> WorkerBench::open(std::unique_ptr<WorkerLauncher> launcher, const Clock& clock,
                                                       WorkerBenchOptions options, const std::string& fingerprint) {
  std::unique_ptr<WorkerBench> bench(new WorkerBench(std::move(launcher), clock, std::move(options)));
  Worker& worker = bench->seats_[0]->worker;
  GS_CHECK(bench->start(*bench->seats_[0]));
  const Opened& opened = worker.opened();
  if (opened.gemmsmith != GEMMSMITH_VERSION)
    return Error{"worker", concat("version ", opened.gemmsmith), "is not " GEMMSMITH_VERSION, {}, {}};
  if (opened.device != fingerprint)
    return Error{"worker", opened.device, concat("is not ", fingerprint, ", the device to tune for"), {}, {}};
  for (SourceReport& report : bench->reports_)
    for (const SourceReport& source : opened.sources)
      if (source.name == report.name) report.version = source.version;
  return bench;
}

std::vector<Source*> WorkerBench::sources() const {
  std::vector<Source*> all;
  for (const auto& source : sources_) all.push_back(source.get());
  return all;
}

// Starts a worker that is not running. A source that ends it while it is opened is left out from then on.
Status WorkerBench::start(Seat& seat) {
  for (;;) {
    const Status started = seat.worker.start(options_.open, options_.open_seconds);
    if (started.ok() || !seat.worker.death() || !leave_out_source(*seat.worker.death(), "opened")) return started;
  }
}

// Whether the end shows a source that was being opened or asked.
bool WorkerBench::leave_out_source(const WorkerDeath& death, const char* when) {
  if (death.at.empty()) return false;
  uint64_t open = 0;  // sources that were, counted
  for (SourceReport& report : reports_) {
    std::vector<std::string>& without = options_.open.without;
    if (std::find(without.begin(), without.end(), report.name) != without.end()) continue;
    if (++open != death.at[0]) continue;
    report.reason = concat("ended a worker process while it was ", when, ": ", death.text({}));
    without.push_back(report.name);
    return true;
  }
  return false;
}

ProblemRequest WorkerBench::problem_request(const GemmProblem& problem, const DeviceFacts& device) const {
  return {problem.print(), device.peak_f32_gflops, device.peak_bf16_gflops, device.peak_i8_gops,
          device.read_gbytes_per_s};
}

Result<std::vector<SourceOffer>> WorkerBench::offers(const GemmProblem& problem, const DeviceFacts& device) {
  const std::string request = print(problem_request(problem, device));
  if (request == offered_for_) return offers_;
  Seat& seat = *seats_[0];
  for (;;) {
    GS_CHECK(start(seat));
    const uint64_t asked = seat.worker.ask(FrameKind::plan, request);
    const Worker::Answer answer = seat.worker.wait(asked, clock_.seconds() + options_.open_seconds);
    if (!answer.frame) {
      const WorkerDeath death = end(seat, answer.over, options_.open_seconds);
      if (death.at.empty() && death.cause == WorkerDeath::Cause::ended && death.end.signal == 0) continue;
      if (leave_out_source(death, "asked")) continue;
      return Error{"worker", "its sources", "cannot be asked: " + death.text({}), {}, {}};
    }
    if (answer.frame->kind != FrameKind::done) return not_answered(*answer.frame);
    GS_TRY(offers_, parse_offers(answer.frame->text));
    offered_for_ = request;
    return offers_;
  }
}

void WorkerBench::begin_problem(const GemmProblem& problem, const DeviceFacts& device) {
  problem_ = problem;
  device_ = device;
  known_.clear();
  faults_.clear();
  prepared_ = false;
  best_us_ = 0;
  gate_.clear();
  shared_.reset();
  for (const auto& seat : seats_) {
    seat->begun_life = seat->operands_life = 0;
    seat->company.clear();
    seat->kernels = 0;
  }
}

std::unique_ptr<WaveBuilder> WorkerBench::make_builder(const GemmProblem& problem, const DeviceFacts& device) {
  begin_problem(problem, device);
  return std::make_unique<RemoteBuilder>(*this);
}

Status WorkerBench::prepare(const GemmProblem& problem, const DeviceFacts& device, const BenchOptions& options) {
  if (problem_ != problem) begin_problem(problem, device);
  plan_ = {};
  GS_TRY(plan_, plan_memory(problem, device, options.max_memory_bytes, int(seats_.size())));
  if (!options.rotate) plan_.shared = true;
  gate_.clear();
  GS_TRY(shared_, SharedOperands::create(problem));
  GS_CHECK(gate_.prepare(problem, options.seed, plan_.check, shared_->places()));
  prepared_ = true;
  return Done{};
}

// A running worker that knows the problem, and its operands if asked. That it ends over this is nobody's fault.
Status WorkerBench::ready(Seat& seat, bool with_operands) {
  WorkerDeath death;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    GS_CHECK(start(seat));
    const int life = seat.worker.life();
    const auto answered = [&](uint64_t request) -> Result<std::optional<Frame>> {
      Worker::Answer answer = seat.worker.wait(request, clock_.seconds() + options_.open_seconds);
      if (!answer.frame) death = end(seat, answer.over, options_.open_seconds);
      if (answer.frame && answer.frame->kind != FrameKind::done) return not_answered(*answer.frame);
      return std::move(answer.frame);
    };
    if (seat.begun_life != life) {
      seat.company.clear();
      const uint64_t asked = seat.worker.ask(FrameKind::begin, print(problem_request(problem_, device_)));
      GS_TRY(const std::optional<Frame> answer, answered(asked));
      if (!answer) continue;
      seat.begun_life = life;
    }
    if (!with_operands || seat.operands_life == life) return Done{};
    OperandsRequest request = shared_->request(gate_.arguments());
    request.copies = plan_.copies;
    request.shared_rotation = plan_.shared;
    request.memory_bytes = plan_.limit_bytes;
    const uint64_t asked = seat.worker.ask(FrameKind::operands, print(request), shared_->file());
    GS_TRY(const std::optional<Frame> answer, answered(asked));
    if (!answer) continue;
    GS_TRY(const double copies, parse_number_of(answer->text, "copies"));
    plan_.copies = std::max<int64_t>(1, std::min(plan_.copies, int64_t(copies)));
    seat.operands_life = life;
    return Done{};
  }
  return Error{"worker", launcher_->name(), "ends while it takes the problem: " + death.text({}), {}, {}};
}

WorkerDeath WorkerBench::end(Seat& seat, bool over, double waited_seconds) {
  WorkerDeath death = seat.worker.end(over ? WorkerDeath::Cause::ended : WorkerDeath::Cause::hung);
  death.waited_seconds = waited_seconds;
  return death;
}

size_t WorkerBench::least_loaded() const {
  size_t best = 0;
  for (size_t i = 1; i < seats_.size(); ++i)
    if (seats_[i]->kernels < seats_[best]->kernels) best = i;
  return best;
}

void WorkerBench::touch(Seat& seat, uint64_t kernel) {
  std::erase(seat.company, kernel);
  seat.company.push_back(kernel);
}

uint64_t WorkerBench::ask_to_build(Seat& seat, uint64_t kernel) {
  const Candidate& candidate = known_[kernel].candidate;
  touch(seat, kernel);
  return seat.worker.ask(FrameKind::build, print(BuildRequest{kernel, candidate.source, candidate.config}));
}

void WorkerBench::drop(RemoteKernel& kernel) {
  Seat& seat = *seats_[kernel.seat_];
  if (seat.kernels > 0) --seat.kernels;
  if (seat.worker.running() && seat.worker.life() == kernel.life_)
    seat.worker.ask(FrameKind::drop, print(KernelRequest{kernel.number_, 1}));
}

double WorkerBench::expected_seconds(const RemoteKernel& kernel, int repeats) const {
  double us = kernel.us_;
  if (us == 0) {
    // 1 GFLOP/s is what the slowest do; and what takes 200 times the best so far has lost, however long it would take.
    us = 2 * std::max(kernel.candidate_.predicted_us, problem_.flops() * 1e-3);
    if (best_us_ > 0) us = std::min(us, 200 * best_us_);
  } else {
    us *= 20;
  }
  return us * 1e-6 * repeats;
}

// The kernel in a worker that is not the one it was built in.
Status WorkerBench::build_again(RemoteKernel& kernel) {
  Seat& seat = *seats_[kernel.seat_];
  const int life = seat.worker.life();
  const uint64_t asked = ask_to_build(seat, kernel.number_);
  const Worker::Answer answer = seat.worker.wait(asked, clock_.seconds() + options_.build_seconds);
  if (answer.frame && answer.frame->kind != FrameKind::done) return not_answered(*answer.frame);
  if (answer.frame) {
    kernel.life_ = life;
    return Done{};
  }
  const std::vector<uint64_t> company = seat.company;
  blame(seat, company, end(seat, answer.over, options_.build_seconds), kernel.number_, "built");
  return Done{};
}

Result<Frame> WorkerBench::perform(RemoteKernel& kernel, const Call& call, const std::function<void()>& before) {
  Seat& seat = *seats_[kernel.seat_];
  GS_ASSERT(prepared_, "prepare() comes first");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (faults_.contains(key(kernel.number_))) return fault_error(kernel.candidate_);
    GS_CHECK(ready(seat, true));
    if (kernel.life_ != seat.worker.life()) {
      GS_CHECK(build_again(kernel));
      if (kernel.life_ != seat.worker.life() || !seat.worker.running()) continue;
    }
    if (before) before();
    known_[kernel.number_].repeats = call.repeats;
    touch(seat, kernel.number_);
    const uint64_t asked = seat.worker.ask(call.kind, print(KernelRequest{kernel.number_, call.repeats}));
    Worker::Answer answer = seat.worker.wait(asked, clock_.seconds() + call.seconds);
    if (answer.frame && answer.frame->kind == FrameKind::done) return *std::move(answer.frame);
    if (answer.frame && answer.frame->kind == FrameKind::failed) return not_answered(*answer.frame);
    const std::vector<uint64_t> company = seat.company;
    WorkerDeath death;
    if (answer.frame) {
      death = seat.worker.end(WorkerDeath::Cause::device_lost);
      death.error = not_answered(*answer.frame).text();
    } else {
      death = end(seat, answer.over, call.seconds);
    }
    blame(seat, company, death, kernel.number_, call.phase);
  }
  if (!faults_.contains(key(kernel.number_))) charge(kernel.number_, "its workers ended again and again", call.phase);
  return fault_error(kernel.candidate_);
}

Result<double> WorkerBench::sample_us(Kernel& kernel, int repeats) {
  auto& remote = static_cast<RemoteKernel&>(kernel);
  const double seconds = options_.hang_seconds + expected_seconds(remote, repeats);
  GS_TRY(const Frame answer, perform(remote, {FrameKind::sample, repeats, seconds, "timed"}));
  GS_TRY(const double us, parse_number_of(answer.text, "us"));
  remote.us_ = std::max(remote.us_, us);
  if (us > 0) best_us_ = best_us_ == 0 ? us : std::min(best_us_, us);
  return us;
}

Result<Accuracy> WorkerBench::check(Kernel& kernel, uint64_t seed) {
  auto& remote = static_cast<RemoteKernel&>(kernel);
  const double seconds = options_.hang_seconds + expected_seconds(remote, 1);
  GS_TRY(const Frame answer, perform(remote, {FrameKind::run, 1, seconds, "checked"}, [&] { gate_.make_ready(seed); }));
  const Accuracy accuracy = gate_.judge();
  if (!gate_.damaged()) return accuracy;
  Seat& seat = *seats_[remote.seat_];
  seat.worker.end(WorkerDeath::Cause::hung);  // who knows what else it wrote
  charge(remote.number_, accuracy.failure, "checked");
  GS_CHECK(gate_.renew());
  return fault_error(remote.candidate_);
}

std::string WorkerBench::isolation() const {
  return seats_.size() == 1 ? "worker process" : concat(seats_.size(), " worker processes");
}

std::optional<std::string> WorkerBench::fault_of(const Candidate& candidate) const {
  const auto found = faults_.find(concat(candidate.source, " ", candidate.config));
  return found == faults_.end() ? std::nullopt : std::optional(found->second);
}

double WorkerBench::cpu_seconds() const {
  double seconds = own_cpu_seconds();
  for (const auto& seat : seats_) seconds += seat->worker.cpu_seconds();
  return seconds;
}

}  // namespace gemmsmith
