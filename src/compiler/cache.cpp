#include "compiler/cache.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/kernel_file.h"
#include "support/environment.h"
#include "support/hash.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kSuffix = ".kernel";
// A temporary file this old was left by a process that was killed; also if its age is negative, by a clock set back.
constexpr double kAbandonedSeconds = 3600;
// Eviction goes on below the cap, so that it is not due again with the next kernel.
constexpr double kEvictTo = 0.9;

std::string path_of(const std::string& folder, const std::string& key) {
  return concat(folder, "/", hash_hex(key), kSuffix);
}

Error damage(const std::string& path, const Error& why, bool removed) {
  return {path,
          "the kernel file",
          concat("is damaged (", why.text(), ")"),
          removed ? "it is removed and the kernel compiled again" : "the kernel is compiled again",
          {}};
}

CacheOptions with_files(CacheOptions options) {
  if (!options.files) options.files = system_cache_files();
  return options;
}

}  // namespace

KernelCache::KernelCache(CacheOptions options) : options_(with_files(std::move(options))), files_(*options_.files) {}

std::vector<std::string> KernelCache::default_folders() {
  const auto set = [](const char* name) { return environment_variable(name).value_or(""); };
  std::vector<std::string> folders;
  if (const std::string list = set("GEMMSMITH_CACHE"); !list.empty()) {
    folders = folders_named(list);
  } else if (const std::string cache = set("XDG_CACHE_HOME"); !cache.empty()) {
    folders = {cache + "/gemmsmith/kernels"};
  } else if (const std::string home = set("HOME"); !home.empty()) {
    folders = {home + "/.cache/gemmsmith/kernels"};
  }
  return folders;
}

bool KernelCache::is_off() { return environment_variable("GEMMSMITH_CACHE") == "none"; }

std::vector<std::string> KernelCache::folders_named(std::string_view list) {
  std::vector<std::string> folders;
  if (list == "none") return folders;
  for (const std::string_view folder : split(list, ':'))
    if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

std::optional<CompiledKernel> KernelCache::find(const std::string& key) {
  std::optional<CompiledKernel> found;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = memory_.find(key); it != memory_.end()) found = it->second;
  }
  for (size_t i = 0; i < options_.folders.size() && !found; ++i) found = read(options_.folders[i], key, i == 0);
  const std::lock_guard lock(mutex_);
  ++(found ? counts_.hits : counts_.misses);
  if (found) counts_.found_bytes += int64_t(found->object.size());
  return found;
}

std::optional<CompiledKernel> KernelCache::read(const std::string& folder, const std::string& key, bool writable) {
  const std::string path = path_of(folder, key);
  auto bytes = files_.read(path);
  if (!bytes.ok()) {
    warn(std::move(bytes).error().note("kernels that cannot be read are compiled again"));
    return std::nullopt;
  }
  if (!*bytes) return std::nullopt;
  auto kernel = parse_kernel_file(**bytes, key);
  if (!kernel.ok()) {
    if (writable) (void)files_.remove(path);
    warn(damage(path, kernel.error(), writable));
    const std::lock_guard lock(mutex_);
    ++counts_.damaged;
    return std::nullopt;
  }
  if (!*kernel)
    warn({path,
          "the kernel file",
          "is of another format, or of a kernel whose key has the same hash",
          "it is left alone until a kernel takes its place",
          {}});
  if (*kernel && writable) files_.touch(path);
  return *std::move(kernel);
}

void KernelCache::save(const std::string& key, const CompiledKernel& kernel) {
  if (options_.folders.empty()) return keep_in_memory(key, kernel);
  const std::string bytes = print_kernel_file(key, kernel);
  Status written = files_.write(path_of(options_.folders.front(), key), bytes);
  if (!written.ok()) {
    warn(std::move(written).error().note("kernels are kept in memory; GEMMSMITH_CACHE names another folder"));
    return keep_in_memory(key, kernel);
  }
  {
    const std::lock_guard lock(mutex_);
    ++counts_.saved;
    counts_.saved_bytes += int64_t(bytes.size());
  }
  evict(int64_t(bytes.size()));
}

void KernelCache::keep_in_memory(const std::string& key, const CompiledKernel& kernel) {
  const std::lock_guard lock(mutex_);
  ++counts_.unsaved;
  const int64_t bytes = int64_t(key.size() + kernel.object.size());
  if (memory_bytes_ + bytes > options_.max_memory_bytes) return;
  CompiledKernel kept = kernel;
  kept.ms = {};
  kept.stages.clear();  // as if it came from a file
  if (memory_.emplace(key, std::move(kept)).second) memory_bytes_ += bytes;
}

// The folder is looked at with the first kernel that is saved, and when the sum that this process knows of reaches the
// cap. What other processes add meanwhile it learns then: the cap may be passed by what they write at once.
void KernelCache::evict(int64_t added_bytes) {
  const std::lock_guard lock(mutex_);
  if (folder_bytes_) *folder_bytes_ += added_bytes;
  if (folder_bytes_ && *folder_bytes_ <= options_.max_bytes) return;
  const std::string& folder = options_.folders.front();
  std::vector<CacheEntry> kernels;
  int64_t bytes = 0;
  for (CacheEntry& entry : files_.list(folder)) {
    if (entry.name.ends_with(".tmp") && std::abs(entry.age_seconds) > kAbandonedSeconds)
      (void)files_.remove(concat(folder, "/", entry.name));
    if (!entry.name.ends_with(kSuffix)) continue;
    bytes += entry.bytes;
    kernels.push_back(std::move(entry));
  }
  if (bytes > options_.max_bytes) {
    std::sort(kernels.begin(), kernels.end(),
              [](const CacheEntry& a, const CacheEntry& b) { return a.age_seconds > b.age_seconds; });
    for (const CacheEntry& oldest : kernels) {
      if (double(bytes) <= kEvictTo * double(options_.max_bytes)) break;
      if (!files_.remove(concat(folder, "/", oldest.name)).ok()) continue;
      bytes -= oldest.bytes;
      ++counts_.evicted;
    }
  }
  folder_bytes_ = bytes;
}

void KernelCache::warn(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(warned_, true)) return;
  }
  if (options_.warn) options_.warn(error);
}

void KernelCache::reject(const std::string& key, const Error& why) {
  const std::string path = options_.folders.empty() ? std::string("memory") : path_of(options_.folders.front(), key);
  if (!options_.folders.empty()) (void)files_.remove(path);
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = memory_.find(key); it != memory_.end()) {
      memory_bytes_ -= int64_t(key.size() + it->second.object.size());
      memory_.erase(it);
    }
    --counts_.hits;
    ++counts_.misses;
    ++counts_.damaged;
  }
  warn(damage(path, why, true));
}

CacheUsage KernelCache::usage() const {
  CacheUsage usage;
  if (options_.folders.empty()) return usage;
  for (const CacheEntry& entry : files_.list(options_.folders.front())) {
    if (!entry.name.ends_with(kSuffix)) continue;
    ++usage.kernels;
    usage.bytes += entry.bytes;
  }
  return usage;
}

CacheCounts KernelCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gemmsmith
