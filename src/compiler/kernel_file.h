// Compiled kernels as bytes, and the files that the binary cache keeps them in. Reading trusts nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "compiler/target.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

// Name, signature and object; times and stages are of the compilation and not kept. Numbers are little-endian, texts
// are framed by their length.
std::string print_kernel(const CompiledKernel&);
// The inverse. Errors say at which byte it ends or does not make sense; nothing behind the end is passed over.
Result<CompiledKernel> parse_kernel(std::string_view bytes);

// A kernel with its key, and a hash of all of it at the end.
std::string print_kernel_file(std::string_view key, const CompiledKernel&);
// The kernel, if the file is that of the key. Nothing if it is sound, but of another key or a later form: not ours to
// read, and no damage. An error if it is truncated or damaged.
Result<std::optional<CompiledKernel>> parse_kernel_file(std::string_view bytes, std::string_view key);

}  // namespace gemmsmith
