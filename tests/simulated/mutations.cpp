#include "simulated/mutations.h"

#include <functional>
#include <map>

#include "ir/hw.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace gemmsmith::test {
namespace {

using namespace mlir;

template <class Op>
SmallVector<Op> all(ModuleOp module) {
  SmallVector<Op> ops;
  module.walk([&](Op op) { ops.push_back(op); });
  return ops;
}
// Says whether there was one.
template <class Op, class F>
bool each(ModuleOp module, F&& change) {
  const SmallVector<Op> ops = all<Op>(module);
  for (Op op : ops) change(op);
  return !ops.empty();
}
template <class Op>
bool erase(ModuleOp module, const std::function<bool(Op)>& which = [](Op) { return true; }) {
  bool any = false;
  for (Op op : all<Op>(module)) {
    if (!which(op)) continue;
    op->erase();
    any = true;
  }
  return any;
}

// What the author called.
StringRef label(Operation* op) {
  const auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().getValue() : "";
}
bool in_loop(Operation* op) { return bool(op->getParentOfType<scf::ForOp>()); }
Value number(OpBuilder& b, Operation* at, int64_t n) {
  return arith::ConstantOp::create(b, at->getLoc(), b.getI32IntegerAttr(int32_t(n)));
}
Value sum(OpBuilder& b, Operation* at, Value x, int64_t n) {
  return arith::AddIOp::create(b, at->getLoc(), x, number(b, at, n));
}

bool expect_more(ModuleOp m, int bytes) {
  return each<NVVM::MBarrierArriveExpectTxOp>(m, [&](auto op) {
    OpBuilder b(op);
    op.getTxcountMutable().assign(sum(b, op, op.getTxcount(), bytes));
  });
}
// Arrivals that the empty barriers count. A ring's barriers are initialised in pairs, full before empty, and their counts are
// values of their own.
bool count_more(ModuleOp m, int arrivals) {
  const auto inits = all<NVVM::MBarrierInitOp>(m);
  if (inits.size() < 2) return false;
  const Value empty = SmallVector<NVVM::MBarrierInitOp>(inits)[1].getCount();
  OpBuilder b(inits.front());
  const Value changed = sum(b, inits.front(), empty, arrivals);
  for (NVVM::MBarrierInitOp init : inits)
    if (init.getCount() == empty) init.getCountMutable().assign(changed);
  return true;
}
bool erase_cluster_sync(ModuleOp m, bool last) {
  auto arrive = all<NVVM::ClusterArriveOp>(m);
  auto wait = all<NVVM::ClusterWaitOp>(m);
  if (arrive.size() < 2) return false;
  (last ? arrive.back() : arrive.front())->erase();
  (last ? wait.back() : wait.front())->erase();
  return true;
}
bool erase_wait(ModuleOp m, StringRef of) {
  return erase<hw::MbarrierWaitOp>(m, [&](hw::MbarrierWaitOp op) { return label(op) == of; });
}
bool release_own_cta_only(ModuleOp m) {  // the right number of arrivals, at the wrong barriers
  bool any = false;
  each<NVVM::MapaOp>(m, [&](auto op) {
    if (label(op) != "accumulator") return;
    OpBuilder b(op);
    op.getBMutable().assign(NVVM::ClusterId::create(b, op.getLoc(), b.getI32Type()));
    any = true;
  });
  return any;
}
bool never_release(ModuleOp m) {
  const bool local = erase<NVVM::MBarrierArriveOp>(m, [](auto op) { return label(op) == "mma"; });
  const bool remote = erase<hw::MbarrierArriveRemoteOp>(m, [](auto op) { return label(op) == "mma"; });
  return local || remote;
}
bool release_early(ModuleOp m) {
  bool any = false;
  each<hw::WgmmaWaitOp>(m, [&](auto op) {
    if (op.getPending() != 1) return;
    op.setPending(2);
    any = true;
  });
  return any;
}
bool read_accumulators_early(ModuleOp m) {
  return each<hw::WgmmaWaitOp>(
      m, [](auto op) { op->replaceAllUsesWith(op.getAccumulators().take_front(op->getNumResults())); });
}
bool lax_wait(ModuleOp m) {
  bool any = false;
  each<NVVM::CpAsyncBulkWaitGroupOp>(m, [&](auto op) {
    if (!in_loop(op)) return;
    op.setGroup(op.getGroup() + 1);
    any = true;
  });
  return any;
}
bool store_unguarded(ModuleOp m) {
  bool any = false;
  each<LLVM::StoreOp>(m, [&](auto op) {
    auto guard = op->template getParentOfType<scf::IfOp>();
    if (!guard || cast<LLVM::LLVMPointerType>(op.getAddr().getType()).getAddressSpace() != 1) return;
    OpBuilder b(guard);
    guard.getConditionMutable().assign(arith::ConstantOp::create(b, guard.getLoc(), b.getBoolAttr(true)));
    any = true;
  });
  return any;
}
bool elect_in_half_a_warp(ModuleOp m) {
  return each<NVVM::ElectSyncOp>(m, [](auto op) {
    auto branch = op->template getParentOfType<scf::IfOp>();
    OpBuilder b(branch);
    const Location loc = branch.getLoc();
    const Value thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
    branch.getConditionMutable().assign(
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread, number(b, branch, 16)));
  });
}
bool multicast_to_one(ModuleOp m) {  // the first CTA of the mask
  bool any = false;
  each<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(m, [&](auto op) {
    if (!op.getMulticastMask()) return;
    OpBuilder b(op);
    const Location loc = op.getLoc();
    const Value mask = op.getMulticastMask(), zero = arith::ConstantOp::create(b, loc, b.getI16IntegerAttr(0));
    op.getMulticastMaskMutable().assign(
        arith::AndIOp::create(b, loc, mask, arith::SubIOp::create(b, loc, zero, mask).getResult()).getResult());
    any = true;
  });
  return any;
}
bool narrow(ModuleOp m, bool arrivals, bool waits) {
  const auto scope = hw::ScopeAttr::get(m.getContext(), hw::Scope::cta);
  bool any = false;
  if (arrivals)
    each<hw::MbarrierArriveRemoteOp>(m, [&](auto op) {
      if (label(op) == "cluster_barrier.sync") op.setScopeAttr(scope), any = true;
    });
  if (waits)
    each<hw::MbarrierWaitOp>(m, [&](auto op) {
      if (label(op) == "cluster_barrier.sync") op.setScopeAttr(scope), any = true;
    });
  return any;
}
bool all_take_the_first_tiles(ModuleOp m) {
  return each<NVVM::BlockIdXOp>(m, [](auto op) {
    OpBuilder b(op);
    op->getResult(0).replaceAllUsesWith(number(b, op, 0));
  });
}
// Of a kernel with one consumer and one k-block: each thread of it rewrites a word of A through the generic proxy, then
// all of them meet, and then A is multiplied.
bool rewrite_operand(ModuleOp m, bool fenced) {
  return each<hw::WgmmaBlockOp>(m, [&](auto op) {
    OpBuilder b(op);
    const Location loc = op.getLoc();
    LLVM::GlobalOp shared;
    m.walk([&](LLVM::GlobalOp global) { shared = global; });
    const Value thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
    const Value base = LLVM::AddressOfOp::create(b, loc, shared);
    const Value word = LLVM::GEPOp::create(b, loc, base.getType(), b.getI32Type(), base,
                                           ArrayRef<LLVM::GEPArg>{sum(b, op, thread, -128)});
    LLVM::StoreOp::create(b, loc, LLVM::LoadOp::create(b, loc, b.getI32Type(), word).getResult(), word);
    if (fenced)
      NVVM::FenceProxyOp::create(b, loc, NVVM::ProxyKind::async_shared,
                                 NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
    NVVM::BarrierOp::create(b, loc, Type(), number(b, op, 1), number(b, op, 128), NVVM::BarrierReductionAttr(),
                            Value());
  });
}
bool expect_after_copies(ModuleOp m) {
  return each<NVVM::MBarrierArriveExpectTxOp>(m, [&](auto op) {
    for (auto load : all<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(m))
      if (load->getBlock() == op->getBlock()) op->moveAfter(load);
  });
}
bool fence_after_barrier(ModuleOp m) {
  for (auto op : all<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(m)) {
    OpBuilder b(op);
    b.clone(*all<NVVM::FenceProxyOp>(m).front());
  }
  return erase<NVVM::FenceProxyOp>(
      m, [](auto op) { return !isa<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(op->getNextNode()); });
}

const std::map<std::string, std::function<bool(ModuleOp)>>& changes() {
  static const std::map<std::string, std::function<bool(ModuleOp)>> kChanges = {
      {"no fence.proxy.async", [](ModuleOp m) { return erase<NVVM::FenceProxyOp>(m); }},
      {"no wait before a staging buffer is reused",
       [](ModuleOp m) { return erase<NVVM::CpAsyncBulkWaitGroupOp>(m, [](auto op) { return in_loop(op); }); }},
      {"wait before reuse lets one more group be pending", lax_wait},
      {"no wait before exit",
       [](ModuleOp m) { return erase<NVVM::CpAsyncBulkWaitGroupOp>(m, [](auto op) { return !in_loop(op); }); }},
      {"no commit_group", [](ModuleOp m) { return erase<NVVM::CpAsyncBulkCommitGroupOp>(m); }},
      {"no barrier before the TMA store",
       [](ModuleOp m) { return erase<NVVM::BarrierOp>(m, [](auto op) { return bool(op.getBarrierId()); }); }},
      {"stage released one k-block early", release_early},
      {"stage released to the own CTA only", release_own_cta_only},
      {"stage never released", never_release},
      {"empty barriers count one arrival too many", [](ModuleOp m) { return count_more(m, 1); }},
      {"empty barriers count one arrival too few", [](ModuleOp m) { return count_more(m, -1); }},
      {"expect-tx 128 bytes too many", [](ModuleOp m) { return expect_more(m, 128); }},
      {"expect-tx 128 bytes too few", [](ModuleOp m) { return expect_more(m, -128); }},
      {"multicast reaches one CTA only", multicast_to_one},
      {"no wait for full", [](ModuleOp m) { return erase_wait(m, "ring.take"); }},
      {"no wait for empty", [](ModuleOp m) { return erase_wait(m, "ring.fill"); }},
      {"no wait for the cluster barrier", [](ModuleOp m) { return erase_wait(m, "cluster_barrier.sync"); }},
      {"no fence.mbarrier_init", [](ModuleOp m) { return erase<NVVM::FenceMbarrierInitOp>(m); }},
      {"no CTA barrier after init",
       [](ModuleOp m) { return erase<NVVM::BarrierOp>(m, [](auto op) { return !op.getBarrierId(); }); }},
      {"no cluster sync after init", [](ModuleOp m) { return erase_cluster_sync(m, false); }},
      {"no cluster sync before exit", [](ModuleOp m) { return erase_cluster_sync(m, true); }},
      {"accumulators read before their wait", read_accumulators_early},
      {"global store without its guard", store_unguarded},
      {"elect.sync in half a warp", elect_in_half_a_warp},
      {"no warp barrier around the sums", [](ModuleOp m) { return erase<NVVM::SyncWarpOp>(m); }},
      {"cluster barrier releases at CTA scope", [](ModuleOp m) { return narrow(m, true, false); }},
      {"cluster barrier acquires at CTA scope", [](ModuleOp m) { return narrow(m, false, true); }},
      {"every cluster takes the same tiles", all_take_the_first_tiles},
      {"operand rewritten without fence.proxy.async", [](ModuleOp m) { return rewrite_operand(m, false); }},
      {"legal: operand rewritten", [](ModuleOp m) { return rewrite_operand(m, true); }},
      {"legal: expect-tx after the copies", expect_after_copies},
      {"legal: fence by the storing thread, after the barrier", fence_after_barrier},
  };
  return kChanges;
}

}  // namespace

bool mutate(KernelIr& kernel, const std::string& name) {
  const auto change = changes().find(name);
  return change != changes().end() && change->second(cast<ModuleOp>(static_cast<Operation*>(kernel.operation())));
}

}  // namespace gemmsmith::test
