#include "compiler/kernel_text.h"

#include <gtest/gtest.h>

#include "compiler/diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "targets/cpu/describe.h"

namespace gemmsmith {
namespace {

// All of this executable is skipped on a CPU that the target refuses.
class NeedsTheTarget : public testing::Environment {
  void SetUp() override {
    if (auto facts = describe_cpu(host_probe()); !facts.ok()) GTEST_SKIP() << facts.error().text();
  }
};
[[maybe_unused]] testing::Environment* const needs_the_target = testing::AddGlobalTestEnvironment(new NeedsTheTarget);

}  // namespace

std::function<Result<KernelIr>(IrContext&)> kernel_text(const std::string& text, const KernelSignature& signature,
                                                        const std::string& name) {
  return [=](IrContext& context) -> Result<KernelIr> {
    const DiagnosticCollector diagnostics(context.mlir());
    const mlir::ParserConfig config(&context.mlir(), /*verifyAfterParse=*/false);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "kernel.mlir");
    if (!module) return diagnostics.error("the text", "is no MLIR");
    return KernelIr(module.release().getOperation(), name, signature);
  };
}

std::string lanes_of(int lanes, const std::string& element) {
  return lanes == 1 ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
}

std::string map_kernel(int lanes, const std::string& from, const std::string& to, const std::string& body) {
  const std::string x = lanes_of(lanes, from), y = lanes_of(lanes, to);
  return R"(llvm.func @kernel(%arguments: !llvm.ptr) {
  %out_word = llvm.getelementptr %arguments[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_word = llvm.getelementptr %arguments[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %in = llvm.load %arguments : !llvm.ptr -> !llvm.ptr
  %out = llvm.load %out_word : !llvm.ptr -> !llvm.ptr
  %n = llvm.load %n_word : !llvm.ptr -> i64
  %zero = arith.constant 0 : i64
  %lanes = arith.constant )" +
         std::to_string(lanes) + R"( : i64
  scf.for %i = %zero to %n step %lanes : i64 {
    %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         from + R"(
    %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         to + R"(
    %x = llvm.load %from {alignment = 2 : i64} : !llvm.ptr -> )" +
         x + "\n    " + body + R"(
    llvm.store %y, %to {alignment = 2 : i64} : )" +
         y + R"(, !llvm.ptr
  }
  llvm.return
}
)";
}

}  // namespace gemmsmith
