// What the binary cache asks of a file system: an interface, so that failures can be had at will in tests.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

struct CacheEntry {
  std::string name;  // within its folder
  int64_t bytes = 0;
  double age_seconds = 0;  // since it was written or touched; negative after a clock was set back
};

// May be called from several threads at once.
class CacheFiles {
 public:
  virtual ~CacheFiles() = default;
  virtual Result<std::optional<std::string>> read(const std::string& path) = 0;  // nothing: there is no such file
  // Makes the folder too. Readers see all of the content or nothing of it, whenever a process is killed.
  virtual Status write(const std::string& path, std::string_view content) = 0;
  virtual Status remove(const std::string& path) = 0;                   // fine if it is not there
  virtual void touch(const std::string& path) = 0;                      // makes it the youngest, if that can be done
  virtual std::vector<CacheEntry> list(const std::string& folder) = 0;  // regular files; none if it cannot be read
};

std::shared_ptr<CacheFiles> system_cache_files();

}  // namespace gemmsmith
