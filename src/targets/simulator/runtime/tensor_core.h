// The arithmetic of wgmma and mma.sync: plain products in f32 (or i32), k in order, one rounding a step. Written for vectors of the machine
// that it runs on.
//
// The hardware adds products of one instruction in another order, and those of fp8 in fewer bits: compare with a tolerance.
#pragma once
#include <cstdint>
#include <span>

#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

inline constexpr int kInstructionRows = 64;  // of a wgmma
inline constexpr int kInstructionKBytes = 32;

// An operand of a wgmma block in shared memory as 16-byte chunks, in the order in which they are taken:
// K-major: for each row both chunks of each k step in turn, [row][2 k steps]; MN-major: for each k its chunks of 8 rows, [k][rows / 8].
struct OperandChunks {
  MmaType type = MmaType::bf16;
  bool mn_major = false;
  bool negate = false;
  std::span<const uint32_t> offsets;
};

// As f32, or i32 for s8 and u8. A: [k][64]. B: [n][k].
void decode_a(const OperandChunks& operand, const char* shared, int k, float* out);
void decode_b(const OperandChunks& operand, const char* shared, int n, int k, float* out);

// d[n][64] (+)= b[n][k] x a[k][64]
struct Product {
  const float* a;
  const float* b;
  float* d;
  int n, k;
  bool accumulate, is_integer, saturate;
};
void multiply(const Product& product);

}  // namespace gemmsmith::simulator
