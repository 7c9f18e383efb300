#include "tuner/worker_server.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "support/machine_load.h"
#include "support/shared_memory.h"
#include "support/text.h"
#include "tuner/frame_socket.h"
#include "tuner/rotation.h"
#include "tuner/shared_operands.h"
#include "tuner/worker_process.h"

namespace gemmsmith {
namespace {

class HostStage final : public Stage {
 public:
  explicit HostStage(const Clock& clock) : clock_(clock) {}
  Result<int64_t> prepare(const GemmProblem& problem, const GemmArguments& shared, const OperandsRequest& request,
                          int threads) override {
    shared_ = shared;
    GS_CHECK(rotation_.prepare(problem, shared, request.copies, request.shared_rotation, threads));
    return rotation_.copies();
  }
  Status run(Kernel& kernel) override { return kernel.run(shared_); }
  Result<double> sample_us(Kernel& kernel, int repeats) override {
    return rotation_.sample_us(clock_, kernel, repeats);
  }

 private:
  const Clock& clock_;
  GemmArguments shared_;
  Rotation rotation_;
};

// Everything after the handshake.
class Session {
 public:
  Session(FrameSocket& socket, WorkerStatus* status, WorkerDevice device)
      : socket_(socket), status_(status), device_(std::move(device)), main_(status, 0) {
    const int threads = std::clamp(device_.facts.threads, 1, WorkerStatus::kSlots - 1);
    for (int slot = 1; slot <= threads; ++slot)
      builders_.emplace_back([this, slot](std::stop_token token) { build_all(token, slot); });
  }

  void answer(const Frame& request);

 private:
  struct Job {
    uint64_t request = 0;
    BuildRequest build;
  };
  using Kernels = std::map<uint64_t, std::unique_ptr<Kernel>>;

  void send(FrameKind kind, uint64_t request, std::string text) {
    const std::lock_guard lock(sending_);
    (void)socket_.send({kind, request, std::move(text)});  // if the tuner is gone, so is this process soon
  }
  void fail(uint64_t request, const Error& error) { send(FrameKind::failed, request, print_error(error)); }

  Status begin(const Frame&);
  Status plan(const Frame&);
  Status take_operands(const Frame&);
  Status run_kernel(const Frame&);
  Result<Kernel*> find(uint64_t kernel);
  void build_all(std::stop_token, int slot);
  Result<std::unique_ptr<Kernel>> build(const BuildRequest&);
  Result<GemmProblem> read_problem(const ProblemRequest&);

  FrameSocket& socket_;
  WorkerStatus* status_;
  WorkerDevice device_;
  WorkerThread main_;
  GemmProblem problem_;
  MappedOperands operands_;

  std::mutex sending_;
  std::mutex mutex_;  // of what follows
  std::condition_variable_any changed_;
  std::deque<Job> jobs_;
  Kernels kernels_;
  std::vector<std::jthread> builders_;  // last: they end before what they use
};

Result<GemmProblem> Session::read_problem(const ProblemRequest& request) {
  DeviceFacts& facts = device_.facts;
  facts.peak_f32_gflops = request.peak_f32_gflops;
  facts.peak_bf16_gflops = request.peak_bf16_gflops;
  facts.peak_i8_gops = request.peak_i8_gops;
  facts.read_gbytes_per_s = request.read_gbytes_per_s;
  return GemmProblem::parse(request.problem);
}

Status Session::plan(const Frame& frame) {
  GS_TRY(const ProblemRequest request, parse_problem_request(frame.text));
  GS_TRY(const GemmProblem problem, read_problem(request));
  std::vector<SourceOffer> offers;
  for (size_t i = 0; i < device_.sources.size(); ++i) {
    Source* source = device_.sources[i];
    main_.at(i + 1);
    SourceOffer offer{source->name(), source->supports(problem, device_.facts), {}};
    if (offer.supports) offer.candidates = source->candidates(problem, device_.facts);
    offers.push_back(std::move(offer));
  }
  main_.at(0);
  send(FrameKind::done, frame.request, print(offers));
  return Done{};
}

// No build runs: the tuner has the answers to all of them before it goes on to the next problem.
Status Session::begin(const Frame& frame) {
  GS_TRY(const ProblemRequest request, parse_problem_request(frame.text));
  const std::lock_guard lock(mutex_);
  kernels_.clear();
  operands_ = {};
  status_->operands.store(0);
  GS_TRY(problem_, read_problem(request));
  send(FrameKind::done, frame.request, "{}");
  return Done{};
}

Status Session::take_operands(const Frame& frame) {
  GS_TRY(const OperandsRequest request, parse_operands(frame.text));
  GS_TRY(operands_, MappedOperands::map(request, socket_.take_file()));
  status_->operands.store(uint64_t(reinterpret_cast<uintptr_t>(operands_.memory.data())));
  if (request.memory_bytes > 0) limit_data_bytes(data_bytes() + request.memory_bytes);
  GS_TRY(const int64_t copies, device_.stage->prepare(problem_, operands_.arguments, request, device_.facts.threads));
  send(FrameKind::done, frame.request, print_number("copies", double(copies)));
  return Done{};
}

Result<Kernel*> Session::find(uint64_t kernel) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end()) return found->second.get();
  return Error{"worker", concat("kernel ", int64_t(kernel)), "is not one that it has built", {}, {}};
}

Status Session::run_kernel(const Frame& frame) {
  GS_TRY(const KernelRequest request, parse_kernel_request(frame.text));
  GS_TRY(Kernel* const kernel, find(request.kernel));
  main_.at(request.kernel);
  std::string answer = "{}";
  std::optional<Error> error;
  if (frame.kind == FrameKind::sample) {
    const Result<double> us = device_.stage->sample_us(*kernel, std::max(request.repeats, 1));
    if (us.ok()) answer = print_number("us", *us);
    if (!us.ok()) error = us.error();
  } else if (const Status ran = device_.stage->run(*kernel); !ran.ok()) {
    error = ran.error();
  }
  main_.at(0);
  if (!error)
    send(FrameKind::done, frame.request, std::move(answer));
  else
    send(device_.stage->lost() ? FrameKind::device_lost : FrameKind::failed, frame.request, print_error(*error));
  return Done{};
}

void Session::answer(const Frame& frame) {
  Status status = Done{};
  switch (frame.kind) {
    case FrameKind::plan:
      status = plan(frame);
      break;
    case FrameKind::begin:
      status = begin(frame);
      break;
    case FrameKind::operands:
      status = take_operands(frame);
      break;
    case FrameKind::run:
    case FrameKind::sample:
      status = run_kernel(frame);
      break;
    case FrameKind::build: {
      auto request = parse_build(frame.text);
      if (!request.ok()) return fail(frame.request, request.error());
      const std::lock_guard lock(mutex_);
      jobs_.push_back({frame.request, *std::move(request)});
      changed_.notify_one();
      break;
    }
    case FrameKind::skip: {
      std::deque<Job> skipped;
      {
        const std::lock_guard lock(mutex_);
        std::swap(skipped, jobs_);
      }
      for (const Job& job : skipped) send(FrameKind::done, job.request, print_number("skipped", 1));
      send(FrameKind::done, frame.request, "{}");
      break;
    }
    case FrameKind::drop:
      if (const auto request = parse_kernel_request(frame.text); request.ok()) {
        const std::lock_guard lock(mutex_);
        kernels_.erase(request->kernel);
      }
      break;
    default:
      status = Error{"worker", concat("a message of kind ", int64_t(frame.kind)), "asks for nothing", {}, {}};
  }
  if (!status.ok()) fail(frame.request, status.error());
}

Result<std::unique_ptr<Kernel>> Session::build(const BuildRequest& request) {
  for (Source* source : device_.sources)
    if (source->name() == request.source)
      return source->build(problem_, device_.facts, {request.source, request.config, 0});
  return Error{"worker", "source " + request.source, "is not one that it has", {}, {}};
}

void Session::build_all(std::stop_token token, int slot) {
  WorkerThread thread(status_, slot);
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, token, [this] { return !jobs_.empty(); }) && !token.stop_requested()) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    thread.at(job.build.kernel);
    auto kernel = build(job.build);
    thread.at(0);
    if (!kernel.ok()) fail(job.request, kernel.error());
    lock.lock();
    if (!kernel.ok()) continue;
    const double ms = (*kernel)->build_ms();
    kernels_[job.build.kernel] = *std::move(kernel);
    send(FrameKind::done, job.request, print_number("build_ms", ms));
  }
}

// The next message; nothing once the tuner is gone.
std::optional<Frame> wait_for(FrameSocket& socket) {
  for (;;) {
    auto frame = socket.next();
    if (!frame.ok()) return std::nullopt;
    if (*frame) return *std::move(frame);
    pollfd end{socket.number(), POLLIN, 0};
    if (::poll(&end, 1, -1) > 0 && !socket.read().ok()) return std::nullopt;
  }
}

Opened describe(const WorkerDevice& device) {
  Opened opened;
  opened.gemmsmith = GEMMSMITH_VERSION;
  opened.device = device.facts.fingerprint();
  for (const Source* source : device.sources) opened.sources.push_back({source->name(), source->version(), true, {}});
  return opened;
}

}  // namespace

std::unique_ptr<Stage> make_host_stage(const Clock& clock) { return std::make_unique<HostStage>(clock); }

int serve_worker_process(const OpenWorkerDevice& open) {
  auto memory = SharedMemory::from(FileDescriptor(kWorkerStatus), sizeof(WorkerStatus));
  if (!memory.ok() || !memory->allow(0, sizeof(WorkerStatus), true).ok()) return 1;
  auto* status = reinterpret_cast<WorkerStatus*>(memory->data());
  FrameSocket socket{FileDescriptor(kWorkerSocket)};
  become_worker(status, kWorkerSocket);

  const std::optional<Frame> first = wait_for(socket);
  if (!first || first->kind != FrameKind::open) return 1;
  const auto request = parse_open(first->text);
  auto device = request.ok() ? open(*request, [&](int source) { status->at[0].store(uint64_t(source) + 1); })
                             : Result<WorkerDevice>(request.error());
  status->at[0].store(0);
  if (!device.ok()) {
    (void)socket.send({FrameKind::failed, first->request, print_error(device.error())});
    return 1;
  }
  if (!socket.send({FrameKind::done, first->request, print(describe(*device))}).ok()) return 1;
  Session session(socket, status, *std::move(device));
  while (const std::optional<Frame> frame = wait_for(socket)) session.answer(*frame);
  return 0;
}

}  // namespace gemmsmith
