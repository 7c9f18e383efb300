// faulty_worker --gemmsmith-worker: a worker whose one source is that of tuner/faulty.h. Candidates named after a source
// that ends its worker while it is opened are served by asking for the device "opening".
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "problem/reference.h"
#include "support/clock.h"
#include "tuner/faulty.h"
#include "tuner/worker_server.h"
#include "tuner/worker_status.h"

namespace gemmsmith {
namespace {

using faulty::device;

std::atomic<bool> heap_damaged{false}, device_lost{false};
std::atomic<uint64_t> spent{0};

void spin_for_ever() {
  for (;;) spent.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline]] int overflow_stack(int64_t depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return depth == 0 ? 0 : overflow_stack(depth - 1) + frame[0];
}

volatile uintptr_t nowhere = 16;
void touch_nowhere() { (void)*reinterpret_cast<const volatile char*>(nowhere); }
void write(volatile char* address) { *address = 1; }

// Everything but compute_reference() that a candidate does in a call. `d` is D as bytes, `end` its end.
Status misbehave(const std::string& config, const GemmArguments& args, char* d, int64_t end) {
  static volatile int zero = 0;
  if (config == "segv") touch_nowhere();
  if (config == "bus") std::raise(SIGBUS);
  if (config == "fpe") zero = 7 / zero;
  if (config == "abort") std::abort();
  if (config == "ill") __builtin_trap();
  if (config == "throw") throw std::runtime_error("a library's exception");
  if (config == "hang") spin_for_ever();
  if (config == "exit") {
    std::printf("going home\n");
    std::fflush(stdout);
    _exit(3);
  }
  if (config == "memory")
    for (;;) std::memset(new char[1 << 24], 1, 1 << 24);
  if (config == "past_end") write(d + end + 64);
  if (config == "far_past_end") write(d + end + 200'000);
  if (config == "band") write(d + end + 4);
  if (config == "before_d") write(d - 8);
  if (config == "gap") std::memset(d + 24 * 4, 0, 4);
  if (config == "writes_a") write(static_cast<char*>(const_cast<void*>(args.a)));
  if (config == "closes") close(kWorkerSocket);
  if (config == "garbage") (void)!::write(kWorkerSocket, "I am a kernel, what is a protocol?", 34);
  if (config == "kill") kill(getpid(), SIGKILL);
  if (config == "heap") heap_damaged = true;
  if (config == "stack") overflow_stack(1 << 30);
  if (config == "prints") {
    for (int i = 0; i < 200; ++i) std::printf("%0500d\n", i);
    std::fflush(stdout);
  }
  if (config == "error") return Error{"library", "status 4", "is not 0", {}, {}};
  if (config == "lost") {
    device_lost = true;
    return Error{"device", "sticky error 700", {}, {}, {}};
  }
  return Done{};
}

class FaultyKernel final : public Kernel {
 public:
  FaultyKernel(GemmProblem problem, std::string config) : problem_(std::move(problem)), config_(std::move(config)) {}
  Status run(const GemmArguments& args) override {
    // What another kernel has written over strikes whoever comes next.
    if (heap_damaged && config_ != "heap") touch_nowhere();
    for (int i = 0; i < (config_ == "slow" ? 4 : 1); ++i) compute_reference(problem_, args);
    const int64_t end = ((problem_.m - 1) * problem_.d.row_stride + problem_.n) * 4;
    GS_CHECK(misbehave(config_, args, static_cast<char*>(args.d), end));
    if (config_ == "wrong") static_cast<float*>(args.d)[0] += 1;
    return Done{};
  }
  double build_ms() const override { return 1; }

 private:
  GemmProblem problem_;
  std::string config_;
};

class FaultySource final : public Source {
 public:
  explicit FaultySource(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string version() const override { return "1"; }
  Supports supports(const GemmProblem&, const DeviceFacts&) const override { return {}; }
  CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override {
    CandidateSet set;
    for (const faulty::Expected& fault : faulty::faults()) set.kept.push_back({name_, fault.config, 0});
    for (const char* well : {"slow", "prints", "right"}) set.kept.push_back({name_, well, 0});
    return set;
  }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem& problem, const DeviceFacts&, const Candidate& c) override {
    if (c.config == "build_segv") touch_nowhere();
    if (c.config == "build_exit") _exit(4);
    if (c.config == "build_hang") spin_for_ever();
    return std::unique_ptr<Kernel>(std::make_unique<FaultyKernel>(problem, c.config));
  }

 private:
  std::string name_;
};

// Host memory, on a device that can be lost.
class FaultyStage final : public Stage {
 public:
  explicit FaultyStage(const Clock& clock) : host_(make_host_stage(clock)) {}
  Result<int64_t> prepare(const GemmProblem& p, const GemmArguments& shared, const OperandsRequest& request,
                          int threads) override {
    return host_->prepare(p, shared, request, threads);
  }
  Status run(Kernel& kernel) override { return host_->run(kernel); }
  Result<double> sample_us(Kernel& kernel, int repeats) override { return host_->sample_us(kernel, repeats); }
  bool lost() const override { return device_lost; }

 private:
  std::unique_ptr<Stage> host_;
};

struct Opened {
  SystemClock clock;
  std::vector<std::unique_ptr<Source>> sources;
};

Result<WorkerDevice> open_faulty(const OpenRequest& request, const std::function<void(int)>& opening) {
  auto opened = std::make_shared<Opened>();
  WorkerDevice result;
  result.facts = device();
  int place = 0;
  for (const char* name : {"harmful", "faulty"}) {
    bool without = false;
    for (const std::string& left_out : request.without) without = without || left_out == name;
    if (without || (std::string(name) == "harmful" && request.device != "opening")) continue;
    opening(place++);
    if (std::string(name) == "harmful") std::abort();
    opened->sources.push_back(std::make_unique<FaultySource>(name));
    result.sources.push_back(opened->sources.back().get());
  }
  result.stage = std::make_unique<FaultyStage>(opened->clock);
  result.keeps = opened;
  return result;
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], gemmsmith::kWorkerArgument) != 0) return 2;
  return gemmsmith::serve_worker_process(gemmsmith::open_faulty);
}
