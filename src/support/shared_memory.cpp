#include "support/shared_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/text.h"

namespace gemmsmith {
namespace {

Error failed(int64_t bytes, const char* what) {
  return Error{"memory",
               print_bytes(double(bytes)),
               concat("cannot be ", what, ": ", std::strerror(errno)),
               "use a smaller problem or free memory",
               {}};
}

}  // namespace

Status SharedMemory::map(int protection) {
  void* address = ::mmap(nullptr, size_t(size_bytes_), protection, MAP_SHARED | MAP_NORESERVE, file_.number(), 0);
  if (address == MAP_FAILED) return failed(size_bytes_, "mapped");
  data_ = static_cast<char*>(address);
  return Done{};
}

Result<SharedMemory> SharedMemory::create(int64_t bytes) {
  GS_ASSERT(bytes > 0, "shared memory has a size");
  SharedMemory memory;
  memory.size_bytes_ = bytes;
  memory.file_ = FileDescriptor(::memfd_create("gemmsmith", MFD_CLOEXEC));
  if (!memory.file_.open() || ::ftruncate(memory.file_.number(), bytes) != 0) return failed(bytes, "shared");
  GS_CHECK(memory.map(PROT_READ | PROT_WRITE));
  return memory;
}

Result<SharedMemory> SharedMemory::from(FileDescriptor file, int64_t bytes) {
  struct stat status{};
  if (bytes <= 0 || ::fstat(file.number(), &status) != 0 || status.st_size < bytes)
    return Error{"shared memory", print_bytes(double(bytes)), "are more than the file has", {}, {}};
  SharedMemory memory;
  memory.size_bytes_ = bytes;
  memory.file_ = std::move(file);
  GS_CHECK(memory.map(PROT_NONE));
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_) ::munmap(data_, size_t(size_bytes_));
}

Status SharedMemory::allow(int64_t offset, int64_t bytes, bool write) {
  if (offset < 0 || bytes < 0 || offset > size_bytes_ - bytes)
    return Error{"shared memory",
                 concat("bytes from ", offset, " to ", offset + bytes),
                 concat("are not within its ", size_bytes_),
                 {},
                 {}};
  if (bytes > 0 && ::mprotect(data_ + offset, size_t(bytes), PROT_READ | (write ? PROT_WRITE : 0)) != 0)
    return failed(bytes, "made readable");
  return Done{};
}

}  // namespace gemmsmith
