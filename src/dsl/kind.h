// Element types of staged values: those of matrices (DataType), and what addresses, masks and bit manipulation need.
#pragma once
#include <cstdint>
#include <string>

#include "gemmsmith/data_type.h"

namespace gemmsmith {

struct Kind {
  enum Value : uint8_t {
    i1,
    i8,
    i16,
    i32,
    index,
    i64,
    f16,
    bf16,
    f32,
    f64,
    pointer,
    shared,  // an address in the shared memory of a CTA, 32 bits
    e4m3,    // 8-bit floats: for memory, conversions and tensor cores
    e5m2
  };  // index: as wide as the target's Int
  constexpr Kind(Value v) : value(v) {}
  constexpr Kind(DataType type) : value(of(type)) {}
  constexpr operator Value() const { return value; }
  Value value;

 private:
  static constexpr Value of(DataType type) {
    switch (type) {
      case DataType::f64:
        return f64;
      case DataType::f32:
        return f32;
      case DataType::f16:
        return f16;
      case DataType::bf16:
        return bf16;
      case DataType::i8:
        return i8;
      case DataType::i32:
        return i32;
    }
    return f32;
  }
};

// In memory. An i1 is a byte; an index counts as 8.
constexpr int bytes(Kind kind) {
  switch (kind) {
    case Kind::i1:
    case Kind::i8:
    case Kind::e4m3:
    case Kind::e5m2:
      return 1;
    case Kind::i16:
    case Kind::f16:
    case Kind::bf16:
      return 2;
    case Kind::i32:
    case Kind::f32:
    case Kind::shared:
      return 4;
    default:
      return 8;
  }
}
constexpr bool is_float(Kind kind) {
  return kind == Kind::f16 || kind == Kind::bf16 || kind == Kind::f32 || kind == Kind::f64;
}
std::string print(Kind);  // "bf16"

}  // namespace gemmsmith
