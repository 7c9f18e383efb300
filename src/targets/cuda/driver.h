// The CUDA driver, opened at run time: nothing of a toolkit is needed to build or to run. Declarations are those of the
// CUDA driver API, 12.0 and later; only what is used here.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "ir/signature.h"
#include "support/dynamic_library.h"

namespace gemmsmith {

namespace cuda {
using Result_ = int;  // CUresult
using Device = int;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using DevicePointer = uint64_t;

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic_stream_serialization;
  };
};
inline constexpr int kClusterDimension = 4, kProgrammaticStreamSerialization = 6;
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct alignas(64) TensorMap {
  std::array<uint64_t, 16> words;
};
}  // namespace cuda

// Functions of libcuda.so.1 and one device of it, with its primary context. Calls may come from any thread; each makes the
// context current first.
class CudaDriver {
 public:
  // `ordinal`: which of the devices, counted from 0. Errors: no library, no device, one that is not of sm_90.
  static Result<std::shared_ptr<CudaDriver>> open(int ordinal = 0);
  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  const std::string& version() const { return version_; }  // of the driver: "580.159.04 (CUDA 13.0)"
  Status make_current() const;

  Result<cuda::Module> load_module(const std::string& cubin_or_ptx) const;
  void unload(cuda::Module) const;
  // With as much dynamic shared memory as it wants.
  Result<cuda::Function> function(cuda::Module, const std::string& name, int64_t shared_bytes) const;
  // How many clusters of a kernel run at once.
  Result<int64_t> resident_clusters(cuda::Function, const GpuLaunch&) const;
  Status launch(cuda::Function, const GpuLaunch&, unsigned grid, cuda::Stream, void** parameters) const;
  Result<cuda::TensorMap> encode(const gemmsmith::TensorMap&) const;

  Result<cuda::DevicePointer> allocate(int64_t bytes) const;
  void release(cuda::DevicePointer) const;
  Status copy_in(cuda::DevicePointer, const void* from, int64_t bytes) const;
  Status copy_out(void* to, cuda::DevicePointer, int64_t bytes) const;
  Status fill(cuda::DevicePointer, unsigned char value, int64_t bytes) const;
  Status synchronize() const;  // with everything on the device
  // Mean time of `repeats` launches in a row between two events, in us.
  Result<double> time_us(const std::function<Status()>& launch, int repeats) const;

 private:
  struct Functions;
  explicit CudaDriver(DynamicLibrary library);
  Status check(cuda::Result_ code, const char* call) const;  // "cuLaunchKernelEx: CUDA_ERROR_... (701): text"
  Status describe(int ordinal);

  DynamicLibrary library_;
  std::unique_ptr<Functions> f_;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  DeviceFacts facts_;
  std::string version_;
};

}  // namespace gemmsmith
