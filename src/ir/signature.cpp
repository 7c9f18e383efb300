#include "ir/signature.h"

#include <algorithm>

namespace gemmsmith {
namespace {

using Kind = KernelArgument::Kind;

constexpr int64_t kTmaAlignment = 16;
constexpr int64_t kMaxTmaStride = int64_t(1) << 40;
constexpr int64_t kMaxTmaExtent = int64_t(1) << 32;
constexpr int kMaxBox = 256;

Result<int64_t> extent_of(const KernelSignature& s, const int64_t* words, const std::string& name) {
  if (const int64_t* word = find_word(s, words, Kind::extent, name)) return *word;
  return Error{"kernel signature", "extent \"" + name + "\"", "is not one of the kernel's arguments", {}, {}};
}

Error refused(const std::string& operand, const std::string& given, const std::string& rule,
              const std::string& remedy) {
  return Error{"operand " + operand, given, rule, remedy, {}};
}

std::string number(int64_t n) { return std::to_string(n); }

// One outer dimension: a stride that TMA takes. Those of dimensions of one element are never used.
Result<uint64_t> outer_stride(const std::string& operand, const char* which, int64_t extent, int64_t elements,
                              int element_bytes) {
  if (extent <= 1) return uint64_t(kTmaAlignment);
  int64_t stride = 0;
  if (__builtin_mul_overflow(elements, int64_t(element_bytes), &stride) || stride < 0 || stride >= kMaxTmaStride)
    return refused(operand, std::string(which) + " stride of " + number(elements) + " elements",
                   "is not between 0 and 2^40 bytes, the strides of TMA", "a kernel without TMA");
  if (stride % kTmaAlignment != 0) {
    const int64_t unit = kTmaAlignment / element_bytes;
    return refused(
        operand, std::string(which) + " stride of " + number(elements) + " elements, " + number(stride) + " bytes",
        "is not a multiple of 16 bytes, TMA's rule",
        "a multiple of " + number(unit) + " elements, such as " + number((elements + unit - 1) / unit * unit));
  }
  return uint64_t(stride);
}

Status check_box(const TensorMapSpec& spec, int inner, int outer) {
  const int element = bytes(spec.type);
  if (inner < 1 || outer < 1 || inner > kMaxBox || outer > kMaxBox)
    return refused(spec.operand, "a box of " + number(inner) + " x " + number(outer), "has a side that is not 1 to 256",
                   {});
  if (inner * element % kTmaAlignment != 0)
    return refused(spec.operand, "a box of " + number(inner * element) + " bytes along the contiguous mode",
                   "is not a multiple of 16 bytes, TMA's rule", {});
  if (spec.swizzle_bytes && inner * element > spec.swizzle_bytes)
    return refused(spec.operand, "a box of " + number(inner * element) + " bytes along the contiguous mode",
                   "is wider than its swizzle of " + number(spec.swizzle_bytes) + " bytes", {});
  return Done{};
}

}  // namespace

const int64_t* find_word(const KernelSignature& s, const int64_t* words, Kind kind, const std::string& name) {
  for (size_t i = 0; i < s.arguments.size(); ++i)
    if (s.arguments[i].kind == kind && s.arguments[i].name == name) return words + i;
  return nullptr;
}

Result<TensorMap> tensor_map(const TensorMapSpec& spec, const KernelSignature& s, const int64_t* words) {
  const int element = bytes(spec.type);
  const bool row_major = !spec.rows_contiguous;
  const int inner_box = row_major ? spec.box_columns : spec.box_rows;
  const int outer_box = row_major ? spec.box_rows : spec.box_columns;
  GS_CHECK(check_box(spec, inner_box, outer_box));
  GS_TRY(const int64_t rows, extent_of(s, words, spec.rows));
  GS_TRY(const int64_t columns, extent_of(s, words, spec.columns));
  const int64_t* address = find_word(s, words, Kind::pointer, spec.operand);
  const int64_t* stride = find_word(s, words, row_major ? Kind::row_stride : Kind::column_stride, spec.operand);
  if (!address || !stride)
    return Error{
        "kernel signature", "operand \"" + spec.operand + "\"", "has a tensor map but no pointer or stride", {}, {}};

  TensorMap map;
  map.address = uint64_t(*address);
  if (map.address % kTmaAlignment != 0)
    return refused(spec.operand, "an address that ends in " + number(int64_t(map.address % kTmaAlignment)),
                   "is not a multiple of 16 bytes, TMA's rule", "a matrix that starts at a multiple of 16 bytes");
  const int64_t inner = row_major ? columns : rows, outer = row_major ? rows : columns;
  map.rank = spec.batched ? 3 : 2;
  map.empty = inner == 0 || outer == 0;
  map.extents = {uint64_t(std::max<int64_t>(inner, 1)), uint64_t(std::max<int64_t>(outer, 1)), 1, 1, 1};
  map.box = {uint32_t(inner_box), uint32_t(outer_box), 1, 1, 1};
  map.stride_bytes[0] = uint64_t(element);
  GS_TRY(map.stride_bytes[1],
         outer_stride(spec.operand, row_major ? "a row" : "a column", map.empty ? 1 : outer, *stride, element));
  if (spec.batched) {
    GS_TRY(const int64_t batch, extent_of(s, words, "batch"));
    const int64_t* batch_stride = find_word(s, words, Kind::batch_stride, spec.operand);
    if (!batch_stride)
      return Error{
          "kernel signature", "operand \"" + spec.operand + "\"", "is batched but has no batch stride", {}, {}};
    map.extents[2] = uint64_t(std::max<int64_t>(batch, 1));
    GS_TRY(map.stride_bytes[2], outer_stride(spec.operand, "a batch", map.empty ? 1 : batch, *batch_stride, element));
  }
  if (map.empty) map.extents = {1, 1, 1, 1, 1};
  for (int d = 0; d < map.rank; ++d)
    if (int64_t(map.extents[size_t(d)]) > kMaxTmaExtent)
      return refused(spec.operand, "an extent of " + number(int64_t(map.extents[size_t(d)])),
                     "is more than 2^32, TMA's limit", "a kernel without TMA");
  map.type = spec.type;
  map.swizzle_bytes = spec.swizzle_bytes;
  map.l2_promotion_bytes = spec.l2_promotion_bytes;
  return map;
}

Result<int64_t> cluster_tiles(const KernelSignature& s, const int64_t* words) {
  GS_TRY(const int64_t rows, extent_of(s, words, s.gpu.rows));
  GS_TRY(const int64_t columns, extent_of(s, words, s.gpu.columns));
  const int64_t* batch = find_word(s, words, Kind::extent, "batch");
  const auto tiles = [](int64_t n, int64_t tile) { return n / tile + (n % tile != 0); };
  int64_t count = s.gpu.splits;
  if (__builtin_mul_overflow(count, tiles(rows, s.gpu.tile_rows), &count) ||
      __builtin_mul_overflow(count, tiles(columns, s.gpu.tile_columns), &count) ||
      __builtin_mul_overflow(count, batch ? *batch : 1, &count) || count >= (int64_t(1) << 31))
    return Error{"launch", "more than 2^31 tiles", "do not fit the tile numbers of a kernel", "larger tiles", {}};
  return count;
}

Result<int64_t> grid_size(const KernelSignature& s, const int64_t* words, int64_t resident_clusters) {
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const KernelArgument& a = s.arguments[i];
    if (a.kind == Kind::pointer && a.alignment > 0 && uint64_t(words[i]) % uint64_t(a.alignment) != 0)
      return refused(
          a.name, "an address that ends in " + number(int64_t(uint64_t(words[i]) % uint64_t(a.alignment))),
          "is not a multiple of " + number(a.alignment) + " bytes, what this kernel loads or stores at once",
          "memory that starts at a multiple of " + number(a.alignment) + " bytes, or a kernel of another alignment");
  }
  GS_TRY(const int64_t tiles, cluster_tiles(s, words));
  const int64_t clusters = s.gpu.persistent ? std::min(tiles, std::max<int64_t>(resident_clusters, 1)) : tiles;
  return clusters * s.gpu.cluster;
}

}  // namespace gemmsmith
