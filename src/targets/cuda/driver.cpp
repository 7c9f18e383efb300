#include "targets/cuda/driver.h"

#include <fstream>
#include <functional>
#include <vector>

#include "support/text.h"

namespace gemmsmith {

using namespace cuda;

namespace {

// cuda.h, CUdevice_attribute and CUfunction_attribute.
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76;
constexpr int kMaxDynamicShared = 8;

// What /proc says of the kernel module: "580.159.04".
std::string module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "unknown";
}

// CUtensorMapDataType, by TmaType.
int data_type(TmaType type) {
  switch (type) {
    case TmaType::u8:
      return 0;
    case TmaType::u16:
      return 1;
    case TmaType::u32:
      return 2;
    case TmaType::i32:
      return 3;
    case TmaType::f16:
      return 6;
    case TmaType::f32:
      return 7;
    case TmaType::bf16:
      return 9;
    case TmaType::tf32:
      return 11;
  }
  return 0;
}
int swizzle_mode(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }
int promotion_mode(int bytes) { return bytes == 256 ? 3 : bytes == 128 ? 2 : bytes == 64 ? 1 : 0; }

}  // namespace

struct CudaDriver::Functions {
#define GS_CUDA_FUNCTIONS(F)                                                                                          \
  F(init, cuInit, (unsigned))                                                                                         \
  F(driver_version, cuDriverGetVersion, (int*))                                                                       \
  F(device_count, cuDeviceGetCount, (int*))                                                                           \
  F(device_get, cuDeviceGet, (Device*, int))                                                                          \
  F(device_name, cuDeviceGetName, (char*, int, Device))                                                               \
  F(device_attribute, cuDeviceGetAttribute, (int*, int, Device))                                                      \
  F(device_memory, cuDeviceTotalMem_v2, (size_t*, Device))                                                            \
  F(context_retain, cuDevicePrimaryCtxRetain, (Context*, Device))                                                     \
  F(context_release, cuDevicePrimaryCtxRelease_v2, (Device))                                                          \
  F(context_set, cuCtxSetCurrent, (Context))                                                                          \
  F(context_synchronize, cuCtxSynchronize, ())                                                                        \
  F(module_load, cuModuleLoadData, (Module*, const void*))                                                            \
  F(module_unload, cuModuleUnload, (Module))                                                                          \
  F(module_function, cuModuleGetFunction, (Function*, Module, const char*))                                           \
  F(function_set, cuFuncSetAttribute, (Function, int, int))                                                           \
  F(active_clusters, cuOccupancyMaxActiveClusters, (int*, Function, const LaunchConfig*))                             \
  F(launch, cuLaunchKernelEx, (const LaunchConfig*, Function, void**, void**))                                        \
  F(allocate, cuMemAlloc_v2, (DevicePointer*, size_t))                                                                \
  F(release, cuMemFree_v2, (DevicePointer))                                                                           \
  F(copy_in, cuMemcpyHtoD_v2, (DevicePointer, const void*, size_t))                                                   \
  F(copy_out, cuMemcpyDtoH_v2, (void*, DevicePointer, size_t))                                                        \
  F(fill, cuMemsetD8_v2, (DevicePointer, unsigned char, size_t))                                                      \
  F(event_create, cuEventCreate, (Event*, unsigned))                                                                  \
  F(event_destroy, cuEventDestroy_v2, (Event))                                                                        \
  F(event_record, cuEventRecord, (Event, Stream))                                                                     \
  F(event_synchronize, cuEventSynchronize, (Event))                                                                   \
  F(event_elapsed, cuEventElapsedTime, (float*, Event, Event))                                                        \
  F(error_name, cuGetErrorName, (Result_, const char**))                                                              \
  F(error_text, cuGetErrorString, (Result_, const char**))                                                            \
  F(encode, cuTensorMapEncodeTiled,                                                                                   \
    (cuda::TensorMap*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, \
     int, int, int))
#define F(name, symbol, parameters) Result_(*name) parameters = nullptr;
  GS_CUDA_FUNCTIONS(F)
#undef F
};

CudaDriver::CudaDriver(DynamicLibrary library) : library_(std::move(library)), f_(std::make_unique<Functions>()) {
  library_.keep_open();  // it has threads of its own
}
CudaDriver::~CudaDriver() {
  if (context_) f_->context_release(device_);
}

Status CudaDriver::check(Result_ code, const char* call) const {
  if (code == 0) return Done{};
  const char *name = nullptr, *text = nullptr;
  if (f_->error_name) f_->error_name(code, &name);
  if (f_->error_text) f_->error_text(code, &text);
  return Error{
      call, concat(name ? name : "error", " (", code, ")"), text ? text : "is not explained by the driver", {}, {}};
}

Result<std::shared_ptr<CudaDriver>> CudaDriver::open(int ordinal) {
  const std::vector<std::string> names = {"libcuda.so.1"};
  auto library = DynamicLibrary::open(names);
  if (!library.ok())
    return Error{"device cuda", "no CUDA device", "libcuda.so.1, the driver's library, could not be opened",
                 "sim:sm_90a simulates one", library.error().notes};
  std::shared_ptr<CudaDriver> driver(new CudaDriver(std::move(*library)));
  Functions& f = *driver->f_;
#define F(name, symbol, parameters)                            \
  {                                                            \
    GS_TRY(void* address, driver->library_.find(#symbol));     \
    f.name = reinterpret_cast<Result_(*) parameters>(address); \
  }
  GS_CUDA_FUNCTIONS(F)
#undef F
  GS_CHECK(driver->check(f.init(0), "cuInit"));
  GS_CHECK(driver->describe(ordinal));
  GS_CHECK(driver->check(f.context_retain(&driver->context_, driver->device_), "cuDevicePrimaryCtxRetain"));
  GS_CHECK(driver->make_current());
  return driver;
}

Status CudaDriver::describe(int ordinal) {
  int count = 0, major = 0, minor = 0, value = 0, version = 0;
  GS_CHECK(check(f_->device_count(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count)
    return Error{"device cuda", concat("device ", ordinal), concat("is not one of the ", count, " there are"), {}, {}};
  GS_CHECK(check(f_->device_get(&device_, ordinal), "cuDeviceGet"));
  char name[256] = {};
  GS_CHECK(check(f_->device_name(name, sizeof name, device_), "cuDeviceGetName"));
  GS_CHECK(check(f_->device_attribute(&major, kMajor, device_), "cuDeviceGetAttribute"));
  GS_CHECK(check(f_->device_attribute(&minor, kMinor, device_), "cuDeviceGetAttribute"));
  GS_CHECK(check(f_->driver_version(&version), "cuDriverGetVersion"));
  version_ = concat(module_version(), " (CUDA ", version / 1000, ".", version % 1000 / 10, ")");
  if (major != 9 || minor != 0)
    return Error{"device cuda",
                 concat(name, ", sm_", major, minor),
                 "has no templates: they are for sm_90",
                 "sim:sm_90a simulates one",
                 {}};
  facts_.kind = "sm_90a";
  facts_.vendor = "NVIDIA";
  facts_.model = name;
  facts_.features = {"driver " + version_};
  GS_CHECK(check(f_->device_attribute(&value, kMultiprocessors, device_), "cuDeviceGetAttribute"));
  facts_.cores = value;
  facts_.threads = 1;
  facts_.vector_bytes = 16;
  GS_CHECK(check(f_->device_attribute(&value, kL2Bytes, device_), "cuDeviceGetAttribute"));
  facts_.l2_bytes = facts_.last_level_bytes = value;
  size_t bytes = 0;
  GS_CHECK(check(f_->device_memory(&bytes, device_), "cuDeviceTotalMem"));
  facts_.memory_bytes = int64_t(bytes);
  return Done{};
}

Status CudaDriver::make_current() const { return check(f_->context_set(context_), "cuCtxSetCurrent"); }

Result<Module> CudaDriver::load_module(const std::string& object) const {
  GS_CHECK(make_current());
  Module module = nullptr;
  GS_CHECK(check(f_->module_load(&module, object.c_str()), "cuModuleLoadData"));
  return module;
}
void CudaDriver::unload(Module module) const {
  if (make_current().ok()) f_->module_unload(module);
}

Result<Function> CudaDriver::function(Module module, const std::string& name, int64_t shared_bytes) const {
  Function function = nullptr;
  GS_CHECK(check(f_->module_function(&function, module, name.c_str()), "cuModuleGetFunction"));
  GS_CHECK(check(f_->function_set(function, kMaxDynamicShared, int(shared_bytes)), "cuFuncSetAttribute"));
  return function;
}

namespace {
LaunchConfig config_of(const GpuLaunch& launch, unsigned grid, Stream stream) {
  return {grid, 1, 1, unsigned(launch.threads), 1, 1, unsigned(launch.shared_bytes), stream, nullptr, 0};
}
}  // namespace

Result<int64_t> CudaDriver::resident_clusters(Function function, const GpuLaunch& launch) const {
  if (launch.cluster == 1) return int64_t(facts_.cores);  // one CTA of the persistent templates fills an SM
  LaunchConfig config = config_of(launch, unsigned(launch.cluster), nullptr);
  LaunchAttribute cluster = {};
  cluster.id = kClusterDimension;
  cluster.cluster = {unsigned(launch.cluster), 1, 1};
  config.attributes = &cluster;
  config.attribute_count = 1;
  int clusters = 0;
  GS_CHECK(check(f_->active_clusters(&clusters, function, &config), "cuOccupancyMaxActiveClusters"));
  return int64_t(clusters);
}

Status CudaDriver::launch(Function function, const GpuLaunch& launch, unsigned grid, Stream stream,
                          void** parameters) const {
  const LaunchConfig config = config_of(launch, grid, stream);
  return check(f_->launch(&config, function, parameters, nullptr), "cuLaunchKernelEx");
}

Result<cuda::TensorMap> CudaDriver::encode(const gemmsmith::TensorMap& map) const {
  cuda::TensorMap out = {};
  const uint32_t steps[5] = {1, 1, 1, 1, 1};
  constexpr int kNoInterleave = 0, kZeroFill = 0;
  GS_CHECK(check(f_->encode(&out, data_type(map.type), unsigned(map.rank), reinterpret_cast<void*>(map.address),
                            map.extents.data(), map.stride_bytes.data() + 1, map.box.data(), steps, kNoInterleave,
                            swizzle_mode(map.swizzle_bytes), promotion_mode(map.l2_promotion_bytes), kZeroFill),
                 "cuTensorMapEncodeTiled"));
  return out;
}

Result<DevicePointer> CudaDriver::allocate(int64_t bytes) const {
  GS_CHECK(make_current());
  DevicePointer pointer = 0;
  if (Status done = check(f_->allocate(&pointer, size_t(std::max<int64_t>(bytes, 1))), "cuMemAlloc"); !done.ok())
    return std::move(done).error().note(concat("for ", bytes, " bytes"));
  return pointer;
}
void CudaDriver::release(DevicePointer pointer) const {
  if (pointer && make_current().ok()) f_->release(pointer);
}
Status CudaDriver::copy_in(DevicePointer to, const void* from, int64_t bytes) const {
  return check(f_->copy_in(to, from, size_t(bytes)), "cuMemcpyHtoD");
}
Status CudaDriver::copy_out(void* to, DevicePointer from, int64_t bytes) const {
  return check(f_->copy_out(to, from, size_t(bytes)), "cuMemcpyDtoH");
}
Status CudaDriver::fill(DevicePointer to, unsigned char value, int64_t bytes) const {
  return check(f_->fill(to, value, size_t(bytes)), "cuMemsetD8");
}
Status CudaDriver::synchronize() const { return check(f_->context_synchronize(), "cuCtxSynchronize"); }

Result<double> CudaDriver::time_us(const std::function<Status()>& launch, int repeats) const {
  Event begin = nullptr, end = nullptr;
  GS_CHECK(check(f_->event_create(&begin, 0), "cuEventCreate"));
  GS_CHECK(check(f_->event_create(&end, 0), "cuEventCreate"));
  GS_CHECK(check(f_->event_record(begin, nullptr), "cuEventRecord"));
  for (int i = 0; i < repeats; ++i) GS_CHECK(launch());
  GS_CHECK(check(f_->event_record(end, nullptr), "cuEventRecord"));
  GS_CHECK(check(f_->event_synchronize(end), "cuEventSynchronize"));
  float ms = 0;
  GS_CHECK(check(f_->event_elapsed(&ms, begin, end), "cuEventElapsedTime"));
  f_->event_destroy(begin);
  f_->event_destroy(end);
  return double(ms) * 1e3 / repeats;
}

}  // namespace gemmsmith
