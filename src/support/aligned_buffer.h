// Aligned memory, optionally between guard bands that show writes out of bounds.
#pragma once
#include <cstdint>
#include <optional>

#include "gemmsmith/result.h"

namespace gemmsmith {

// Uninitialized memory; freed when destroyed; move-only. Buffers of 4 MB and more ask for huge pages.
class AlignedBuffer {
 public:
  struct Options {
    int64_t alignment_bytes = 64;  // a power of two
    int64_t guard_bytes = 0;       // before and after the memory, filled with a pattern; rounded up to the alignment
  };
  AlignedBuffer() = default;  // empty
  // An error if there is not enough memory.
  static Result<AlignedBuffer> allocate(int64_t bytes, const Options& = {64, 0});
  // Memory that somebody else owns and that has to outlive it, with guard bands before and after it.
  static AlignedBuffer within(char* data, int64_t bytes, int64_t guard_before_bytes, int64_t guard_after_bytes);

  AlignedBuffer(AlignedBuffer&&) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&&) noexcept;
  ~AlignedBuffer();

  char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  // The offset from data() of a guard byte that was overwritten: negative before the memory, size_bytes() or more
  // behind it.
  std::optional<int64_t> overwritten_guard() const;

 private:
  char* allocation_ = nullptr;
  char* data_ = nullptr;
  void fill_guards();
  int64_t size_bytes_ = 0, guard_before_ = 0, guard_after_ = 0;
};

}  // namespace gemmsmith
