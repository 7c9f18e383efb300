// Facts of a device that kernels are chosen for, as plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gemmsmith {

struct DeviceFacts {
  std::string kind;                    // "cpu"
  std::string vendor;                  // "AuthenticAMD"
  std::string model;                   // "AMD EPYC 9B45"
  std::vector<std::string> features;   // sorted: "avx2", "avx512f", "avx512_bf16", "avx512_vnni" ...
  int cores = 1;                       // that this process may run on: affinity and cgroup limits counted in
  int threads = 1;                     // that kernels use
  int vector_bytes = 16;               // of the widest vector register that kernels use: 32 or 64
  int64_t l1_bytes = 0, l2_bytes = 0;  // of one core
  int64_t last_level_bytes = 0;        // shared by all
  int64_t memory_bytes = 0;            // that this process may use

  // Measured on this device with all its threads; 0 until measured.
  double peak_f32_gflops = 0, peak_bf16_gflops = 0,
         peak_i8_gops = 0;       // bf16 and i8: of the dot instructions, 0 without them
  double read_gbytes_per_s = 0;  // of a stream from memory

  bool has(const std::string& feature) const {
    for (const std::string& f : features)
      if (f == feature) return true;
    return false;
  }
  // What decides whether a stored choice still holds: kind, model, features, threads and caches, in one line.
  std::string fingerprint() const;
};

}  // namespace gemmsmith
