// What a compiled kernel expects from its host, in order: derived from what its template asked for while it was staged.
// Every argument is one 64-bit word.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

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
  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

struct KernelSignature {
  std::vector<KernelArgument> arguments;
  int64_t scratch_bytes = 0;  // for each core, aligned to 4096
};

}  // namespace gemmsmith
