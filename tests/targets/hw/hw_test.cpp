// Each operation of the hw dialect has PTX and a meaning in the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/hw.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "targets/cuda/lower_hw.h"
#include "targets/hw_samples.h"
#include "targets/simulator/lower.h"

namespace gemmsmith {
namespace {

std::set<std::string> operations_of_the_dialect() {
  IrContext context;
  context.mlir().getOrLoadDialect<hw::HwDialect>();
  std::set<std::string> names;
  for (const mlir::RegisteredOperationName& name : context.mlir().getRegisteredOperations())
    if (name.getDialectNamespace() == "hw") names.insert(name.getStringRef().str());
  return names;
}

TEST(HwDialect, EveryOperationHasSamples) {
  std::set<std::string> sampled;
  for (const auto& [name, lines] : hw_samples()) sampled.insert(name);
  EXPECT_EQ(sampled, operations_of_the_dialect()) << "tests/targets/hw_samples.cpp is where they are added";
}

TEST(HwDialect, EveryOperationHasPtx) {
  const std::vector<std::string_view> lowered = lowered_hw_ops();
  EXPECT_EQ(std::set<std::string>(lowered.begin(), lowered.end()), operations_of_the_dialect())
      << "src/targets/cuda/lower_hw.cpp is where they are added";
}

bool has_hw(mlir::Operation* module) {
  return module
      ->walk([](mlir::Operation* op) {
        return llvm::isa<hw::HwDialect>(op->getDialect()) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

TEST(HwDialect, NoOperationIsLeftByEitherTarget) {
  for (const auto& [name, samples] : hw_samples())
    for (const std::string& lines : samples)
      for (const bool simulated : {false, true}) {
        IrContext context;
        const auto ir = gpu_kernel_text(hw_kernel(lines))(context);
        ASSERT_TRUE(ir.ok()) << ir.error().text() << "\n" << lines;
        auto* const module = static_cast<mlir::Operation*>(ir->operation());
        EXPECT_TRUE(has_hw(module));
        if (simulated) {
          const auto tables = simulator::lower_to_simulator(module);
          EXPECT_TRUE(tables.ok()) << tables.error().text() << "\n" << lines;
        } else {
          lower_hw(module);
        }
        EXPECT_FALSE(has_hw(module)) << (simulated ? "simulator" : "PTX") << " of " << lines;
      }
}

}  // namespace
}  // namespace gemmsmith
