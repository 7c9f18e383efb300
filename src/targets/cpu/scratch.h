// Working memory of kernels: kept from launch to launch, since fresh pages cost more than many a kernel.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "gemmsmith/result.h"
#include "support/aligned_buffer.h"

namespace gemmsmith {

// Grows on demand; freed with the pool. Launches at the same time get different memory.
class ScratchPool {
 public:
  // Memory for the launch that holds it; goes back when destroyed. The pool has to outlive it.
  class Lease {
   public:
    Lease() = default;
    Lease(ScratchPool* pool, AlignedBuffer buffer) : pool_(pool), buffer_(std::move(buffer)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (buffer_.data() != nullptr) pool_->give_back(std::move(buffer_));
    }
    char* data() const { return buffer_.data(); }

   private:
    ScratchPool* pool_ = nullptr;
    AlignedBuffer buffer_;
  };

  // At least `bytes` bytes, aligned to 2 MB; nothing for 0. The content is arbitrary. Errors: no memory, with the bytes
  // asked for.
  Result<Lease> take(int64_t bytes);

 private:
  void give_back(AlignedBuffer);

  std::mutex mutex_;
  std::vector<AlignedBuffer> free_;
};

}  // namespace gemmsmith
