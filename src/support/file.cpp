#include "support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "support/text.h"

namespace gemmsmith {
namespace {

Error system_error(const std::string& path, std::string action, int code) {
  return {path, "cannot be " + std::move(action), concat("(", std::generic_category().message(code), ")"), {}, {}};
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// Calls a system call again while a signal interrupts it.
template <class Call>
auto retry(Call call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = retry([&] { return ::write(fd, content.data(), content.size()); });
    if (written < 0) return system_error(path, "written", errno);
    content.remove_prefix(size_t(written));
  }
  return Done{};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  FileDescriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.get() < 0) return system_error(path, "opened", errno);
  std::string content;
  if (struct stat facts; ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode))
    content.reserve(size_t(facts.st_size));
  char block[1 << 16];
  for (;;) {
    const ssize_t count = retry([&] { return ::read(file.get(), block, sizeof block); });
    if (count < 0) return system_error(path, "read", errno);
    if (count == 0) return content;
    content.append(block, size_t(count));
  }
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status write_file_atomic(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> counter = 0;  // two threads may write the same path at once
  const std::string temporary = concat(parent_of(path), "/.gemmsmith-", ::getpid(), "-", counter++, ".tmp");
  FileDescriptor file(retry([&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
  if (file.get() < 0) return system_error(path, "created", errno);
  const auto write_and_rename = [&]() -> Status {
    GS_CHECK(write_all(file.get(), path, content));
    if (retry([&] { return ::fsync(file.get()); }) != 0) return system_error(path, "synced", errno);
    if (file.close() != 0) return system_error(path, "closed", errno);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) return system_error(path, "replaced", errno);
    return Done{};
  };
  Status status = write_and_rename();
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Status make_directories(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return system_error(path, "created as a folder", code.value());
  // An existing file makes create_directories succeed with some library versions.
  if (!std::filesystem::is_directory(path, code)) return system_error(path, "created as a folder", ENOTDIR);
  return Done{};
}

}  // namespace gemmsmith
