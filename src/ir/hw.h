// The `hw` dialect. hw.td says what each operation is.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace gemmsmith::hw {
bool is_pointer(mlir::Type, unsigned address_space);
}  // namespace gemmsmith::hw

#include "ir/hw_dialect.h.inc"
#include "ir/hw_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/hw_attributes.h.inc"
#define GET_OP_CLASSES
#include "ir/hw_ops.h.inc"

namespace gemmsmith::hw {
constexpr int mma_bytes(MmaType type) {
  return type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
}
constexpr bool is_integer(MmaType type) { return type == MmaType::s8 || type == MmaType::u8; }
}  // namespace gemmsmith::hw
