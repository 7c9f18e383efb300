// Conversions between element types: inline and without branches on the common path, so that filling and checking large
// buffers costs memory time. IEEE 754: round to nearest, ties to even; NaN stays NaN (quiet); overflow gives infinity.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gemmsmith/data_type.h"

namespace gemmsmith {

inline float float_from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t((bits >> 16) | 0x40u);  // a payload in the low bits must not vanish
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_f16(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  // f16's exponent and fraction in f32's fields; multiplying by 2^112 moves the bias and makes subnormals normal.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t result = std::bit_cast<uint32_t>(scaled);
  if (magnitude >= 0x7c00u)
    result = 0x7f800000u | ((magnitude & 0x3ffu) << 13) | (magnitude > 0x7c00u ? 0x400000u : 0u);
  return std::bit_cast<float>(sign | result);
}

inline uint16_t f16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24, rounded
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

namespace detail {
// Rounds a double to `fraction_bits` stored bits with the given exponent range, in one step: going through float would
// round twice and miss ties.
inline double round_to_format(double value, int fraction_bits, int min_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double unit = std::ldexp(1.0, exponent - fraction_bits);
  const double rounded = std::nearbyint(value / unit) * unit;  // nearbyint: ties to even in the default rounding mode
  if (std::abs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded == 0 ? std::copysign(0.0, value) : rounded;
}
inline double round_to_integer(double value, double lowest, double largest) {
  if (std::isnan(value)) return 0;
  return std::fmin(std::fmax(std::nearbyint(value), lowest), largest) + 0.0;  // + 0.0: no negative zero
}
}  // namespace detail

// The nearest value of a type, ties to even. Floats overflow to infinity; integers saturate and NaN becomes 0.
inline double round_to(DataType type, double value) {
  switch (type) {
    case DataType::f64:
      return value;
    case DataType::f32:
      return double(float(value));
    case DataType::f16:
      return detail::round_to_format(value, 10, -14, 65504.0);
    case DataType::bf16:
      return detail::round_to_format(value, 7, -126, 0x1.fep127);
    case DataType::i8:
      return detail::round_to_integer(value, -128, 127);
    case DataType::i32:
      return detail::round_to_integer(value, -2147483648.0, 2147483647.0);
  }
  return value;
}

namespace detail {
template <class T>
T read_element(const void* base, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * int64_t(sizeof(T)), sizeof value);
  return value;
}
template <class T>
void write_element(void* base, int64_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * int64_t(sizeof(T)), &value, sizeof value);
}
}  // namespace detail

// Element `index` (may be negative) of an array of `type`; every type's values are exact in a double.
inline double load_element(DataType type, const void* base, int64_t index) {
  switch (type) {
    case DataType::f64:
      return detail::read_element<double>(base, index);
    case DataType::f32:
      return detail::read_element<float>(base, index);
    case DataType::f16:
      return float_from_f16(detail::read_element<uint16_t>(base, index));
    case DataType::bf16:
      return float_from_bf16(detail::read_element<uint16_t>(base, index));
    case DataType::i8:
      return detail::read_element<int8_t>(base, index);
    case DataType::i32:
      return detail::read_element<int32_t>(base, index);
  }
  return 0;
}

// Rounds as round_to() does and stores.
inline void store_element(DataType type, void* base, int64_t index, double value) {
  const double rounded = round_to(type, value);
  switch (type) {
    case DataType::f64:
      return detail::write_element(base, index, rounded);
    case DataType::f32:
      return detail::write_element(base, index, float(rounded));
    case DataType::f16:
      return detail::write_element(base, index, f16_from_float(float(rounded)));
    case DataType::bf16:
      return detail::write_element(base, index, bf16_from_float(float(rounded)));
    case DataType::i8:
      return detail::write_element(base, index, int8_t(rounded));
    case DataType::i32:
      return detail::write_element(base, index, int32_t(rounded));
  }
}

// Half an ulp of 1: the largest relative error of one rounding to a float type; 0 for integers.
inline double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::f64:
      return 0x1p-53;
    case DataType::f32:
      return 0x1p-24;
    case DataType::f16:
      return 0x1p-11;
    case DataType::bf16:
      return 0x1p-8;
    case DataType::i8:
    case DataType::i32:
      return 0;
  }
  return 0;
}

}  // namespace gemmsmith
