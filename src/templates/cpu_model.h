// The analytic model that ranks configurations on a CPU: peaks measured on the device where it has them, ratios between memory
// levels otherwise. It only has to order candidates; `explain` prints predicted beside measured times.
#pragma once
#include <algorithm>
#include <cmath>

#include "gemmsmith/data_type.h"
#include "gemmsmith/device.h"

namespace gemmsmith {

inline double round_up_to(double n, double unit) { return std::ceil(n / unit) * unit; }

// Whether the device multiplies pairs of bf16 or quads of bytes in one instruction.
inline bool can_dot(DataType a, DataType b, const DeviceFacts& device) {
  if (a != b || device.vector_bytes != 64) return false;
  return a == DataType::bf16 ? device.has("avx512_bf16") : a == DataType::i8 && device.has("avx512_vnni");
}

class CpuModel {
 public:
  explicit CpuModel(const DeviceFacts& device) : device_(device) {}

  // Of all cores, for sums of products of this type.
  double gflops(DataType type) const {
    if (type == DataType::bf16 && device_.peak_bf16_gflops > 0) return device_.peak_bf16_gflops;
    if (type == DataType::i8 && device_.peak_i8_gops > 0) return device_.peak_i8_gops;
    const double f32 = device_.peak_f32_gflops > 0 ? device_.peak_f32_gflops : 50.0 * device_.threads;
    return type == DataType::i32 ? f32 / 2 : f32;  // 32-bit multiplies run at half the rate of an FMA or less
  }
  double read_bytes_per_us() const {
    return (device_.read_gbytes_per_s > 0 ? device_.read_gbytes_per_s : 10.0 * device_.threads) * 1e3;
  }
  // Of one core. Packing reads memory, converts, and writes to L2; a transposing pack adds shuffles.
  double pack_bytes_per_us(DataType type, bool transposes) const {
    const double copied = std::min(read_bytes_per_us() / device_.threads, 16e3) * bytes_of(type) / 4;
    return transposes ? copied / 2 : copied;
  }
  double l2_bytes_per_us() const { return 60e3; }  // of one core
  double launch_us() const { return device_.threads > 1 ? 1.0 : 0.1; }

 private:
  const DeviceFacts& device_;
};

}  // namespace gemmsmith
