// Which of its kernels the library should use on a CPU, and whether what it chose suits. It picks one "core type" when
// it is loaded, from the CPU's model number or from OPENBLAS_CORETYPE, and versions that do not know a newer model fall
// back to SSE kernels: a baseline five times too slow.
#pragma once
#include <optional>
#include <string>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"

namespace gemmsmith::openblas {

// The widest instruction set of a core type's kernels or of a CPU, as far as f32 GEMM is concerned.
enum class InstructionSet : uint8_t { sse, avx, avx2, avx512 };

InstructionSet instruction_set_of(const DeviceFacts&);
// By the core type's name in any case. Nothing for a name that is not known: probably newer than this list.
std::optional<InstructionSet> instruction_set_of_core(const std::string& core_type);
// "Cooperlake" for a CPU with avx512_bf16 ...; nothing where the CPU has no AVX2: its own choice is as good there.
std::optional<std::string> suitable_core_type(const DeviceFacts&);

struct CoreChoice {
  std::string detected;                    // by the library
  std::optional<std::string> requested;    // by the caller; nothing for "auto"
  std::optional<std::string> environment;  // OPENBLAS_CORETYPE as the user has set it
  bool allow_slow = false;
};
// No for a core type below the CPU's instruction set, unless it is allowed or was requested, and for a request that was
// not met because the library had been loaded before. The reason names the detected type, the CPU's features and what
// to set.
Supports judge(const CoreChoice&, const DeviceFacts&);

}  // namespace gemmsmith::openblas
