// Special registers, barriers, warps, clusters.
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/simulator/lowering.h"

namespace gemmsmith::simulator {

using namespace mlir;
using Outcome = Lowering::Outcome;

namespace {
constexpr auto kDone = Outcome::replaced;

MemoryScope scope_of(hw::Scope scope) {
  return scope == hw::Scope::cta       ? MemoryScope::cta
         : scope == hw::Scope::cluster ? MemoryScope::cluster
                                       : MemoryScope::gpu;
}

Outcome lower_registers(Lowering& l) {
  const auto read = [&](SpecialRegister which) {
    l.replace(l.call("sim_special_register", {l.number_of(which)}));
    return kDone;
  };
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](NVVM::ThreadIdXOp) { return read(SpecialRegister::tid_x); })
      .Case([&](NVVM::BlockDimXOp) { return read(SpecialRegister::ntid_x); })
      .Case([&](NVVM::BlockIdXOp) { return read(SpecialRegister::ctaid_x); })
      .Case([&](NVVM::GridDimXOp) { return read(SpecialRegister::nctaid_x); })
      .Case([&](NVVM::LaneIdOp) { return read(SpecialRegister::laneid); })
      .Case([&](NVVM::ClusterId) { return read(SpecialRegister::cluster_ctarank); })
      .Case([&](NVVM::ClusterDim) { return read(SpecialRegister::cluster_nctarank); })
      .Default([](Operation*) { return Outcome::unknown; });
}

Outcome lower_mbarriers(Lowering& l) {
  const Value release = l.number_of(MemoryOrder::release), acquire = l.number_of(MemoryOrder::acquire);
  const Value cta = l.number_of(MemoryScope::cta);
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](NVVM::MBarrierInitOp o) {
        if (o.getPredicate()) return Outcome::unknown;
        l.call("sim_mbarrier_init", {l.generic(o.getAddr()), o.getCount()});
        return kDone;
      })
      .Case([&](NVVM::MBarrierArriveOp o) {
        const Value count = o.getCount() ? o.getCount() : l.number(1);
        const Value state = l.call("sim_mbarrier_arrive", {l.generic(o.getAddr()), count, release, cta});
        if (!l.op->use_empty()) l.replace(state);
        return kDone;
      })
      .Case([&](NVVM::MBarrierArriveExpectTxOp o) {
        if (o.getPredicate() || !l.op->use_empty()) return Outcome::unknown;
        l.call("sim_mbarrier_arrive_expect_tx", {l.generic(o.getAddr()), o.getTxcount(), release, cta});
        return kDone;
      })
      .Case([&](hw::MbarrierArriveRemoteOp o) {
        l.call("sim_mbarrier_arrive",
               {l.generic(o.getBarrier()), l.number(1), release, l.number_of(scope_of(o.getScope()))});
        return kDone;
      })
      .Case([&](hw::MbarrierWaitOp o) {
        l.call("sim_mbarrier_wait_parity",
               {l.generic(o.getBarrier()), o.getParity(), acquire, l.number_of(scope_of(o.getScope()))});
        return kDone;
      })
      .Case([&](NVVM::FenceMbarrierInitOp) {
        l.call("sim_fence_mbarrier_init", {});
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

Outcome lower_shuffle(Lowering& l, NVVM::ShflOp o) {
  if (o.getVal().getType() != l.i32 || isa<LLVM::LLVMStructType>(o.getRes().getType())) return Outcome::unknown;
  const ShuffleMode mode = o.getKind() == NVVM::ShflKind::idx    ? ShuffleMode::idx
                           : o.getKind() == NVVM::ShflKind::up   ? ShuffleMode::up
                           : o.getKind() == NVVM::ShflKind::down ? ShuffleMode::down
                                                                 : ShuffleMode::bfly;
  const Value both =
      l.call("sim_shuffle", {l.number_of(mode), o.getThreadMask(), o.getVal(), o.getOffset(), o.getMaskAndClamp()});
  l.replace(LLVM::TruncOp::create(l.b, l.loc(), l.i32, both));
  return kDone;
}

}  // namespace

Outcome lower_threads(Lowering& l) {
  if (const Outcome done = lower_registers(l); done != Outcome::unknown) return done;
  if (const Outcome done = lower_mbarriers(l); done != Outcome::unknown) return done;
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](NVVM::ShflOp o) { return lower_shuffle(l, o); })
      .Case([&](NVVM::SyncWarpOp o) {
        l.call("sim_syncwarp", {o.getMask()});
        return kDone;
      })
      .Case([&](NVVM::ElectSyncOp o) {
        const Value one = l.call("sim_elect", {o.getMembermask() ? o.getMembermask() : l.number(-1)});
        l.replace(LLVM::TruncOp::create(l.b, l.loc(), l.i1, one));
        return kDone;
      })
      .Case([&](NVVM::SetMaxRegisterOp o) {
        l.call("sim_setmaxnreg",
               {l.number(o.getRegCount()), l.number(o.getAction() == NVVM::SetMaxRegisterAction::increase)});
        return kDone;
      })
      .Case([&](NVVM::BarrierOp o) {
        if (o.getReductionOp()) return Outcome::unknown;
        l.call("sim_barrier_sync", {o.getBarrierId() ? o.getBarrierId() : l.number(0),
                                    o.getNumberOfThreads() ? o.getNumberOfThreads() : l.number(-1)});
        return kDone;
      })
      .Case([&](NVVM::ClusterArriveOp) {
        l.call("sim_cluster_arrive", {l.number_of(MemoryOrder::release)});
        return kDone;
      })
      .Case([&](NVVM::ClusterWaitOp) {
        l.call("sim_cluster_wait", {});
        return kDone;
      })
      .Case([&](NVVM::MapaOp o) {
        const Value there = l.call("sim_mapa", {l.generic(o.getA()), o.getB()});
        l.replace(LLVM::AddrSpaceCastOp::create(l.b, l.loc(), o.getRes().getType(), there));
        return kDone;
      })
      .Case([&](NVVM::GriddepcontrolOp o) {
        l.call(o.getKind() == NVVM::GridDepActionKind::wait ? "sim_griddepcontrol_wait"
                                                            : "sim_griddepcontrol_launch_dependents",
               {});
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

}  // namespace gemmsmith::simulator
