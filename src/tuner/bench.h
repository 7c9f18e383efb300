// How a kernel is run, timed and checked on a device. The search knows devices only through this.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gemmsmith/measure.h"
#include "sources/source.h"
#include "tuner/builder.h"

namespace gemmsmith {

struct BenchOptions {
  int64_t max_memory_bytes = int64_t(2) << 30;  // operands of one problem, all copies together
  uint64_t seed = 1;                            // of the inputs
  bool rotate = true;                           // false: no copies beside the gate's operands, for who only checks
};

class Bench {
 public:
  virtual ~Bench() = default;
  // Builds what this bench runs: in this process, by threads as many as the device has, unless it says otherwise. Begins
  // a problem, before prepare(); both arguments have to outlive the builder, and the kernels must not outlive the bench.
  virtual std::unique_ptr<WaveBuilder> make_builder(const GemmProblem&, const DeviceFacts&);
  // Operands for a problem; those of the last one are gone. Errors: they do not fit into max_memory_bytes.
  virtual Status prepare(const GemmProblem&, const DeviceFacts&, const BenchOptions&) = 0;
  // Mean time of a call over `repeats` calls in a row, in us. Errors: the kernel's.
  virtual Result<double> sample_us(Kernel&, int repeats) = 0;
  // The numeric gate: runs the kernel once on inputs that it has not been timed with (one set of them for each seed), D
  // poisoned and between guard bands, and compares with the float64 reference. An error is the kernel's; a wrong result
  // is none.
  virtual Result<Accuracy> check(Kernel&, uint64_t seed) = 0;
  // Whether kernels that are being built on host threads disturb samples: true where kernels run on the same cores.
  virtual bool disturbed_by_builds() const = 0;
  // What the samples stand for, for the report: "operands cold: 12 copies, 805 MB".
  virtual std::string conditions() const = 0;
  // The memory plan, for the report.
  virtual std::string memory() const { return {}; }
  // What keeps kernels from harming the tuning: "worker process", or why there is none.
  virtual std::string isolation() const { return {}; }
  // What a candidate did that was worse than an error: it ended its process, or wrote out of bounds. Nothing if it has
  // not. It may turn out long after its last call, when another kernel stumbles over what it wrote.
  virtual std::optional<std::string> fault_of(const Candidate&) const { return std::nullopt; }
  // CPU time so far of this process and of all that kernels ran in.
  virtual double cpu_seconds() const;
};

}  // namespace gemmsmith
