// What MLIR reports, as an Error at the line of the template that made the operation.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/result.h"

namespace mlir {
class MLIRContext;
class Location;
}  // namespace mlir

namespace gemmsmith {

// The author's line, "gemm_packed.cpp:41"; empty for an operation that has none.
std::string line_of(mlir::Location);

// Collects the diagnostics of a context while it lives; without one MLIR prints them. One at a time for each context,
// used by the context's thread.
class DiagnosticCollector {
 public:
  explicit DiagnosticCollector(mlir::MLIRContext&);
  ~DiagnosticCollector();
  DiagnosticCollector(const DiagnosticCollector&) = delete;
  DiagnosticCollector& operator=(const DiagnosticCollector&) = delete;

  // The first error reported: `given` and `rule` say who broke what ("kernel gemm_packed", "does not verify"); MLIR's
  // sentence follows the rule, and the notes attached to it become notes.
  Error error(std::string given, const std::string& rule) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
