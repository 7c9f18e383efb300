// The binary cache: compiled kernels in files, shared by all processes of a user, so that each is compiled once.
//
//   if (auto kernel = cache.find(key)) return *kernel;      // the key: all that goes into staging, as text
//   GS_TRY(CompiledKernel kernel, target.compile(...));
//   cache.save(key, kernel);
//
// A file's name is the hash of its key, and it holds key, kernel and a hash of both: what is found is what was saved for
// that very key, or nothing. Nothing here is ever an error for the caller. Where files cannot be written (a read-only
// home, none at all, a full disk) kernels are kept in memory; where they cannot be read, they are compiled again.
//
// Cached kernels are code that will run: every folder has to be one that only trusted people can write to.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cache_files.h"
#include "compiler/target.h"

namespace gemmsmith {

struct CacheOptions {
  // Looked into in this order. The first is written to; the others are read only: a team's, an image's. None: memory.
  std::vector<std::string> folders;
  int64_t max_bytes = int64_t(1) << 29;         // of the first folder; what was used least recently goes first
  int64_t max_memory_bytes = int64_t(1) << 26;  // of kernels that could not be written
  std::function<void(const Error&)> warn;       // called at most once, with the first failure; may be empty
  std::shared_ptr<CacheFiles> files;            // the system's if null
};

struct CacheCounts {
  int64_t hits = 0, misses = 0;              // of find()
  int64_t damaged = 0;                       // files that were not used, and removed where that is allowed
  int64_t saved = 0, unsaved = 0;            // of save(): written to a file; kept in memory alone
  int64_t evicted = 0;                       // files
  int64_t found_bytes = 0, saved_bytes = 0;  // of the objects of hits; of the files that were written
};

// What is in the first folder, others' kernels too.
struct CacheUsage {
  int64_t kernels = 0, bytes = 0;
};

// May be used by several threads at once, and its folders by several processes.
class KernelCache {
 public:
  explicit KernelCache(CacheOptions);
  // $GEMMSMITH_CACHE, folders separated by colons; else $XDG_CACHE_HOME/gemmsmith/kernels; else
  // ~/.cache/gemmsmith/kernels; none without a home. A value of "none" means none.
  static std::vector<std::string> default_folders();
  static bool is_off();  // $GEMMSMITH_CACHE is "none"
  // The folders that a text of that form names.
  static std::vector<std::string> folders_named(std::string_view list);

  std::optional<CompiledKernel> find(const std::string& key);
  void save(const std::string& key, const CompiledKernel&);
  // A kernel that was found, but cannot be used: it is not counted as a hit but as damage, and is removed where that is
  // allowed.
  void reject(const std::string& key, const Error& why);
  CacheCounts counts() const;
  CacheUsage usage() const;
  const std::vector<std::string>& folders() const { return options_.folders; }

 private:
  std::optional<CompiledKernel> read(const std::string& folder, const std::string& key, bool writable);
  void keep_in_memory(const std::string& key, const CompiledKernel&);
  void evict(int64_t added_bytes);
  void warn(Error);

  const CacheOptions options_;
  CacheFiles& files_;
  mutable std::mutex mutex_;  // of all below; held while old files go, not while kernels are read or written
  CacheCounts counts_;
  std::map<std::string, CompiledKernel> memory_;
  int64_t memory_bytes_ = 0;
  std::optional<int64_t> folder_bytes_;  // of the first folder, as far as this process knows; nothing: not looked yet
  bool warned_ = false;
};

}  // namespace gemmsmith
