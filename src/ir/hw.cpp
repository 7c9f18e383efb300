#include "ir/hw.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/hw_dialect.cpp.inc"
#include "ir/hw_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/hw_attributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/hw_ops.cpp.inc"

namespace gemmsmith::hw {

bool is_pointer(mlir::Type type, unsigned address_space) {
  const auto pointer = mlir::dyn_cast<mlir::LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == address_space;
}

void HwDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/hw_attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/hw_ops.cpp.inc"
      >();
}

namespace {
bool same_family(MmaType a, MmaType b) {
  const auto fp8 = [](MmaType t) { return t == MmaType::e4m3 || t == MmaType::e5m2; };
  return a == b || (fp8(a) && fp8(b)) || (is_integer(a) && is_integer(b));
}
}  // namespace

// The shapes and types are those of the PTX ISA, "Asynchronous wgmma Instructions".
llvm::LogicalResult WgmmaBlockOp::verify() {
  const int64_t n = getN(), k_steps = int64_t(getAKSteps().size());
  const int64_t instructions = int64_t(getAMnSteps().size());
  if (!same_family(getTypeA(), getTypeB()))
    return emitOpError() << "multiplies " << stringifyMmaType(getTypeA()) << " by " << stringifyMmaType(getTypeB())
                         << ", which no wgmma does";
  const bool integer = is_integer(getTypeA());
  const bool legal_n = n >= 8 && n <= 256 && n % 8 == 0 && !(integer && n > 24 && n % 16 != 0);
  if (!legal_n)
    return emitOpError() << "n = " << n << " is not one of "
                         << (integer ? "8, 16, 24, 32, 48, ... 256" : "8, 16, 24, ... 256");
  if ((getMnMajorA() || getMnMajorB()) && mma_bytes(getTypeA()) != 2)
    return emitOpError() << stringifyMmaType(getTypeA()) << " operands are K-major; only 16-bit types can be MN-major";
  const size_t expected = size_t(instructions * n / 2);
  if (getAccumulators().size() != expected || getResults().size() != expected)
    return emitOpError() << getAccumulators().size() << " accumulators for " << instructions << " instructions of m64n"
                         << n << ", which have " << expected;
  mlir::Builder b(getContext());
  const mlir::Type sum = integer ? mlir::Type(b.getI32Type()) : mlir::Type(b.getF32Type());
  for (const mlir::Type t : getResultTypes())
    if (t != sum) return emitOpError() << "has a sum of " << t << " where " << sum << " belongs";
  for (const mlir::Value v : getAccumulators())
    if (v.getType() != sum) return emitOpError() << "has a sum of " << v.getType() << " where " << sum << " belongs";
  if (k_steps == 0 || instructions == 0) return emitOpError() << "has no instruction";
  if (int64_t(getBKSteps().size()) != k_steps)
    return emitOpError() << "A has " << k_steps << " steps along k, B " << getBKSteps().size();
  const size_t registers = getRegistersA().size();
  if (bool(getDescriptorA()) == (registers > 0))
    return emitOpError() << "takes A from a descriptor or from registers, one of the two";
  if (registers > 0 && registers != size_t(4 * k_steps * instructions))
    return emitOpError() << registers << " registers of A, not " << 4 * k_steps * instructions;
  if (registers > 0 && getMnMajorA()) return emitOpError() << "A in registers has no MN-major form";
  return llvm::success();
}

llvm::LogicalResult WgmmaWaitOp::verify() {
  if (getAccumulators().getTypes() != getResultTypes())
    return emitOpError() << "gives " << getResults().size() << " values for " << getAccumulators().size();
  if (getPending() > 7) return emitOpError() << "lets " << getPending() << " groups be pending, more than 7";
  return llvm::success();
}

llvm::LogicalResult MbarrierWaitOp::verify() {
  if (getScope() == Scope::gpu) return emitOpError() << "acquires at cta or cluster scope: barriers reach no further";
  return llvm::success();
}
llvm::LogicalResult MbarrierArriveRemoteOp::verify() {
  if (getScope() == Scope::gpu) return emitOpError() << "releases at cta or cluster scope: barriers reach no further";
  return llvm::success();
}

llvm::LogicalResult FlagWaitOp::verify() {
  if (getScope() == Scope::cta)
    return emitOpError() << "acquires at cluster or gpu scope: within a CTA there are barriers";
  return llvm::success();
}

llvm::LogicalResult LoadGlobalOp::verify() {
  const size_t words = getWords().size();
  if (words != 1 && words != 2 && words != 4) return emitOpError() << "loads " << words << " words, not 1, 2 or 4";
  return llvm::success();
}

}  // namespace gemmsmith::hw
