#include "compiler/cache_files.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include "support/file.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;

class SystemCacheFiles final : public CacheFiles {
 public:
  Result<std::optional<std::string>> read(const std::string& path) override {
    if (!file_exists(path)) return std::optional<std::string>();
    auto content = read_file(path);
    if (content.ok()) return std::optional(*std::move(content));
    if (!file_exists(path)) return std::optional<std::string>();  // another process has just removed it
    return std::move(content).error();
  }
  Status write(const std::string& path, std::string_view content) override {
    GS_CHECK(make_directories(parent_of(path)));
    return write_file_atomic(path, content);
  }
  Status remove(const std::string& path) override {
    std::error_code code;
    fs::remove(path, code);
    if (code) return Error{path, "cannot be removed", concat("(", code.message(), ")"), {}, {}};
    return Done{};
  }
  void touch(const std::string& path) override {
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  }
  std::vector<CacheEntry> list(const std::string& folder) override {
    std::vector<CacheEntry> entries;
    std::error_code code;
    const auto now = fs::file_time_type::clock::now();
    // Files may go while they are looked at: what cannot be asked any more is passed over.
    for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
      std::error_code gone;
      if (!it->is_regular_file(gone) || gone) continue;
      const auto bytes = it->file_size(gone);
      if (gone) continue;
      const auto written = it->last_write_time(gone);
      if (gone) continue;
      entries.push_back(
          {it->path().filename().string(), int64_t(bytes), std::chrono::duration<double>(now - written).count()});
    }
    return entries;
  }
};

}  // namespace

std::shared_ptr<CacheFiles> system_cache_files() { return std::make_shared<SystemCacheFiles>(); }

}  // namespace gemmsmith
