// Tensor cores and the matrices that feed them.
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/simulator/lowering.h"

namespace gemmsmith::simulator {

using namespace mlir;
using Outcome = Lowering::Outcome;

namespace {
constexpr auto kDone = Outcome::replaced;

static_assert(int(MmaType::f16) == int(hw::MmaType::f16) && int(MmaType::u8) == int(hw::MmaType::u8));

Outcome lower_block(Lowering& l, hw::WgmmaBlockOp o) {
  WgmmaBlock block;
  block.n = int(o.getN());
  block.type_a = static_cast<MmaType>(o.getTypeA());
  block.type_b = static_cast<MmaType>(o.getTypeB());
  block.mn_major_a = o.getMnMajorA();
  block.mn_major_b = o.getMnMajorB();
  block.a_in_registers = !o.getRegistersA().empty();
  block.a_m_steps = o.getAMnSteps().vec();
  block.a_k_steps = o.getAKSteps().vec();
  block.b_k_steps = o.getBKSteps().vec();
  l.tables.wgmma_blocks.push_back(std::move(block));

  const Value none = LLVM::ZeroOp::create(l.b, l.loc(), l.pointer);
  const Value nothing = LLVM::ConstantOp::create(l.b, l.loc(), l.b.getI64IntegerAttr(0));
  const Value sums = l.buffer_of(o.getAccumulators());
  const Value registers = o.getRegistersA().empty() ? none : l.buffer_of(o.getRegistersA(), 1);
  l.call("sim_wgmma_fence", {});
  l.call("sim_wgmma_block",
         {l.number(int64_t(l.tables.wgmma_blocks.size()) - 1), sums, registers,
          o.getDescriptorA() ? o.getDescriptorA() : nothing, o.getDescriptorB(), l.as_i32(o.getAccumulate())});
  l.call("sim_wgmma_commit_group", {});
  const auto results = l.loaded(sums, o.getAccumulators()[0].getType(), int64_t(o.getNumResults()));
  l.op->replaceAllUsesWith(results);
  return kDone;
}

Outcome lower_wait(Lowering& l, hw::WgmmaWaitOp o) {
  const int64_t n = int64_t(o.getAccumulators().size());
  const Value sums = n ? l.buffer_of(o.getAccumulators()) : Value(LLVM::ZeroOp::create(l.b, l.loc(), l.pointer));
  l.call("sim_wgmma_wait_group", {l.number(o.getPending()), sums, l.number(n)});
  if (n) l.op->replaceAllUsesWith(l.loaded(sums, o.getAccumulators()[0].getType(), n));
  return kDone;
}

Outcome lower_mma_sync(Lowering& l, NVVM::MmaOp o) {
  const auto shape = o.getShape();
  const auto type = o.getMultiplicandAPtxType();
  if (shape.getM() != 16 || shape.getN() != 8 || o.getLayoutA() != NVVM::MMALayout::row ||
      o.getLayoutB() != NVVM::MMALayout::col)
    return Outcome::unknown;
  std::optional<MmaShape> known;
  const int k = int(shape.getK());
  if (!type || *type == NVVM::MMATypes::f16)
    known = k == 16 ? MmaShape::m16n8k16_f16 : MmaShape::m16n8k8_f16;
  else if (*type == NVVM::MMATypes::bf16)
    known = k == 16 ? MmaShape::m16n8k16_bf16 : MmaShape::m16n8k8_bf16;
  else if (*type == NVVM::MMATypes::tf32)
    known = k == 8 ? MmaShape::m16n8k8_tf32 : MmaShape::m16n8k4_tf32;
  else if (*type == NVVM::MMATypes::s8)
    known = k == 32 ? MmaShape::m16n8k32_s8 : MmaShape::m16n8k16_s8;
  if (!known) return Outcome::unknown;
  const Type sum = o.getOperandC()[0].getType();
  if (sum != l.f32 && sum != l.i32) return Outcome::unknown;
  SmallVector<Value> factors;  // A, and B behind it
  for (ValueRange operands : {ValueRange(o.getOperandA()), ValueRange(o.getOperandB())})
    for (Value v : operands)
      factors.push_back(v.getType() == l.i32 ? v : Value(LLVM::BitcastOp::create(l.b, l.loc(), l.i32, v)));
  const Value a = l.buffer_of(factors, 1);
  const Value b =
      LLVM::GEPOp::create(l.b, l.loc(), l.pointer, l.i32, a, ArrayRef<LLVM::GEPArg>{int32_t(o.getOperandA().size())});
  const Value c = l.buffer_of(o.getOperandC());
  l.call("sim_mma", {l.number_of(*known), c, a, b, c});
  l.replace(l.tuple_of(o.getRes().getType(), l.loaded(c, sum, int64_t(o.getOperandC().size()))));
  return kDone;
}

}  // namespace

Outcome lower_mma(Lowering& l) {
  return llvm::TypeSwitch<Operation*, Outcome>(l.op)
      .Case([&](hw::WgmmaBlockOp o) { return lower_block(l, o); })
      .Case([&](hw::WgmmaWaitOp o) { return lower_wait(l, o); })
      .Case([&](NVVM::MmaOp o) { return lower_mma_sync(l, o); })
      .Case([&](NVVM::LdMatrixOp o) {
        if (o.getShape().getM() != 8 || o.getShape().getN() != 8) return Outcome::unknown;
        const int64_t n = o.getNum();
        const Value to = l.buffer(l.i32, n);
        l.call("sim_ldmatrix",
               {l.generic(o.getPtr()), l.number(n), l.number(o.getLayout() == NVVM::MMALayout::col), to});
        l.replace(l.tuple_of(o.getRes().getType(), l.loaded(to, l.i32, n)));
        return kDone;
      })
      .Case([&](NVVM::StMatrixOp o) {
        if (o.getShape().getM() != 8 || o.getShape().getN() != 8) return Outcome::unknown;
        const Value from = l.buffer_of(o.getSources());
        l.call("sim_stmatrix", {l.generic(o.getPtr()), l.number(int64_t(o.getSources().size())),
                                l.number(o.getLayout() == NVVM::MMALayout::col), from});
        return kDone;
      })
      .Default([](Operation*) { return Outcome::unknown; });
}

}  // namespace gemmsmith::simulator
