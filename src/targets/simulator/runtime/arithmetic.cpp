#include "targets/simulator/runtime/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/half.h"

namespace gemmsmith::simulator {

int bytes_of(AtomicType type) {
  switch (type) {
    case AtomicType::u64:
    case AtomicType::s64:
    case AtomicType::f64:
      return 8;
    case AtomicType::f16:
    case AtomicType::bf16:
      return 2;
    default:
      return 4;
  }
}

AtomicType atomic_type_of(TensorType type) {
  switch (type) {
    case TensorType::u64:
      return AtomicType::u64;
    case TensorType::s64:
      return AtomicType::s64;
    case TensorType::s32:
      return AtomicType::s32;
    case TensorType::f16:
      return AtomicType::f16;
    case TensorType::bf16:
      return AtomicType::bf16;
    case TensorType::f32:
    case TensorType::tf32:
      return AtomicType::f32;
    case TensorType::f64:
      return AtomicType::f64;
    default:
      return AtomicType::u32;
  }
}

bool combines(AtomicOp op, AtomicType type) {
  const bool is_float = type >= AtomicType::f16;
  switch (op) {
    case AtomicOp::add:
      return true;
    case AtomicOp::min:
    case AtomicOp::max:
      return type != AtomicType::f32 && type != AtomicType::f64;
    case AtomicOp::inc:
    case AtomicOp::dec:
      return type == AtomicType::u32;
    default:
      return !is_float;
  }
}

namespace {

template <class T>
T integer(AtomicOp op, T old, T value, T compare) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case AtomicOp::add:
      return T(U(old) + U(value));
    case AtomicOp::min:
      return std::min(old, value);
    case AtomicOp::max:
      return std::max(old, value);
    case AtomicOp::inc:
      return U(old) >= U(value) ? T(0) : T(old + 1);
    case AtomicOp::dec:
      return old == 0 || U(old) > U(value) ? value : T(old - 1);
    case AtomicOp::and_:
      return old & value;
    case AtomicOp::or_:
      return old | value;
    case AtomicOp::xor_:
      return old ^ value;
    case AtomicOp::exch:
      return value;
    case AtomicOp::cas:
      return old == compare ? value : old;
  }
  return old;
}

double floating(AtomicOp op, double a, double b) {
  if (op == AtomicOp::add) return a + b;
  if (std::isnan(a)) return b;  // min and max take the number of a number and a NaN
  if (std::isnan(b)) return a;
  return op == AtomicOp::min ? std::min(a, b) : std::max(a, b);
}

uint64_t half(AtomicOp op, DataType type, uint64_t old, uint64_t value) {
  const auto from = type == DataType::f16 ? float_from_f16 : float_from_bf16;
  uint16_t bits = 0;
  store_element(type, &bits, 0, floating(op, from(uint16_t(old)), from(uint16_t(value))));
  return bits;
}

uint64_t halves(AtomicOp op, DataType type, uint64_t old, uint64_t value) {
  return half(op, type, old, value) | half(op, type, old >> 16, value >> 16) << 16;
}

}  // namespace

uint64_t combine(AtomicOp op, AtomicType type, uint64_t old, uint64_t value, uint64_t compare) {
  if (op == AtomicOp::exch) return value;
  switch (type) {
    case AtomicType::u32:
      return integer(op, uint32_t(old), uint32_t(value), uint32_t(compare));
    case AtomicType::s32:
      return uint32_t(integer(op, int32_t(old), int32_t(value), int32_t(compare)));
    case AtomicType::u64:
      return integer(op, old, value, compare);
    case AtomicType::s64:
      return uint64_t(integer(op, int64_t(old), int64_t(value), int64_t(compare)));
    case AtomicType::f16:
      return half(op, DataType::f16, old, value);
    case AtomicType::bf16:
      return half(op, DataType::bf16, old, value);
    case AtomicType::f16x2:
      return halves(op, DataType::f16, old, value);
    case AtomicType::bf16x2:
      return halves(op, DataType::bf16, old, value);
    case AtomicType::f32:
      return std::bit_cast<uint32_t>(std::bit_cast<float>(uint32_t(old)) + std::bit_cast<float>(uint32_t(value)));
    case AtomicType::f64:
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
  }
  return old;
}

float float_from_e4m3(uint8_t bits) {
  const int magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (magnitude == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  return sign * (exponent ? std::ldexp(float(8 + fraction), exponent - 10) : std::ldexp(float(fraction), -9));
}

float float_from_e5m2(uint8_t bits) { return float_from_f16(uint16_t(bits << 8)); }  // the upper half of an f16

namespace {

// The nearest of the codes 0 to `largest`, whose values ascend.
template <class Value>
uint8_t nearest_code(float value, uint8_t largest, uint8_t nan, Value value_of) {
  if (std::isnan(value)) return nan;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::abs(value);
  int low = 0, high = largest;
  if (magnitude >= value_of(largest)) return uint8_t(sign | largest);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(uint8_t(middle)) <= magnitude ? low : high) = middle;
  }
  const float below = magnitude - value_of(uint8_t(low)), above = value_of(uint8_t(high)) - magnitude;
  const bool up = above < below || (above == below && low % 2 != 0);
  return uint8_t(sign | (up ? high : low));
}

}  // namespace

uint8_t e4m3_from_float(float value) { return nearest_code(value, 0x7e, 0x7f, float_from_e4m3); }
uint8_t e5m2_from_float(float value) { return nearest_code(value, 0x7b, 0x7f, float_from_e5m2); }

float tf32_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

int bytes_of(MmaType type) {
  switch (type) {
    case MmaType::f16:
    case MmaType::bf16:
      return 2;
    case MmaType::tf32:
      return 4;
    default:
      return 1;
  }
}

float element_as_float(MmaType type, const void* base, int64_t index) {
  const auto* bytes = static_cast<const uint8_t*>(base);
  switch (type) {
    case MmaType::f16:
    case MmaType::bf16: {
      uint16_t bits;
      std::memcpy(&bits, bytes + 2 * index, 2);
      return type == MmaType::f16 ? float_from_f16(bits) : float_from_bf16(bits);
    }
    case MmaType::tf32: {
      float value;
      std::memcpy(&value, bytes + 4 * index, 4);
      return truncated_to_tf32(value);
    }
    case MmaType::e4m3:
      return float_from_e4m3(bytes[index]);
    case MmaType::e5m2:
      return float_from_e5m2(bytes[index]);
    case MmaType::s8:
      return float(int8_t(bytes[index]));
    case MmaType::u8:
      return float(bytes[index]);
  }
  return 0;
}

}  // namespace gemmsmith::simulator
