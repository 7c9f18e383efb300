#include "targets/simulator/runtime/memory.h"

#include <sys/mman.h>

#include "support/text.h"

namespace gemmsmith::simulator {

namespace {
constexpr uintptr_t kFirst = 0x10000000, kEnd = uintptr_t(1) << 32;
constexpr size_t kPage = 4096;
}  // namespace

SharedWindows::~SharedWindows() { unmap(); }

void SharedWindows::unmap() {
  for (int i = 0; i < count_; ++i) munmap(at(i), kBytes);
  base_ = 0;
  count_ = 0;
}

bool SharedWindows::map(uintptr_t base, int windows) {
  base_ = base;
  for (count_ = 0; count_ < windows; ++count_) {
    void* wanted = at(count_);
    void* got = mmap(wanted, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) continue;
    if (got != MAP_FAILED) munmap(got, kBytes);  // kernels before 4.17 take the address as a wish
    unmap();
    return false;
  }
  return true;
}

Status SharedWindows::reserve(int windows) {
  if (windows <= count_) return Done{};
  unmap();
  // Another simulator may hold the first places.
  for (uintptr_t base = kFirst; base + uintptr_t(windows) * kStride <= kEnd; base += kStride)
    if (map(base, windows)) return Done{};
  return Error{"simulator",
               concat(windows, " windows of shared memory"),
               "find no place below 4 GiB, where 32-bit shared addresses need them",
               "fewer CTAs at a time, or fewer simulators at a time",
               {}};
}

Stacks::~Stacks() { unmap(); }

void Stacks::unmap() {
  if (base_) munmap(base_, size_t(count_) * slot_bytes_);
  base_ = nullptr;
  count_ = 0;
}

Status Stacks::reserve(int count, size_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (count <= count_ && bytes == bytes_) return Done{};
  unmap();
  bytes_ = bytes;
  slot_bytes_ = bytes + kPage;
  const size_t all = size_t(count) * slot_bytes_;
  void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Error{"simulator",
                 concat(count, " threads with stacks of ", bytes, " bytes"),
                 "do not fit into memory",
                 "fewer CTAs at a time",
                 {}};
  base_ = static_cast<char*>(memory);
  count_ = count;
  for (int i = 0; i < count && count <= kMaxGuarded; ++i) mprotect(base_ + size_t(i) * slot_bytes_, kPage, PROT_NONE);
  return Done{};
}

}  // namespace gemmsmith::simulator
