#include "targets/simulator/runtime/wgmma_operands.h"

#include <algorithm>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/async.h"
#include "targets/simulator/runtime/tensor_core.h"

namespace gemmsmith::simulator {

namespace {

constexpr int kChunk = 16, kCoreRows = 8;

bool is_fp8(MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; }

}  // namespace

Status check(const WgmmaBlock& b, int index) {
  const auto refuse = [index](std::string given, std::string limit) {
    return Error{concat("wgmma block ", index), std::move(given), std::move(limit), "", {}};
  };
  const bool integer = is_integer(b.type_a);
  const bool legal_n = b.n >= 8 && b.n <= 256 && b.n % 8 == 0 && (!integer || b.n <= 24 || b.n % 16 == 0);
  if (!legal_n)
    return refuse(concat("n = ", b.n), "is not a multiple of 8 from 8 to 256 (of 16 above 24 for integers)");
  const bool pair = b.type_a == b.type_b || (is_fp8(b.type_a) && is_fp8(b.type_b)) || (integer && is_integer(b.type_b));
  if (!pair) return refuse("operands of these two types", "cannot be multiplied by one wgmma");
  const bool sixteen_bits = b.type_a == MmaType::f16 || b.type_a == MmaType::bf16;
  if ((b.mn_major_a || b.mn_major_b) && !sixteen_bits)
    return refuse("an MN-major operand", "is for f16 and bf16 only; other types are K-major");
  if (b.mn_major_a && b.a_in_registers) return refuse("an MN-major A in registers", "does not exist");
  if (integer && (b.negate_a || b.negate_b)) return refuse("a negated operand", "is for float types only");
  if (!integer && b.saturate) return refuse("saturation", "is for integers only");
  if (b.a_m_steps.empty() || b.b_k_steps.empty() || b.a_k_steps.size() != b.b_k_steps.size())
    return refuse(
        concat(b.a_m_steps.size(), " m steps, ", b.a_k_steps.size(), " k steps of A and ", b.b_k_steps.size(), " of B"),
        "are not at least one each, and as many of A as of B");
  return Done{};
}

int k_elements(const WgmmaBlock& b) { return int(b.b_k_steps.size()) * kInstructionKBytes / bytes_of(b.type_a); }

MatrixDescriptor MatrixDescriptor::decode(uint64_t bits) {
  constexpr uint64_t kField = 0x3fff;
  const int mode = int(bits >> 62);
  return {uint32_t((bits & kField) << 4), uint32_t((bits >> 16 & kField) << 4), uint32_t((bits >> 32 & kField) << 4),
          mode == 0 ? 0 : 256 >> mode, int(bits >> 49 & 7)};
}

namespace {

// Offset of chunk `c` (of 8 elements along MN) of row k in an MN-major tile. Without swizzle the stride is that of MN and the leading one
// that of K; with it, they change places (the canonical layouts of the PTX ISA).
uint64_t mn_major_offset(const MatrixDescriptor& d, int c, int k) {
  const uint64_t in_core = uint64_t(k % kCoreRows), core = uint64_t(k / kCoreRows);
  if (d.swizzle_bytes == 0) return uint64_t(c) * d.stride_bytes + in_core * kChunk + core * d.leading_bytes;
  const int wide = d.swizzle_bytes / kChunk;
  return uint64_t(c / wide) * d.leading_bytes + uint64_t(c % wide) * kChunk + in_core * uint64_t(d.swizzle_bytes) +
         core * d.stride_bytes;
}

// Offset of the half `h` of row r of one k step in a K-major tile.
uint64_t k_major_offset(const MatrixDescriptor& d, int r, int h) {
  const uint64_t group = uint64_t(r / kCoreRows) * d.stride_bytes, in_core = uint64_t(r % kCoreRows);
  if (d.swizzle_bytes == 0) return group + in_core * kChunk + uint64_t(h) * d.leading_bytes;
  return group + in_core * uint64_t(d.swizzle_bytes) + uint64_t(h) * kChunk;
}

}  // namespace

std::string operand_chunks(uint64_t descriptor, const std::vector<int64_t>& k_steps, int64_t step, bool mn_major,
                           int rows, uint32_t shared_bytes, std::vector<uint32_t>& offsets) {
  constexpr int kStepRows = 16;  // k of one instruction, MN-major: 16-bit types
  const MatrixDescriptor d = MatrixDescriptor::decode(descriptor);
  if (d.base_offset != 0) return concat("a base offset of ", d.base_offset, " in a matrix descriptor is not supported");
  bool inside = true;
  const auto add = [&](int64_t k_step, uint64_t offset) {
    // Steps are added to the start address in units of 16 bytes, as the kernel would.
    const uint64_t start = uint64_t(d.start + uint64_t(step + k_step)) & 0x3ffff;
    const uint64_t at = swizzled(start + offset, d.swizzle_bytes);
    inside &= at + kChunk <= shared_bytes;
    offsets.push_back(uint32_t(at));
  };
  if (mn_major) {
    for (const int64_t k_step : k_steps)
      for (int k = 0; k < kStepRows; ++k)
        for (int c = 0; c < rows / 8; ++c) add(k_step, mn_major_offset(d, c, k));
  } else {
    for (int r = 0; r < rows; ++r)
      for (const int64_t k_step : k_steps)
        for (int h = 0; h < 2; ++h) add(k_step, k_major_offset(d, r, h));
  }
  return inside ? "" : concat("a matrix descriptor reaches beyond the ", shared_bytes, " bytes of shared memory");
}

std::vector<SharedRange> ranges_of(std::vector<uint32_t> chunks) {
  std::ranges::sort(chunks);
  std::vector<SharedRange> ranges;
  for (const uint32_t chunk : chunks) {
    if (!ranges.empty() && chunk <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, chunk + kChunk);
    else
      ranges.push_back({chunk, chunk + kChunk});
  }
  return ranges;
}

}  // namespace gemmsmith::simulator
