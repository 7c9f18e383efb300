// TMA, bulk copies, cp.async.
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/simulator/lowering.h"

namespace gemmsmith::simulator {

using namespace mlir;
using Outcome = Lowering::Outcome;

namespace {
constexpr auto kDone = Outcome::replaced;
constexpr size_t kMaxRank = 5;

void append_coordinates(Lowering& l, SmallVector<Value>& arguments, ValueRange coordinates) {
  arguments.push_back(l.number(int64_t(coordinates.size())));
  for (size_t i = 0; i < kMaxRank; ++i) arguments.push_back(i < coordinates.size() ? coordinates[i] : l.number(0));
}

Outcome lower_tma(Lowering& l) {
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp o) {
        if (o.getPredicate() || o.getL2CacheHint() || !o.getIm2colOffsets().empty() ||
            o.getMode() != NVVM::TMALoadMode::TILE)
          return Outcome::unknown;
        SmallVector<Value> a{l.generic(o.getDstMem()), l.generic(o.getTmaDescriptor()), l.generic(o.getMbar())};
        append_coordinates(l, a, o.getCoordinates());
        a.push_back(o.getMulticastMask() ? l.as_i32(o.getMulticastMask()) : l.number(-1));
        a.push_back(l.number(o.getIsCTAOnly()));
        l.call("sim_tma_load", a);
        return kDone;
      })
      .Case([&](NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp o) {
        if (o.getPredicate() || o.getL2CacheHint() || o.getMode() != NVVM::TMAStoreMode::TILE) return Outcome::unknown;
        SmallVector<Value> a{l.generic(o.getTmaDescriptor()), l.generic(o.getSrcMem())};
        append_coordinates(l, a, o.getCoordinates());
        l.call("sim_tma_store", a);
        return kDone;
      })
      .Case([&](NVVM::CpAsyncBulkTensorReduceOp o) {
        if (o.getL2CacheHint() || o.getMode() != NVVM::TMAStoreMode::TILE) return Outcome::unknown;
        static const std::pair<NVVM::TMAReduxKind, AtomicOp> kinds[] = {{NVVM::TMAReduxKind::ADD, AtomicOp::add},
                                                                        {NVVM::TMAReduxKind::MIN, AtomicOp::min},
                                                                        {NVVM::TMAReduxKind::MAX, AtomicOp::max}};
        const auto* kind = llvm::find_if(kinds, [&](const auto& k) { return k.first == o.getRedKind(); });
        if (kind == std::end(kinds)) return Outcome::unknown;
        SmallVector<Value> a{l.generic(o.getTmaDescriptor()), l.generic(o.getSrcMem()), l.number_of(kind->second)};
        append_coordinates(l, a, o.getCoordinates());
        l.call("sim_tma_reduce", a);
        return kDone;
      })
      .Case([&](NVVM::PrefetchOp o) {
        if (!o.getTensormap() || o.getPredicate()) return Outcome::unknown;
        l.call("sim_prefetch_tensormap", {l.generic(o.getAddr())});
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

}  // namespace

Outcome lower_copies(Lowering& l) {
  if (const Outcome done = lower_tma(l); done != Outcome::unknown) return done;
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](NVVM::CpAsyncBulkGlobalToSharedClusterOp o) {
        if (o.getL2CacheHint()) return Outcome::unknown;
        l.call("sim_bulk_load",
               {l.generic(o.getDstMem()), l.generic(o.getSrcMem()), l.as_i32(o.getSize()), l.generic(o.getMbar()),
                o.getMulticastMask() ? l.as_i32(o.getMulticastMask()) : l.number(-1)});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncBulkSharedCTAToGlobalOp o) {
        if (o.getL2CacheHint() || o.getByteMask()) return Outcome::unknown;
        l.call("sim_bulk_store", {l.generic(o.getDstMem()), l.generic(o.getSrcMem()), l.as_i32(o.getSize())});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncBulkCommitGroupOp) {
        l.call("sim_bulk_commit_group", {});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncBulkWaitGroupOp o) {
        l.call("sim_bulk_wait_group", {l.number(o.getGroup()), l.number(bool(o.getRead()))});
        return kDone;
      })
      .Case([&](NVVM::FenceProxyOp o) {
        if (o.getKind() != NVVM::ProxyKind::async_shared && o.getKind() != NVVM::ProxyKind::async)
          return Outcome::unknown;
        l.call("sim_fence_proxy_async",
               {l.number_of(o.getKind() == NVVM::ProxyKind::async_shared ? ProxySpace::shared : ProxySpace::all)});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncOp o) {
        const Value size = l.number(o.getSize());
        l.call("sim_cp_async",
               {l.generic(o.getDst()), l.generic(o.getSrc()), size, o.getCpSize() ? o.getCpSize() : size});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        l.call("sim_cp_async_commit_group", {});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp o) {
        l.call("sim_cp_async_wait_group", {l.number(o.getN())});
        return kDone;
      })
      .Case([&](NVVM::CpAsyncMBarrierArriveOp o) {
        l.call("sim_cp_async_mbarrier_arrive", {l.generic(o.getAddr()), l.number(o.getNoinc())});
        return kDone;
      })
      .Case([&](hw::StoreAsyncOp o) {
        const Value value = l.buffer_of(o.getValue());
        const int64_t bytes = o.getValue().getType().getIntOrFloatBitWidth() / 8;
        l.call("sim_st_async", {l.generic(o.getDestination()), value, l.number(bytes), l.generic(o.getBarrier())});
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

}  // namespace gemmsmith::simulator
