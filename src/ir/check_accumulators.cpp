#include "ir/check_accumulators.h"

#include <string>

#include "ir/hw.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Location.h"

namespace gemmsmith {

using namespace mlir;

namespace {

struct Place {
  std::string line, name;  // "gemm.cpp:41"; what the author called, or the operation
  std::string text() const { return line.empty() ? name : name + " at " + line; }
};
Place place_of(Operation* op) {
  Place place{"", op->getName().getStringRef().str()};
  Location loc = op->getLoc();
  if (auto name = dyn_cast<NameLoc>(loc)) {
    place.name = name.getName().str();
    loc = name.getChildLoc();
  }
  if (auto line = dyn_cast<FileLineColLoc>(loc))
    place.line = line.getFilename().str() + ":" + std::to_string(line.getLine());
  return place;
}

// Follows values from the blocks that make them to all of their uses.
class Check {
 public:
  Status run(Operation* module) {
    module->walk([&](hw::WgmmaBlockOp block) { add(block.getResults(), block); });
    while (!work_.empty()) {
      const Value v = work_.pop_back_val();
      for (OpOperand& use : v.getUses()) follow(use, from_[v]);
    }
    if (!reader_) return Done{};
    // The first one in the order of the kernel, whatever the order of the search.
    const Place reader = place_of(reader_), writer = place_of(writer_);
    return Error{reader.line.empty() ? "kernel" : reader.line,
                 "a sum that " + reader.name + " reads",
                 "may still be written by the wgmma of " + writer.text(),
                 "an hw.wgmma_wait in between, and the values that it gives",
                 {}};
  }

 private:
  void add(ValueRange values, hw::WgmmaBlockOp from) {
    for (const Value v : values)
      if (from_.try_emplace(v, from).second) work_.push_back(v);
  }
  void follow(OpOperand& use, hw::WgmmaBlockOp from) {
    Operation* const user = use.getOwner();
    if (auto block = dyn_cast<hw::WgmmaBlockOp>(user)) {
      const auto [first, count] = block.getODSOperandIndexAndLength(0);
      if (use.getOperandNumber() < first + count) return;  // an accumulator, not a register of A
    } else if (auto wait = dyn_cast<hw::WgmmaWaitOp>(user)) {
      if (wait.getPending() > 0) add(wait.getResults()[use.getOperandNumber()], from);
      return;
    } else if (isa<scf::YieldOp>(user)) {
      Operation* const parent = user->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) add(loop.getRegionIterArg(use.getOperandNumber()), from);
      return add(parent->getResult(use.getOperandNumber()), from);
    } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
      if (const BlockArgument carried = loop.getTiedLoopRegionIterArg(&use)) return add(carried, from);
    }
    if (reader_ && !comes_before(user, reader_)) return;
    reader_ = user;
    writer_ = from;
  }
  // In the order in which the kernel is written.
  static bool comes_before(Operation* x, Operation* y) {
    bool found = false;
    Operation* top = x;
    while (top->getParentOp()) top = top->getParentOp();
    top->walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (op != x && op != y) return WalkResult::advance();
      found = op == x;
      return WalkResult::interrupt();
    });
    return found;
  }

  llvm::DenseMap<Value, hw::WgmmaBlockOp> from_;
  SmallVector<Value> work_;
  Operation* reader_ = nullptr;
  Operation* writer_ = nullptr;
};

}  // namespace

Status check_accumulators(Operation* module) { return Check().run(module); }

}  // namespace gemmsmith
