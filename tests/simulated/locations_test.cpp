// Every operation of a template of Hopper says which of its lines made it: reports, PTX line numbers and timelines show them.
#include <gtest/gtest.h>

#include <set>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "targets/simulator/simulator_target.h"
#include "templates/template.h"

namespace gemmsmith::test {
namespace {

TEST(Locations, EveryOperationOfATemplateHasALineInIt) {
  const auto target = make_simulator_target("sm_90a").value();
  int kernels = 0;
  for (const KernelTemplate& t : templates()) {
    if (t.device_kind != target->facts().kind) continue;
    for (const char* text :
         {"200x136x440 dtype=bf16 b=col",
          "200x136x440 dtype=bf16 b=col d=f32 alpha=2 beta=1 epilogue=gelu(acc + bias[n]) + aux[m,n]",
          "2x200x136x440 dtype=f16 b=col d=col", "16x136x440 dtype=bf16 b=col"}) {
      const GemmProblem problem = GemmProblem::parse(text).value();
      if (!t.supports(problem, target->facts())) continue;
      int of_problem = 0;
      for (const ScoredConfig& config : t.configs(problem, target->facts())) {
        if (!config.dropped.empty() || of_problem++ % 8 != 0 || of_problem > 24) continue;
        IrContext context;
        const auto kernel = stage_kernel(context, t.name + " " + config.config, problem, target->facts());
        ASSERT_TRUE(kernel.ok()) << kernel.error().text();
        ++kernels;
        const std::string file = "src/templates/" + t.name + ".cpp";
        std::set<unsigned> lines;
        static_cast<mlir::Operation*>(kernel->operation())->walk([&](mlir::Operation* op) {
          mlir::Location loc = op->getLoc();
          if (auto named = mlir::dyn_cast<mlir::NameLoc>(loc)) loc = named.getChildLoc();
          auto line = mlir::dyn_cast<mlir::FileLineColLoc>(loc);
          ASSERT_TRUE(line) << op->getName().getStringRef().str() << " has no line";
          // The kernel itself begins where it is recorded, and what belongs to no line of it is there too.
          const bool frame = mlir::isa<mlir::ModuleOp, mlir::LLVM::LLVMFuncOp, mlir::LLVM::ReturnOp>(op);
          const bool inside = line.getFilename().getValue().ends_with(file);
          ASSERT_TRUE(inside || (frame && line.getFilename().getValue().ends_with("src/templates/templates.cpp")))
              << op->getName().getStringRef().str() << " at " << line.getFilename().str() << ":" << line.getLine();
          if (inside) lines.insert(line.getLine());
        });
        EXPECT_GT(lines.size(), 10u) << t.name;
      }
    }
  }
  EXPECT_GT(kernels, 20);
}

}  // namespace
}  // namespace gemmsmith::test
