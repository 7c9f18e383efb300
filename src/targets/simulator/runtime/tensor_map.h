// The simulator's encoding of a TMA descriptor: 128 bytes, passed by value as kernel parameter, as the driver's CUtensorMap is. Tiled mode
// only; its rules are those of cuTensorMapEncodeTiled, and a map that breaks one cannot be made.
#pragma once
#include <cstdint>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith::simulator {

enum class TensorType : uint8_t { u8, u16, u32, s32, u64, s64, f16, bf16, f32, f64, tf32 };
int bytes_of(TensorType);
bool is_float(TensorType);

enum class OutOfBounds : uint8_t {
  zero,
  nan
};  // what loads put where the box lies outside of the tensor; nan for floats only

inline constexpr int kMaxTensorRank = 5;

struct TensorMapFields {
  void* base = nullptr;  // 16-byte aligned
  TensorType type = TensorType::bf16;
  std::vector<int64_t> extents;        // elements, fastest first, 1 to 5 of them
  std::vector<int64_t> strides_bytes;  // of extents[1...]: one fewer; multiples of 16 below 2^40
  std::vector<int64_t> box;  // elements, at most 256 each; the first times the element size is a multiple of 16
  std::vector<int64_t> element_strides;  // 1 to 8; empty: all 1
  int swizzle_bytes = 0;                 // 0, 32, 64, 128; the box's rows are at most that long
  int l2_promotion_bytes = 0;            // 0, 64, 128, 256: a hint, kept and ignored
  OutOfBounds fill = OutOfBounds::zero;
};

class alignas(64) TensorMap {
 public:
  TensorMap() = default;
  // The error names the field and the rule.
  static Result<TensorMap> encode(const TensorMapFields& fields);

  bool valid() const { return magic_ == kMagic; }
  int rank() const { return rank_; }
  TensorType type() const { return type_; }
  int element_bytes() const { return bytes_of(type_); }
  char* base() const { return base_; }
  int64_t extent(int mode) const { return int64_t(extents_[mode]) + 1; }
  int64_t stride_bytes(int mode) const { return mode == 0 ? element_bytes() : int64_t(strides_[mode - 1]) * 16; }
  int element_stride(int mode) const { return int(element_strides_ >> (3 * mode) & 7) + 1; }
  // Elements of the box that are copied along a mode: its box divided by its element stride, rounded up.
  int copied(int mode) const { return (int(box_[mode]) + 1 + element_stride(mode) - 1) / element_stride(mode); }
  int swizzle_bytes() const { return swizzle_ == 0 ? 0 : 16 << swizzle_; }
  int l2_promotion_bytes() const { return l2_promotion_ == 0 ? 0 : 32 << l2_promotion_; }
  OutOfBounds fill() const { return fill_; }
  int row_bytes() const { return copied(0) * element_bytes(); }  // of the box in shared memory
  int rows() const;                                              // of the box
  int box_bytes() const { return row_bytes() * rows(); }

 private:
  static constexpr uint64_t kMagic = 0x70616d5f6d697367;  // no pointer and no small number
  uint64_t magic_ = 0;
  char* base_ = nullptr;
  uint64_t extents_[kMaxTensorRank] = {};      // less one
  uint64_t strides_[kMaxTensorRank - 1] = {};  // 16-byte units
  uint8_t box_[kMaxTensorRank] = {};           // less one
  uint8_t rank_ = 0;
  TensorType type_ = TensorType::bf16;
  uint8_t swizzle_ = 0;       // 0, 1: 32, 2: 64, 3: 128 bytes
  uint8_t l2_promotion_ = 0;  // 0, 1: 64, 2: 128, 3: 256 bytes
  OutOfBounds fill_ = OutOfBounds::zero;
  uint16_t element_strides_ = 0;  // three bits each, less one
  uint8_t unused_[28] = {};
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace gemmsmith::simulator
