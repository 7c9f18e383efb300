#include "targets/cuda/cuda_kernel.h"

#include <algorithm>
#include <vector>

#include "support/text.h"

namespace gemmsmith {
namespace {

// Device memory that lives as long as this.
class Buffer {
 public:
  explicit Buffer(std::shared_ptr<CudaDriver> driver) : driver_(std::move(driver)) {}
  Buffer(Buffer&& o) noexcept : driver_(std::move(o.driver_)), at_(std::exchange(o.at_, 0)), bytes_(o.bytes_) {}
  ~Buffer() {
    if (driver_) driver_->release(at_);
  }
  // New memory if there is too little. Contents are then undefined.
  Status at_least(int64_t bytes) {
    if (bytes <= bytes_) return Done{};
    driver_->release(std::exchange(at_, 0));
    bytes_ = 0;
    GS_TRY(at_, driver_->allocate(bytes));
    bytes_ = bytes;
    return Done{};
  }
  cuda::DevicePointer at() const { return at_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<CudaDriver> driver_;
  cuda::DevicePointer at_ = 0;
  int64_t bytes_ = 0;
};

class CudaKernel : public LoadedKernel {
 public:
  CudaKernel(std::shared_ptr<CudaDriver> driver, cuda::Module module, cuda::Function function,
             const CompiledKernel& kernel, int64_t resident, bool stage_memory)
      : driver_(std::move(driver)),
        module_(module),
        function_(function),
        signature_(kernel.signature),
        name_(kernel.name),
        resident_(resident),
        stages_(stage_memory),
        nothing_(driver_),
        scratch_(driver_) {}
  ~CudaKernel() override { driver_->unload(module_); }

  const KernelSignature& signature() const override { return signature_; }
  bool checks_memory() const override { return stages_; }
  void set_memory(std::vector<OperandMemory> memory) override { memory_ = std::move(memory); }

  Status launch(int64_t* words) override {
    GS_CHECK(driver_->make_current());
    GS_TRY(const int64_t grid, grid_size(signature_, words, resident_));
    if (grid == 0) return Done{};
    std::vector<int64_t> here(words, words + signature_.arguments.size());
    GS_CHECK(provide_scratch(here, grid));
    if (stages_) GS_CHECK(copy_in(here));
    GS_CHECK(encode_maps(here));
    std::vector<void*> parameters;
    for (cuda::TensorMap& map : maps_) parameters.push_back(&map);
    for (int64_t& word : here) parameters.push_back(&word);
    if (Status launched = driver_->launch(function_, signature_.gpu, unsigned(grid), nullptr, parameters.data());
        !launched.ok())
      return std::move(launched).error().note("kernel " + name_);
    return stages_ ? copy_out() : Status(Done{});
  }

 private:
  // Maps of the same numbers are not encoded again.
  Status encode_maps(const std::vector<int64_t>& words) {
    std::vector<gemmsmith::TensorMap> wanted;
    for (const TensorMapSpec& spec : signature_.tensor_maps) {
      GS_TRY(gemmsmith::TensorMap map, tensor_map(spec, signature_, words.data()));
      if (map.empty) {
        GS_CHECK(nothing_.at_least(1024));
        map.address = nothing_.at();
      }
      wanted.push_back(map);
    }
    if (wanted == encoded_) return Done{};
    encoded_.clear();
    maps_.clear();
    for (const gemmsmith::TensorMap& map : wanted) {
      GS_TRY(const cuda::TensorMap encoded, driver_->encode(map));
      maps_.push_back(encoded);
    }
    encoded_ = std::move(wanted);
    return Done{};
  }

  // Zeroed when it is new; kernels leave it as they found it.
  Status provide_scratch(std::vector<int64_t>& words, int64_t grid) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (signature_.arguments[i].kind != KernelArgument::Kind::scratch) continue;
      const int64_t bytes = (signature_.scratch_bytes + 255) / 256 * 256 * grid;
      if (bytes > scratch_.bytes()) {
        GS_CHECK(scratch_.at_least(bytes));
        GS_CHECK(driver_->fill(scratch_.at(), 0, bytes));
      }
      words[i] = int64_t(scratch_.at());
    }
    return Done{};
  }

  Status copy_in(std::vector<int64_t>& words) {
    while (buffers_.size() < memory_.size()) buffers_.emplace_back(driver_);
    for (size_t i = 0; i < memory_.size(); ++i) {
      // The same distance from a multiple of 256 as on the host, so that alignment is what the caller gave.
      const int64_t offset = int64_t(reinterpret_cast<uintptr_t>(memory_[i].base) % 256);
      GS_CHECK(buffers_[i].at_least(memory_[i].bytes + 256));
      GS_CHECK(driver_->copy_in(buffers_[i].at() + uint64_t(offset), memory_[i].base, memory_[i].bytes));
      for (size_t w = 0; w < words.size(); ++w) {
        if (signature_.arguments[w].kind != KernelArgument::Kind::pointer) continue;
        const char* const begin = static_cast<const char*>(memory_[i].base);
        const char* const there = reinterpret_cast<const char*>(words[w]);
        if (there < begin || there >= begin + memory_[i].bytes) continue;
        words[w] = int64_t(buffers_[i].at()) + offset + (there - begin);
      }
    }
    return Done{};
  }
  Status copy_out() {
    GS_CHECK(driver_->synchronize());
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (!memory_[i].writable) continue;
      const int64_t offset = int64_t(reinterpret_cast<uintptr_t>(memory_[i].base) % 256);
      GS_CHECK(driver_->copy_out(memory_[i].base, buffers_[i].at() + uint64_t(offset), memory_[i].bytes));
    }
    return Done{};
  }

  std::shared_ptr<CudaDriver> driver_;
  cuda::Module module_;
  cuda::Function function_;
  KernelSignature signature_;
  std::string name_;
  int64_t resident_;
  bool stages_;
  std::vector<OperandMemory> memory_;
  std::vector<Buffer> buffers_;
  Buffer nothing_, scratch_;
  std::vector<gemmsmith::TensorMap> encoded_;
  std::vector<cuda::TensorMap> maps_;
};

}  // namespace

Result<std::unique_ptr<LoadedKernel>> load_cuda_kernel(std::shared_ptr<CudaDriver> driver, const CompiledKernel& kernel,
                                                       bool stage_memory) {
  GS_TRY(const cuda::Module module, driver->load_module(kernel.object));
  auto function = driver->function(module, kernel.name, kernel.signature.gpu.shared_bytes);
  if (!function.ok()) {
    driver->unload(module);
    return std::move(function).error().note("kernel " + kernel.name);
  }
  GS_TRY(const int64_t resident, driver->resident_clusters(*function, kernel.signature.gpu));
  return std::unique_ptr<LoadedKernel>(
      new CudaKernel(std::move(driver), module, *function, kernel, resident, stage_memory));
}

}  // namespace gemmsmith
