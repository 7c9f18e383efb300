#include "targets/simulator/runtime/tensor_map.h"

#include <algorithm>

#include "support/text.h"

namespace gemmsmith::simulator {

int bytes_of(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u32:
    case TensorType::s32:
    case TensorType::f32:
    case TensorType::tf32:
      return 4;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
  }
  return 0;
}

bool is_float(TensorType type) { return type >= TensorType::f16; }

int TensorMap::rows() const {
  int rows = 1;
  for (int mode = 1; mode < rank_; ++mode) rows *= copied(mode);
  return rows;
}

namespace {

Error refused(std::string given, std::string limit, std::string remedy = "") {
  return {"tensor map", std::move(given), std::move(limit), std::move(remedy), {}};
}

Status check_counts(const TensorMapFields& f) {
  const size_t rank = f.extents.size();
  if (rank < 1 || rank > kMaxTensorRank) return refused(concat("rank ", rank), "is not 1 to 5");
  if (f.strides_bytes.size() != rank - 1)
    return refused(concat(f.strides_bytes.size(), " strides"), concat("are not one fewer than the ", rank, " extents"));
  if (f.box.size() != rank)
    return refused(concat("a box of ", f.box.size(), " modes"), concat("has not the tensor's rank ", rank));
  if (!f.element_strides.empty() && f.element_strides.size() != rank)
    return refused(concat(f.element_strides.size(), " element strides"), concat("are not the tensor's rank ", rank));
  return Done{};
}

Status check_tensor(const TensorMapFields& f) {
  if (reinterpret_cast<uintptr_t>(f.base) % 16 != 0)
    return refused("the base address", "is not a multiple of 16 bytes, as TMA needs it", "align the matrix");
  for (int64_t extent : f.extents)
    if (extent < 1 || extent > int64_t(1) << 32) return refused(concat("extent ", extent), "is not 1 to 2^32");
  for (int64_t stride : f.strides_bytes)
    if (stride % 16 != 0 || stride < 0 || stride >= int64_t(1) << 40)
      return refused(concat("a stride of ", stride, " bytes"), "is not a multiple of 16 below 2^40, as TMA needs it",
                     "pad the leading dimension");
  if (f.fill == OutOfBounds::nan && !is_float(f.type)) return refused("NaN as fill", "is for float elements only");
  return Done{};
}

Status check_box(const TensorMapFields& f) {
  for (size_t i = 0; i < f.box.size(); ++i) {
    if (f.box[i] < 1 || f.box[i] > 256)
      return refused(concat("a box of ", f.box[i]), "is not 1 to 256 elements in each mode");
    const int64_t stride = f.element_strides.empty() ? 1 : f.element_strides[i];
    if (stride < 1 || stride > 8) return refused(concat("element stride ", stride), "is not 1 to 8");
  }
  const int64_t row = f.box[0] * bytes_of(f.type);
  if (row % 16 != 0) return refused(concat("a box row of ", row, " bytes"), "is not a multiple of 16, as TMA needs it");
  const int64_t step = f.element_strides.empty() ? 1 : f.element_strides[0];
  const int64_t copied = (f.box[0] + step - 1) / step * bytes_of(f.type);
  if (copied % 16 != 0)
    return refused(concat("a box row of ", copied, " bytes that are copied"),
                   "is not a multiple of 16, as TMA needs it");
  const int swizzle = f.swizzle_bytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return refused(concat("swizzle_bytes = ", swizzle), "is none of 0, 32, 64, 128");
  if (swizzle && row > swizzle)
    return refused(concat("a box row of ", row, " bytes"), concat("is longer than the swizzle of ", swizzle, " bytes"));
  const int l2 = f.l2_promotion_bytes;
  if (l2 != 0 && l2 != 64 && l2 != 128 && l2 != 256)
    return refused(concat("l2_promotion_bytes = ", l2), "is none of 0, 64, 128, 256");
  return Done{};
}

uint8_t log2_of(int value, int of_one) {  // 0 -> 0, of_one -> 1, 2 of_one -> 2, ...
  uint8_t code = 0;
  for (; value >= of_one; value /= 2) ++code;
  return code;
}

}  // namespace

Result<TensorMap> TensorMap::encode(const TensorMapFields& f) {
  GS_CHECK(check_counts(f));
  GS_CHECK(check_tensor(f));
  GS_CHECK(check_box(f));
  TensorMap map;
  map.magic_ = kMagic;
  map.base_ = static_cast<char*>(f.base);
  map.rank_ = uint8_t(f.extents.size());
  map.type_ = f.type;
  map.swizzle_ = log2_of(f.swizzle_bytes, 32);
  map.l2_promotion_ = log2_of(f.l2_promotion_bytes, 64);
  map.fill_ = f.fill;
  for (int i = 0; i < map.rank_; ++i) {
    map.extents_[i] = uint64_t(f.extents[i] - 1);
    map.box_[i] = uint8_t(f.box[i] - 1);
    if (!f.element_strides.empty()) map.element_strides_ |= uint16_t((f.element_strides[i] - 1) << (3 * i));
    if (i > 0) map.strides_[i - 1] = uint64_t(f.strides_bytes[i - 1] / 16);
  }
  return map;
}

}  // namespace gemmsmith::simulator
