#include "targets/cuda/arch.h"

#include <vector>

#include "support/text.h"

namespace gemmsmith {
namespace {

struct DataSheet {
  const char* model;
  int sms;
  int64_t l1_bytes, l2_mbytes, memory_gbytes;
  double f32_tflops, bf16_tflops, i8_tops, memory_tbytes_per_s;  // dense
};

DeviceFacts facts_of(const char* arch, const DataSheet& sheet, std::vector<std::string> features) {
  DeviceFacts facts;
  facts.kind = arch;
  facts.vendor = "NVIDIA";
  facts.model = std::string(sheet.model) + " (nominal)";
  facts.features = std::move(features);
  facts.cores = sheet.sms;
  facts.threads = sheet.sms;
  facts.vector_bytes = 16;
  facts.l1_bytes = sheet.l1_bytes;
  facts.last_level_bytes = sheet.l2_mbytes << 20;
  facts.memory_bytes = sheet.memory_gbytes * 1'000'000'000;
  facts.peak_f32_gflops = sheet.f32_tflops * 1e3;
  facts.peak_bf16_gflops = sheet.bf16_tflops * 1e3;
  facts.peak_i8_gops = sheet.i8_tops * 1e3;
  facts.read_gbytes_per_s = sheet.memory_tbytes_per_s * 1e3;
  return facts;
}

// Shared memory: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". PTX versions: the
// release notes of the PTX ISA. Rates: NVIDIA's data sheets, without sparsity.
const std::vector<GpuArch>& table() {
  static const std::vector<GpuArch> archs = {
      {"sm_80", 74, 166912, "on cp.async and mma.sync",
       facts_of("sm_80", {"A100 80GB SXM", 108, 196608, 40, 80, 19.5, 312, 624, 2.039}, {"cp_async", "mma_sync"})},
      {"sm_89", 78, 101376, "on cp.async and mma.sync",
       facts_of("sm_89", {"L40S", 142, 131072, 96, 48, 91.6, 362, 733, 0.864}, {"cp_async", "fp8", "mma_sync"})},
      // wgmma, TMA and clusters are of 8.0, st.async of 8.1.
      {"sm_90a", 81, 232448, nullptr,
       facts_of("sm_90a", {"H200 SXM", 132, 262144, 50, 141, 66.9, 989.5, 1979, 4.8},
                {"clusters", "cp_async", "fp8", "mma_sync", "tma", "wgmma"})},
      {"sm_100a", 86, 232448, "on tcgen05 and tensor memory",
       facts_of("sm_100a", {"B200", 148, 262144, 126, 180, 75, 2250, 4500, 7.7},
                {"clusters", "cp_async", "fp8", "mma_sync", "tcgen05", "tma"})},
  };
  return archs;
}

}  // namespace

std::vector<std::string> gpu_arch_names() {
  std::vector<std::string> names;
  for (const GpuArch& arch : table()) names.emplace_back(arch.name);
  return names;
}

Result<const GpuArch*> gpu_arch(std::string_view name) {
  for (const GpuArch& arch : table())
    if (arch.name == name) return &arch;
  const std::vector<std::string> known = gpu_arch_names();
  const std::string near = suggest(name, known), all = "known: " + join(known, ", ");
  return Error{"arch",
               "\"" + std::string(name) + "\"",
               "is not an architecture that kernels are compiled for",
               near == all ? all : near + "; " + all,
               {}};
}

Result<DeviceFacts> describe_arch(std::string_view name) {
  GS_TRY(const GpuArch* arch, gpu_arch(name));
  return arch->nominal;
}

}  // namespace gemmsmith
