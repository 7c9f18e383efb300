#include "targets/cpu/scratch.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr int64_t kHugePageBytes = int64_t(2) << 20;

bool smaller(const AlignedBuffer& a, const AlignedBuffer& b) { return a.size_bytes() < b.size_bytes(); }

}  // namespace

Result<ScratchPool::Lease> ScratchPool::take(int64_t bytes) {
  if (bytes <= 0) return Lease{};
  {
    const std::lock_guard lock(mutex_);
    auto fits =
        std::find_if(free_.begin(), free_.end(), [&](const AlignedBuffer& b) { return b.size_bytes() >= bytes; });
    if (fits != free_.end()) {
      Lease lease(this, std::move(*fits));
      free_.erase(fits);
      return lease;
    }
    // All are too small: the largest of them is the one that the new buffer replaces, freed first.
    if (auto largest = std::max_element(free_.begin(), free_.end(), smaller); largest != free_.end())
      free_.erase(largest);
  }
  const int64_t rounded = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  auto buffer = AlignedBuffer::allocate(rounded, {.alignment_bytes = kHugePageBytes, .guard_bytes = 0});
  if (!buffer.ok())
    return Error{"scratch memory",
                 std::to_string(bytes) + " bytes",
                 "could not be allocated",
                 "a configuration with smaller blocks, or fewer threads",
                 {}};
  return Lease(this, std::move(*buffer));
}

void ScratchPool::give_back(AlignedBuffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace gemmsmith
