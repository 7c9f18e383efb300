#include "support/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "support/text.h"

namespace gemmsmith {
namespace {
constexpr int64_t kHugePageBytes = int64_t(2) << 20;
constexpr unsigned char kGuardByte = 0xa5;
}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(int64_t bytes, const Options& options) {
  const int64_t alignment = options.alignment_bytes;
  GS_ASSERT(bytes >= 0 && options.guard_bytes >= 0, "sizes are not negative");
  GS_ASSERT(alignment > 0 && (alignment & (alignment - 1)) == 0, "an alignment is a power of two");
  const auto no_memory = [&] {
    return Error{
        "memory", print_bytes(double(bytes)), "cannot be allocated", "use a smaller problem or free memory", {}};
  };
  if (bytes > std::numeric_limits<int64_t>::max() / 4 || options.guard_bytes > std::numeric_limits<int64_t>::max() / 8)
    return no_memory();
  const auto round_up = [](int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; };

  AlignedBuffer buffer;
  const bool huge_pages = bytes >= 2 * kHugePageBytes;
  const int64_t allocation_alignment = huge_pages ? std::max(alignment, kHugePageBytes) : alignment;
  const int64_t front = round_up(options.guard_bytes, alignment);
  const int64_t total = std::max(round_up(front + bytes + front, allocation_alignment), allocation_alignment);
  buffer.allocation_ = static_cast<char*>(std::aligned_alloc(size_t(allocation_alignment), size_t(total)));
  if (!buffer.allocation_) return no_memory();
  if (huge_pages) ::madvise(buffer.allocation_, size_t(total), MADV_HUGEPAGE);  // a wish: failure costs only speed
  buffer.data_ = buffer.allocation_ + front;
  buffer.size_bytes_ = bytes;
  buffer.guard_before_ = buffer.guard_after_ = front;
  buffer.fill_guards();
  return buffer;
}

AlignedBuffer AlignedBuffer::within(char* data, int64_t bytes, int64_t guard_before_bytes, int64_t guard_after_bytes) {
  AlignedBuffer buffer;
  buffer.data_ = data;
  buffer.size_bytes_ = bytes;
  buffer.guard_before_ = guard_before_bytes;
  buffer.guard_after_ = guard_after_bytes;
  buffer.fill_guards();
  return buffer;
}

void AlignedBuffer::fill_guards() {
  std::fill_n(reinterpret_cast<unsigned char*>(data_) - guard_before_, guard_before_, kGuardByte);
  std::fill_n(reinterpret_cast<unsigned char*>(data_) + size_bytes_, guard_after_, kGuardByte);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : allocation_(std::exchange(other.allocation_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      guard_before_(std::exchange(other.guard_before_, 0)),
      guard_after_(std::exchange(other.guard_after_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(allocation_, other.allocation_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(guard_before_, other.guard_before_);
  std::swap(guard_after_, other.guard_after_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(allocation_); }

std::optional<int64_t> AlignedBuffer::overwritten_guard() const {
  const auto guard_byte = [&](int64_t offset) { return static_cast<unsigned char>(data_[offset]) == kGuardByte; };
  for (int64_t i = 1; i <= guard_before_; ++i)
    if (!guard_byte(-i)) return -i;
  for (int64_t i = 0; i < guard_after_; ++i)
    if (!guard_byte(size_bytes_ + i)) return size_bytes_ + i;
  return std::nullopt;
}

}  // namespace gemmsmith
