// gemmsmith in a program: open a device, tune a problem, run the winner.
//
//   auto device = gemmsmith::Device::open("cpu").value();
//   auto problem = gemmsmith::GemmProblem::parse("128x4096x1024 dtype=bf16 b=col").value();
//   auto gemm = gemmsmith::Gemm::create(device, problem).value();   // from the store, or tuned now
//   gemm.run({.a = a, .b = b, .d = d});
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "gemmsmith/store.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

struct DeviceOptions {
  int threads = 0;            // 0: all cores that this process may run on
  bool measure_peaks = true;  // about 0.3 s on first use in a process; reports then have floors and fractions of peak
};

// A device with the sources that can offer kernels for it. Cheap to copy: copies share what is behind.
class Device {
 public:
  // "cpu". Errors: an unknown device (lists the known), a CPU that the target does not cover (says what is missing).
  static Result<Device> open(const std::string& name, const DeviceOptions& = {});

  const DeviceFacts& facts() const;
  std::vector<std::string> source_names() const;
  // Every source with its version, or why it cannot offer anything here ("libdnnl.so.2 not found: ..."). Asked where
  // tunings with these options would ask them: in a worker process, or in this one.
  std::vector<SourceReport> sources(const TuneOptions& = {}) const;
  // Tuning keeps its worker and the memory of its operands for the next problem, up to TuneOptions::max_memory_bytes;
  // this gives them back.
  void release_memory() const;

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
  // The store's choice for the problem, or a fresh tuning's.
  static Result<Gemm> create(const Device&, const GemmProblem&, const TuneOptions& = {}, Store* store = nullptr);
  // A certain candidate: Gemm::build(device, problem, "native", "gemm_packed mr=8 nr=32 kc=256"). An empty config: the first guess.
  static Result<Gemm> build(const Device&, const GemmProblem&, const std::string& source,
                            const std::string& config = {});

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
  double total_ms = 0;                                 // of compiling
  std::vector<std::pair<std::string, double>> phases;  // "stage", "passes", ... in ms
};
Result<EmitResult> emit(const Device&, const GemmProblem&, const std::string& config, const std::string& stage);

}  // namespace gemmsmith
