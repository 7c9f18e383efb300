// What a compiled kernel expects from its host, in order: derived from what its template asked for while it was staged.
// Every argument is one 64-bit word.
//
// A kernel for a GPU has, besides, tensor maps (TMA descriptors), which its host makes from these words, and a shape of
// launch. Its parameters are the maps, 128 bytes each, followed by the words.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

struct KernelArgument {
  enum class Kind : uint8_t {
    pointer,        // of the operand `name`: "a", "b", "c", "d", "bias"
    row_stride,     // of the operand, in elements
    column_stride,  // in elements
    batch_stride,   // in elements
    extent,         // `name` is "m", "n", "k" or "batch"
    scalar,         // `name` is "alpha" or "beta": the bits of a double
    cores,          // how many may run parts; filled by the target
    scratch,        // memory for all cores; filled by the target
  };
  Kind kind;
  std::string name;
  int alignment = 0;  // of a pointer: its address is a multiple of so many bytes; 0: of its element
  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

// What TMA copies; it decides what fills places outside of the matrix and how a reduction adds.
enum class TmaType : uint8_t { u8, u16, u32, i32, f16, bf16, f32, tf32 };
constexpr int bytes(TmaType type) {
  if (type == TmaType::u8) return 1;
  return type == TmaType::u16 || type == TmaType::f16 || type == TmaType::bf16 ? 2 : 4;
}

// The tensor map of a matrix operand: its boxes are tiles of (1, rows, columns), or of (rows, columns) without a batch.
struct TensorMapSpec {
  std::string operand = {};             // whose pointer and strides it has
  std::string rows = {}, columns = {};  // names of its extents
  bool batched = false;                 // by the extent "batch" and the operand's batch_stride
  bool rows_contiguous = false;         // column-major: neighbours in memory differ in their row
  TmaType type = TmaType::bf16;
  int box_rows = 0, box_columns = 0;
  int swizzle_bytes = 0;         // 0, 32, 64 or 128
  int l2_promotion_bytes = 128;  // 0, 64, 128 or 256
  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

// How a kernel for a GPU is launched.
struct GpuLaunch {
  int threads = 0;           // of a CTA; 0: not a kernel for a GPU
  int cluster = 1;           // CTAs, in a row along x
  int64_t shared_bytes = 0;  // dynamic
  // Clusters: one for each tile of rows x columns of the extents named, times "batch" and `splits`; persistent kernels
  // have no more of them than fit the GPU at once.
  std::string rows = "m", columns = "n";
  int64_t tile_rows = 1, tile_columns = 1;
  int splits = 1;
  bool persistent = true;
  // Scratch for the whole launch: `scratch_bytes` of KernelSignature for each CTA, zeroed before the first launch. What a
  // kernel needs to find zero, it leaves zero.
  bool zeroed_scratch = false;
  friend bool operator==(const GpuLaunch&, const GpuLaunch&) = default;
};

struct KernelSignature {
  std::vector<KernelArgument> arguments;
  int64_t scratch_bytes = 0;  // for each core (each CTA on a GPU), aligned to 4096 (256)
  std::vector<TensorMapSpec> tensor_maps = {};
  GpuLaunch gpu = {};
};

// The word of an argument; none if the kernel has no such argument.
const int64_t* find_word(const KernelSignature&, const int64_t* words, KernelArgument::Kind, const std::string& name);

// A tensor map with its numbers: dimensions from the contiguous one outwards.
struct TensorMap {
  uint64_t address = 0;
  int rank = 0;
  std::array<uint64_t, 5> extents = {};
  std::array<uint64_t, 5> stride_bytes = {};  // [0] is the element's size
  std::array<uint32_t, 5> box = {};
  TmaType type = TmaType::bf16;
  int swizzle_bytes = 0, l2_promotion_bytes = 0;
  bool empty = false;  // nothing of it is read: its address may be null, and a target that needs one puts in its own
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};
// Makes one from the words of a launch. An empty matrix becomes one of one element: its kernel loads outside. Errors name
// the operand and the rule that it breaks: an address or stride that is not a multiple of 16 bytes, a stride of 2^40
// bytes or more, an extent beyond 2^32, a box that TMA does not have (CUDA driver API, cuTensorMapEncodeTiled).
Result<TensorMap> tensor_map(const TensorMapSpec&, const KernelSignature&, const int64_t* words);

// Tiles of a launch, batch and splits included: what GpuLaunch says of clusters.
Result<int64_t> cluster_tiles(const KernelSignature&, const int64_t* words);
// CTAs along x, given how many clusters fit the GPU at once. 0: there is nothing to do and nothing to launch. Errors: a
// pointer that is not aligned as its kernel needs it.
Result<int64_t> grid_size(const KernelSignature&, const int64_t* words, int64_t resident_clusters);

}  // namespace gemmsmith
