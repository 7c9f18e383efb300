// gemmsmith in a program: open a device, tune a problem, run the winner.
//
//   auto device = gemmsmith::Device::open("cpu").value();
//   auto problem = gemmsmith::GemmProblem::parse("128x4096x1024 dtype=bf16 b=col").value();
//   auto gemm = gemmsmith::Gemm::create(device, problem).value();   // from the store, or tuned now
//   gemm.run({.a = a, .b = b, .d = d});
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "gemmsmith/store.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

// How a simulated device runs its kernels.
struct SimulationOptions {
  bool detect_races = false;  // report accesses of shared, distributed and global memory that nothing orders
  // Every launch runs under that many schedules: asynchronous operations as late as possible, as early as possible, then
  // in random orders of seeds 1, 2, ... Results have to be the same, bit for bit.
  int schedules = 1;
};

struct DeviceOptions {
  int threads = 0;            // 0: all cores that this process may run on
  bool measure_peaks = true;  // about 0.3 s on first use in a process; reports then have floors and fractions of peak
  // Folders of compiled kernels, separated by colons: the first is written to, the others are read only. "none": kernels
  // are compiled in each process. Nothing: $GEMMSMITH_CACHE in the same form, else $XDG_CACHE_HOME/gemmsmith/kernels,
  // else ~/.cache/gemmsmith/kernels. Kernels are code: name no folder that others than you and those you trust can
  // write to.
  std::optional<std::string> kernel_cache;
  // Called at most once, by the thread that meets it, with the first reason why kernels cannot be kept or read. It
  // costs time, never a result. May be empty.
  std::function<void(const Error&)> warn;
  SimulationOptions simulation;  // of simulated devices
};

// What the cache of compiled kernels did in this process, for this device.
struct KernelCacheReport {
  std::vector<std::string> folders;  // in the order in which they are looked into; none: it is off, or there is no home
  int64_t hits = 0, misses = 0;      // kernels that were found, kernels that were not
  int64_t damaged = 0, evicted = 0;  // files: not used because they were not whole; removed to stay below the cap
  int64_t saved = 0, unsaved = 0;    // kernels that were compiled: written to a file; not, for lack of one
  int64_t found_bytes = 0, saved_bytes = 0;
  int64_t kernels = 0, bytes = 0;  // in the first folder now, whoever made them
};

// A device with the sources that can offer kernels for it. Cheap to copy: copies share what is behind.
class Device {
 public:
  // "cpu", "cuda" (an NVIDIA GPU; operands are in host memory), "sim:sm_90a" (one simulated on the CPU). Errors: an unknown device (lists the known), a CPU that the target does not cover (says what is missing).
  static Result<Device> open(const std::string& name, const DeviceOptions& = {});

  const DeviceFacts& facts() const;
  std::vector<std::string> source_names() const;
  // Every source with its version, or why it cannot offer anything here ("libdnnl.so.2 not found: ..."). Asked where
  // tunings with these options would ask them: in a worker process, or in this one.
  std::vector<SourceReport> sources(const TuneOptions& = {}) const;
  // Tuning keeps its worker and the memory of its operands for the next problem, up to TuneOptions::max_memory_bytes;
  // this gives them back.
  void release_memory() const;
  // Lists a folder: not for inner loops.
  KernelCacheReport kernel_cache() const;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// Finds the fastest correct kernel within the budget and saves the report if there is a store. A stored choice whose provenance
// holds is returned at once. Errors: an invalid problem, a source that does not exist, no source that can compute the problem.
Result<TuneReport> tune(const Device&, const GemmProblem&, const TuneOptions& = {}, Store* store = nullptr);

// A kernel bound to a problem. run() may be called from one thread at a time.
class Gemm {
 public:
  // The store's choice for the problem, or a fresh tuning's: also where the stored one cannot be built any more.
  static Result<Gemm> create(const Device&, const GemmProblem&, const TuneOptions& = {}, Store* store = nullptr);
  // A certain candidate: Gemm::build(device, problem, "native", "gemm_packed mr=8 nr=32 kc=256"). An empty config: the first guess.
  static Result<Gemm> build(const Device&, const GemmProblem&, const std::string& source,
                            const std::string& config = {});

  // Errors: a D that shares memory with what is read, before anything is written; those of the kernel.
  Status run(const GemmArguments&);
  const std::string& source() const;
  const std::string& config() const;

  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;
  ~Gemm();

 private:
  struct State;
  explicit Gemm(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

// One stage of one candidate of the native source, as text ("mlir", "llvm", "asm") or bytes ("object").
struct EmitResult {
  std::string config, stage, content;
  bool from_cache = false;                             // only an object can be: stages are not kept
  double total_ms = 0;                                 // of compiling; 0 from the cache
  std::vector<std::pair<std::string, double>> phases;  // "stage", "passes", ... in ms
};
Result<EmitResult> emit(const Device&, const GemmProblem&, const std::string& config, const std::string& stage);

}  // namespace gemmsmith
