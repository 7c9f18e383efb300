// Memory that several processes see, passed between them as an open file.
#pragma once
#include <cstdint>

#include "gemmsmith/result.h"
#include "support/child_process.h"

namespace gemmsmith {

// A memfd and its mapping; move-only. Pages that nobody has touched take no memory.
class SharedMemory {
 public:
  SharedMemory() = default;  // empty
  // Zeros. Errors: not enough memory or address space.
  static Result<SharedMemory> create(int64_t bytes);
  // What another process has created. Nothing of it can be read or written until allow(). Errors: the file is shorter.
  static Result<SharedMemory> from(FileDescriptor file, int64_t bytes);

  SharedMemory(SharedMemory&&) noexcept;
  SharedMemory& operator=(SharedMemory&&) noexcept;
  ~SharedMemory();

  // Lets this process read, and write if asked, a range of whole pages.
  Status allow(int64_t offset, int64_t bytes, bool write);
  char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  int file() const { return file_.number(); }

 private:
  Status map(int protection);
  FileDescriptor file_;
  char* data_ = nullptr;
  int64_t size_bytes_ = 0;
};

}  // namespace gemmsmith
