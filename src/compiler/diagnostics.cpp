#include "compiler/diagnostics.h"

#include <optional>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

namespace gemmsmith {

std::string line_of(mlir::Location location) {
  std::string line;
  location->walk([&](mlir::Location part) {
    auto file = llvm::dyn_cast<mlir::FileLineColLoc>(part);
    if (!file) return mlir::WalkResult::advance();
    line = file.getFilename().str() + ":" + std::to_string(file.getLine());
    return mlir::WalkResult::interrupt();
  });
  return line;
}

struct DiagnosticCollector::State {
  struct Report {
    std::string where, message;
    std::vector<std::string> notes;
  };
  mlir::MLIRContext& context;
  bool printed_ops;
  std::optional<Report> first;
  mlir::ScopedDiagnosticHandler handler;

  explicit State(mlir::MLIRContext& context)
      : context(context),
        printed_ops(context.shouldPrintOpOnDiagnostic()),
        handler(&context, [this](mlir::Diagnostic& diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && !first) record(diagnostic);
          return mlir::success();
        }) {
    context.printOpOnDiagnostic(false);  // of a loop that would be its whole body
  }
  ~State() { context.printOpOnDiagnostic(printed_ops); }

  void record(mlir::Diagnostic& diagnostic) {
    first = Report{line_of(diagnostic.getLocation()), diagnostic.str(), {}};
    for (mlir::Diagnostic& note : diagnostic.getNotes()) {
      const std::string line = line_of(note.getLocation());
      first->notes.push_back(line.empty() ? note.str() : line + ": " + note.str());
    }
  }
};

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext& context) : state_(std::make_unique<State>(context)) {}
DiagnosticCollector::~DiagnosticCollector() = default;

Error DiagnosticCollector::error(std::string given, const std::string& rule) const {
  Error error{.where = "compiler", .given = std::move(given), .limit = rule, .remedy = {}, .notes = {}};
  if (!state_->first) return error;
  if (!state_->first->where.empty()) error.where = state_->first->where;
  error.limit += ": " + state_->first->message;
  error.notes = state_->first->notes;
  return error;
}

}  // namespace gemmsmith
