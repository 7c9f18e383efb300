// Who can offer a kernel. Five functions; the tuner knows sources only through them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

// One way to compute a problem. `config` is its printed form: unique within the source, and build() reads it back.
struct Candidate {
  std::string source;
  std::string config;       // "gemm_packed mr=8 nr=32 kc=256"; "default" where a library has no choice
  double predicted_us = 0;  // by the source's model; 0: it has none
};

// A candidate that the source's own rules exclude, with the rule and its numbers.
struct DroppedCandidate {
  std::string config;
  std::string rule;  // "packed block of B: 12.6 MB > 8.0 MB, half of the last-level cache"
};

struct CandidateSet {
  std::vector<Candidate> kept;  // best guess first
  std::vector<DroppedCandidate> dropped;
};

// A kernel ready to run a problem. run() may be called from one thread at a time; it uses the device's threads by
// itself.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(const GemmArguments&) = 0;
  virtual double build_ms() const { return 0; }  // from configuration to callable
  virtual std::string stage(const std::string& /*name*/) const {
    return {};
  }  // "mlir", "llvm", "asm", "object" where kept; else empty
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;     // "native"
  virtual std::string version() const = 0;  // a part of every key: "0.3.21 Cooperlake"
  // Why not says which part of the problem or which missing library, with the numbers.
  virtual Supports supports(const GemmProblem&, const DeviceFacts&) const = 0;
  // Only of supported problems. Deterministic.
  virtual CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const = 0;
  // May be called from several threads at once.
  virtual Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate&) = 0;
};

}  // namespace gemmsmith
