// Kernels that follow from a number, so that any process can tell whether one is whole.
#pragma once
#include <string>

#include "compiler/target.h"

namespace gemmsmith {

inline std::string key_of(int number) { return "template gemm_packed mr=" + std::to_string(number) + " build 1a2b3c"; }

inline CompiledKernel kernel_of(int number) {
  using Kind = KernelArgument::Kind;
  CompiledKernel kernel;
  kernel.name = "kernel_" + std::to_string(number);
  kernel.signature.arguments = {{Kind::pointer, "a"}, {Kind::extent, "m"}, {Kind::cores, ""}, {Kind::scratch, ""}};
  kernel.signature.scratch_bytes = 4096 * number;
  if (number % 2 == 1) {  // one for a GPU
    kernel.signature.gpu = {384, 1 + number % 8, 1024 * number, "n", "m", 128, 64 + number, 2, false, true};
    kernel.signature.tensor_maps = {{"a", "m", "k", true, false, TmaType::f16, 64, 32, 128, 256},
                                    {"d", "m", "n", false, true, TmaType::tf32, 8, 256, 0, 0}};
  }
  for (int i = 0; i < 500 + (number * 977) % 20000; ++i) kernel.object += char((i * 31 + number) & 0xff);
  return kernel;
}

inline bool same(const CompiledKernel& a, const CompiledKernel& b) {
  return a.name == b.name && a.object == b.object && a.signature.arguments == b.signature.arguments &&
         a.signature.scratch_bytes == b.signature.scratch_bytes && a.signature.gpu == b.signature.gpu &&
         a.signature.tensor_maps == b.signature.tensor_maps;
}

}  // namespace gemmsmith
