// Element arithmetic of atomics and reductions, and conversions of the small float types.
#pragma once
#include <bit>
#include <cstdint>

#include "targets/simulator/runtime/entries.h"
#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

int bytes_of(AtomicType);
// The bits after the operation; of packed types, of both halves. cas stores `value` where the old bits are `compare`.
uint64_t combine(AtomicOp op, AtomicType type, uint64_t old, uint64_t value, uint64_t compare = 0);
// Whether the operation exists for the type (PTX: atom, red, cp.reduce.async.bulk together).
bool combines(AtomicOp op, AtomicType type);
AtomicType atomic_type_of(TensorType);

// e4m3 (no infinities, NaN 0x7f) and e5m2 of the OCP 8-bit float format; to: nearest even, saturating.
float float_from_e4m3(uint8_t bits);
float float_from_e5m2(uint8_t bits);
uint8_t e4m3_from_float(float value);
uint8_t e5m2_from_float(float value);
float tf32_from_float(float value);  // cvt.rna: nearest, ties away from zero
inline float truncated_to_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000u);
}
// Element `index` of an array of a type, as f32 (exact for all but i32-sized values, which there are none of).
float element_as_float(MmaType type, const void* base, int64_t index);
int bytes_of(MmaType);
inline bool is_integer(MmaType type) { return type == MmaType::s8 || type == MmaType::u8; }

}  // namespace gemmsmith::simulator
