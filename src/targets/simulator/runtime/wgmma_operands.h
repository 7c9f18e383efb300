// Operands of wgmma in shared memory: what a matrix descriptor addresses.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gemmsmith/result.h"
#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

// The rules of PTX for the shapes, types and majors of a block; the error names the block's field.
Status check(const WgmmaBlock& block, int index);
int k_elements(const WgmmaBlock& block);  // of all k steps together

// The 64-bit matrix descriptor of sm_90 (PTX ISA, "Matrix descriptor format").
struct MatrixDescriptor {
  uint32_t start, leading_bytes, stride_bytes;
  int swizzle_bytes;  // 0: none
  int base_offset;
  static MatrixDescriptor decode(uint64_t bits);
};

// The chunks of 16 bytes of one operand, in the order of OperandChunks; `shared_bytes` bounds them. Empty text: fine, else what is wrong.
std::string operand_chunks(uint64_t descriptor, const std::vector<int64_t>& k_steps, int64_t step, bool mn_major,
                           int rows, uint32_t shared_bytes, std::vector<uint32_t>& offsets);

// Bytes [begin, end) of shared memory.
struct SharedRange {
  uint32_t begin, end;
};
std::vector<SharedRange> ranges_of(std::vector<uint32_t> chunks);

}  // namespace gemmsmith::simulator
