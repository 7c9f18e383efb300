#include "targets/simulator/runtime/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "support/half.h"
#include "targets/simulator/runtime/arithmetic.h"

// Everything below is compiled for AVX-512, AVX2 and the baseline, and the machine is asked once. The bodies are forced inline into three
// thin functions; vectors are GCC's, which it splits where the machine's are shorter.
#define GS_INLINE [[gnu::always_inline]] inline

namespace gemmsmith::simulator {

namespace {

constexpr int kRows = kInstructionRows;
constexpr int kChunkBytes = 16;

template <class T>
using Vector [[gnu::vector_size(64)]] = T;  // 16 of 4 bytes
constexpr int kLanes = 16;

using Fp8Table = std::array<float, 256>;
const Fp8Table& fp8_table(MmaType type) {
  static const auto make = [](auto value_of) {
    Fp8Table table;
    for (int i = 0; i < 256; ++i) table[size_t(i)] = value_of(uint8_t(i));
    return table;
  };
  static const Fp8Table e4m3 = make(float_from_e4m3), e5m2 = make(float_from_e5m2);
  return type == MmaType::e4m3 ? e4m3 : e5m2;
}

// A chunk of 16 bytes as 4-byte values: bits of f32, or of i32.
template <MmaType type>
GS_INLINE void decode_chunk(const char* chunk, const Fp8Table* table, bool negate, uint32_t* out) {
  constexpr int kElement = type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
  constexpr int kCount = kChunkBytes / kElement;
  [[maybe_unused]] const uint32_t flip = negate ? 0x80000000u : 0;
  if constexpr (kElement == 4) {
    uint32_t words[kCount];
    std::memcpy(words, chunk, sizeof words);
    for (int i = 0; i < kCount; ++i) out[i] = (words[i] & 0xffffe000u) ^ flip;
  } else if constexpr (kElement == 2) {
    uint16_t halves[kCount];
    std::memcpy(halves, chunk, sizeof halves);
    for (int i = 0; i < kCount; ++i)
      out[i] =
          (type == MmaType::bf16 ? uint32_t(halves[i]) << 16 : std::bit_cast<uint32_t>(float_from_f16(halves[i]))) ^
          flip;
  } else {
    uint8_t bytes[kCount];
    std::memcpy(bytes, chunk, sizeof bytes);
    for (int i = 0; i < kCount; ++i) {
      if constexpr (type == MmaType::s8)
        out[i] = uint32_t(int32_t(int8_t(bytes[i])));
      else if constexpr (type == MmaType::u8)
        out[i] = bytes[i];
      else
        out[i] = std::bit_cast<uint32_t>((*table)[bytes[i]]) ^ flip;
    }
  }
}

// Writes element (row, k) to out[row * row_stride + k * k_stride].
template <MmaType type>
GS_INLINE void decode(const OperandChunks& o, const char* shared, int rows, int k, int row_stride, int k_stride,
                      uint32_t* out) {
  constexpr int kElement = type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
  constexpr int kCount = kChunkBytes / kElement;
  const Fp8Table* table = type == MmaType::e4m3 || type == MmaType::e5m2 ? &fp8_table(type) : nullptr;
  const uint32_t* offset = o.offsets.data();
  if (!o.mn_major) {
    for (int r = 0; r < rows; ++r)
      for (int at = 0; at < k; at += kCount) {
        uint32_t* to = out + r * row_stride + at * k_stride;
        if (k_stride == 1) {
          decode_chunk<type>(shared + *offset++, table, o.negate, to);
          continue;
        }
        uint32_t values[kCount];
        decode_chunk<type>(shared + *offset++, table, o.negate, values);
        for (int i = 0; i < kCount; ++i) to[i * k_stride] = values[i];
      }
    return;
  }
  for (int at = 0; at < k; ++at)
    for (int r = 0; r < rows; r += kCount) {
      uint32_t values[kCount];
      decode_chunk<type>(shared + *offset++, table, o.negate, values);
      for (int i = 0; i < kCount; ++i) out[(r + i) * row_stride + at * k_stride] = values[i];
    }
}

GS_INLINE void decode_any(const OperandChunks& o, const char* shared, int rows, int k, int row_stride, int k_stride,
                          uint32_t* out) {
  switch (o.type) {
    case MmaType::f16:
      return decode<MmaType::f16>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::bf16:
      return decode<MmaType::bf16>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::tf32:
      return decode<MmaType::tf32>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::e4m3:
      return decode<MmaType::e4m3>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::e5m2:
      return decode<MmaType::e5m2>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::s8:
      return decode<MmaType::s8>(o, shared, rows, k, row_stride, k_stride, out);
    case MmaType::u8:
      return decode<MmaType::u8>(o, shared, rows, k, row_stride, k_stride, out);
  }
}

// kVectors vectors of rows by kColumns columns stay in registers over all of k.
template <class T, int kVectors>
GS_INLINE void multiply_body(const Product& p) {
  constexpr int kColumns = 4;  // n is a multiple of 8
  const T* a = reinterpret_cast<const T*>(p.a);
  const T* b = reinterpret_cast<const T*>(p.b);
  T* d = reinterpret_cast<T*>(p.d);
  for (int column = 0; column < p.n; column += kColumns)
    for (int row = 0; row < kRows; row += kVectors * kLanes) {
      Vector<T> sum[kColumns][kVectors];
      for (int c = 0; c < kColumns; ++c)
        for (int v = 0; v < kVectors; ++v)
          if (p.accumulate)
            std::memcpy(&sum[c][v], d + (column + c) * kRows + row + v * kLanes, sizeof(Vector<T>));
          else
            sum[c][v] = Vector<T>{};
      for (int k = 0; k < p.k; ++k) {
        Vector<T> rows[kVectors];
        for (int v = 0; v < kVectors; ++v) std::memcpy(&rows[v], a + k * kRows + row + v * kLanes, sizeof(Vector<T>));
        for (int c = 0; c < kColumns; ++c) {
          const T scalar = b[(column + c) * p.k + k];
          for (int v = 0; v < kVectors; ++v) sum[c][v] += rows[v] * scalar;
        }
      }
      for (int c = 0; c < kColumns; ++c)
        for (int v = 0; v < kVectors; ++v)
          std::memcpy(d + (column + c) * kRows + row + v * kLanes, &sum[c][v], sizeof(Vector<T>));
    }
}

// .satfinite of integers: sums in 64 bits, clamped at each step of k as an accumulator of 32 bits would be at the end of an instruction.
void multiply_saturating(const Product& p) {
  const auto* a = reinterpret_cast<const int32_t*>(p.a);
  const auto* b = reinterpret_cast<const int32_t*>(p.b);
  auto* d = reinterpret_cast<int32_t*>(p.d);
  for (int column = 0; column < p.n; ++column)
    for (int row = 0; row < kRows; ++row) {
      int64_t sum = p.accumulate ? d[column * kRows + row] : 0;
      for (int k = 0; k < p.k; ++k) {
        sum += int64_t(a[k * kRows + row]) * b[column * p.k + k];
        if ((k + 1) % kInstructionKBytes == 0) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      }
      d[column * kRows + row] = int32_t(sum);
    }
}

using Decode = void (*)(const OperandChunks&, const char*, int, int, int, int, uint32_t*);
using Multiply = void (*)(const Product&);
struct Kernels {
  Decode decode;
  Multiply multiply_f32, multiply_i32;
};

#define GS_KERNELS(suffix, target_attribute, vectors)                                                        \
  target_attribute void decode_##suffix(const OperandChunks& o, const char* s, int r, int k, int rs, int ks, \
                                        uint32_t* out) {                                                     \
    decode_any(o, s, r, k, rs, ks, out);                                                                     \
  }                                                                                                          \
  target_attribute void multiply_f32_##suffix(const Product& p) { multiply_body<float, vectors>(p); }        \
  target_attribute void multiply_i32_##suffix(const Product& p) { multiply_body<int32_t, vectors>(p); }      \
  constexpr Kernels kernels_##suffix{decode_##suffix, multiply_f32_##suffix, multiply_i32_##suffix};

GS_KERNELS(baseline, , 1)
#if defined(__x86_64__)
GS_KERNELS(avx2, [[gnu::target("avx2,fma")]], 1)
GS_KERNELS(avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]], 4)
#endif

const Kernels& kernels() {
#if defined(__x86_64__)
  static const Kernels& best = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") ? kernels_avx512
                               : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")        ? kernels_avx2
                                                                                                 : kernels_baseline;
  return best;
#else
  return kernels_baseline;
#endif
}

}  // namespace

void decode_a(const OperandChunks& operand, const char* shared, int k, float* out) {
  kernels().decode(operand, shared, kRows, k, 1, kRows, reinterpret_cast<uint32_t*>(out));
}

void decode_b(const OperandChunks& operand, const char* shared, int n, int k, float* out) {
  kernels().decode(operand, shared, n, k, k, 1, reinterpret_cast<uint32_t*>(out));
}

void multiply(const Product& p) {
  if (p.is_integer && p.saturate) return multiply_saturating(p);
  (p.is_integer ? kernels().multiply_i32 : kernels().multiply_f32)(p);
}

}  // namespace gemmsmith::simulator
