// Loads, stores, atomics, conversions.
#include <limits>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "targets/simulator/lowering.h"

namespace gemmsmith::simulator {

using namespace mlir;
using Outcome = Lowering::Outcome;

namespace {
constexpr auto kDone = Outcome::replaced;

int64_t bytes_of(Lowering& l, Type type) { return int64_t(DataLayout(l.module).getTypeSize(type).getFixedValue()); }

MemoryOrder order_of(LLVM::AtomicOrdering order) {
  switch (order) {
    case LLVM::AtomicOrdering::acquire:
      return MemoryOrder::acquire;
    case LLVM::AtomicOrdering::release:
      return MemoryOrder::release;
    case LLVM::AtomicOrdering::acq_rel:
      return MemoryOrder::acq_rel;
    case LLVM::AtomicOrdering::seq_cst:
      return MemoryOrder::seq_cst;
    default:
      return MemoryOrder::relaxed;
  }
}
std::optional<MemoryScope> scope_of(std::optional<StringRef> scope) {
  if (!scope || scope->empty()) return MemoryScope::system;
  if (*scope == "block") return MemoryScope::cta;
  if (*scope == "cluster") return MemoryScope::cluster;
  if (*scope == "device") return MemoryScope::gpu;
  return {};
}

Outcome lower_load(Lowering& l, LLVM::LoadOp o) {
  const int64_t bytes = bytes_of(l, o.getType());
  if (o.getOrdering() == LLVM::AtomicOrdering::not_atomic) {
    l.call("sim_load", {l.generic(o.getAddr()), l.number(bytes)});
    return Outcome::kept;
  }
  const auto scope = scope_of(o.getSyncscope());
  if (!scope || !o.getType().isInteger()) return Outcome::unknown;
  const Value bits = l.call("sim_load_ordered", {l.generic(o.getAddr()), l.number(bytes),
                                                 l.number_of(order_of(o.getOrdering())), l.number_of(*scope)});
  l.replace(bytes == 8 ? bits : Value(LLVM::TruncOp::create(l.b, l.loc(), o.getType(), bits)));
  return kDone;
}

Outcome lower_store(Lowering& l, LLVM::StoreOp o) {
  const Type type = o.getValue().getType();
  const int64_t bytes = bytes_of(l, type);
  if (o.getOrdering() == LLVM::AtomicOrdering::not_atomic) {
    l.call("sim_store", {l.generic(o.getAddr()), l.number(bytes)});
    return Outcome::kept;
  }
  const auto scope = scope_of(o.getSyncscope());
  if (!scope || !type.isInteger()) return Outcome::unknown;
  const Value bits = bytes == 8 ? o.getValue() : Value(LLVM::ZExtOp::create(l.b, l.loc(), l.i64, o.getValue()));
  l.call("sim_store_ordered",
         {l.generic(o.getAddr()), l.number(bytes), bits, l.number_of(order_of(o.getOrdering())), l.number_of(*scope)});
  return kDone;
}

Outcome lower_atomic(Lowering& l, LLVM::AtomicRMWOp o) {
  const Type type = o.getVal().getType();
  const auto scope = scope_of(o.getSyncscope());
  const bool real = o.getBinOp() == LLVM::AtomicBinOp::fadd;
  if (!scope || !(real ? type == l.f32 : type == l.i32)) return Outcome::unknown;
  if (!real && o.getBinOp() != LLVM::AtomicBinOp::add && o.getBinOp() != LLVM::AtomicBinOp::xchg)
    return Outcome::unknown;
  const AtomicOp op = o.getBinOp() == LLVM::AtomicBinOp::xchg ? AtomicOp::exch : AtomicOp::add;
  const Value word = real ? Value(LLVM::BitcastOp::create(l.b, l.loc(), l.i32, o.getVal())) : o.getVal();
  const Value bits = LLVM::ZExtOp::create(l.b, l.loc(), l.i64, word);
  const Value none = LLVM::ConstantOp::create(l.b, l.loc(), l.b.getI64IntegerAttr(0));
  const Value before = l.call(
      "sim_atomic", {l.generic(o.getPtr()), l.number_of(op), l.number_of(real ? AtomicType::f32 : AtomicType::u32),
                     bits, none, l.number_of(order_of(o.getOrdering())), l.number_of(*scope)});
  const Value old = LLVM::TruncOp::create(l.b, l.loc(), l.i32, before);
  l.replace(real ? Value(LLVM::BitcastOp::create(l.b, l.loc(), l.f32, old)) : old);
  return kDone;
}

// Memory that nothing has written is not zero.
Outcome lower_undefined(Lowering& l, LLVM::UndefOp o) {
  if (o.getType() == l.f32) {
    l.replace(LLVM::ConstantOp::create(l.b, l.loc(), l.b.getF32FloatAttr(std::numeric_limits<float>::quiet_NaN())));
    return kDone;
  }
  if (o.getType() == l.i32) {
    l.replace(l.number(0x7f7f7f7f));
    return kDone;
  }
  return Outcome::kept;
}

Outcome lower_load_global(Lowering& l, hw::LoadGlobalOp o) {
  const int64_t words = int64_t(o.getNumResults());
  const Value from = l.generic(o.getAddress());
  l.call("sim_load", {from, l.number(4 * words)});
  SmallVector<Value> loaded;
  for (int32_t i = 0; i < words; ++i)
    loaded.push_back(LLVM::LoadOp::create(
        l.b, l.loc(), l.i32, LLVM::GEPOp::create(l.b, l.loc(), l.pointer, l.i32, from, ArrayRef<LLVM::GEPArg>{i})));
  l.op->replaceAllUsesWith(loaded);
  return kDone;
}

// The loop is spelled out: the simulator sees one ordered load after another and knows that they are the same.
Outcome lower_flag_wait(Lowering& l, hw::FlagWaitOp o) {
  const MemoryScope scope = o.getScope() == hw::Scope::cluster ? MemoryScope::cluster : MemoryScope::gpu;
  const Value flag = l.generic(o.getFlag()), bytes = l.number(4), order = l.number_of(MemoryOrder::acquire),
              reach = l.number_of(scope);
  auto loop = scf::WhileOp::create(l.b, l.loc(), TypeRange(), ValueRange());
  l.b.createBlock(&loop.getBefore());
  const Value bits = l.call("sim_load_ordered", {flag, bytes, order, reach});
  const Value now = LLVM::TruncOp::create(l.b, l.loc(), l.i32, bits);
  const Value other = LLVM::ICmpOp::create(l.b, l.loc(), LLVM::ICmpPredicate::ne, now, o.getValue());
  scf::ConditionOp::create(l.b, l.loc(), other, ValueRange());
  l.b.createBlock(&loop.getAfter());
  scf::YieldOp::create(l.b, l.loc(), ValueRange());
  return kDone;
}

}  // namespace

Outcome lower_memory(Lowering& l) {
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](LLVM::LoadOp o) { return lower_load(l, o); })
      .Case([&](LLVM::StoreOp o) { return lower_store(l, o); })
      .Case([&](LLVM::AtomicRMWOp o) { return lower_atomic(l, o); })
      .Case([&](LLVM::UndefOp o) { return lower_undefined(l, o); })
      .Case([&](hw::LoadGlobalOp o) { return lower_load_global(l, o); })
      .Case([&](hw::FlagWaitOp o) { return lower_flag_wait(l, o); })
      .Case([&](LLVM::AddressOfOp o) {
        auto global = l.module.lookupSymbol<LLVM::GlobalOp>(o.getGlobalName());
        if (!global || global.getAddrSpace() != 3) return Outcome::kept;
        const Value base = l.call("sim_shared", {l.number(0)});  // the one dynamic array
        l.replace(LLVM::AddrSpaceCastOp::create(l.b, l.loc(), o.getType(), base));
        return kDone;
      })
      .Case([&](NVVM::ConvertF32x2ToBF16x2Op o) {
        const Value word = l.call("sim_convert_pack", {l.number_of(PackedType::bf16x2), o.getSrcHi(), o.getSrcLo()});
        l.replace(LLVM::BitcastOp::create(l.b, l.loc(), o.getDst().getType(), word));
        return kDone;
      })
      .Case([&](hw::TanhOp o) {
        l.replace(l.call("sim_math", {l.number_of(MathFunction::tanh), o.getX()}));
        return kDone;
      })
      .Case([&](hw::Exp2Op o) {
        l.replace(l.call("sim_math", {l.number_of(MathFunction::ex2), o.getX()}));
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

}  // namespace gemmsmith::simulator
