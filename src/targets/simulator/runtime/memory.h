// Memory of the simulated machine that must lie where kernels expect it: windows of shared memory, stacks of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gemmsmith/result.h"

namespace gemmsmith::simulator {

// Shared memory of one CTA is a window of 256 KiB; windows are 16 MiB apart and below 4 GiB. So 32-bit addresses are exact, the low 24 bits
// are the offset in the CTA, the swizzles' address bits are those of the hardware, and mapa adds a multiple of 16 MiB.
class SharedWindows {
 public:
  static constexpr uintptr_t kStride = uintptr_t(1) << 24;
  static constexpr size_t kBytes = size_t(256) << 10;
  static constexpr uint32_t kMaxSharedBytes = 227 << 10;  // of a CTA on sm_90
  static constexpr int kMaxWindows = 224;                 // that fit between kFirst and 4 GiB

  SharedWindows() = default;
  ~SharedWindows();
  SharedWindows(const SharedWindows&) = delete;
  SharedWindows& operator=(const SharedWindows&) = delete;

  Status reserve(int windows);  // at least so many; those that there are may move
  char* at(int window) const { return reinterpret_cast<char*>(base_ + uintptr_t(window) * kStride); }
  // The window that an address lies in (not only in its used part), or -1.
  int window_of(const void* address) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - base_;
    return base_ && offset / kStride < uintptr_t(count_) ? int(offset / kStride) : -1;
  }
  static uint32_t offset_of(const void* address) {
    return uint32_t(reinterpret_cast<uintptr_t>(address) & (kStride - 1));
  }

 private:
  bool map(uintptr_t base, int windows);
  void unmap();
  uintptr_t base_ = 0;
  int count_ = 0;
};

// Stacks of equal size, one behind the other. Each has a guard page below while the system's limit of mappings allows that.
class Stacks {
 public:
  static constexpr int kMaxGuarded = 16384;
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  Status reserve(int count, size_t bytes);
  char* top(int stack) const { return base_ + size_t(stack + 1) * slot_bytes_; }
  char* bottom(int stack) const { return top(stack) - bytes_; }
  size_t bytes() const { return bytes_; }
  bool contains(const void* address) const {
    return size_t(static_cast<const char*>(address) - base_) < size_t(count_) * slot_bytes_;
  }

 private:
  void unmap();
  char* base_ = nullptr;
  size_t slot_bytes_ = 0, bytes_ = 0;
  int count_ = 0;
};

}  // namespace gemmsmith::simulator
