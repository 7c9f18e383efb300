#include "compiler/cache.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <thread>

#include "compiler/kernel_file.h"
#include "helpers/killed.h"
#include "kernels.h"
#include "support/environment.h"
#include "support/file.h"
#include "support/hash.h"

namespace gemmsmith {
namespace {

// Files in memory that fail as told.
class FakeFiles final : public CacheFiles {
 public:
  Result<std::optional<std::string>> read(const std::string& path) override {
    if (!read_failure.empty()) return failure(path, read_failure);
    const auto it = content.find(path);
    return it == content.end() ? std::optional<std::string>() : std::optional(it->second);
  }
  Status write(const std::string& path, std::string_view bytes) override {
    if (!write_failure.empty()) return failure(path, write_failure);
    content[path] = bytes;
    touch(path);
    return Done{};
  }
  Status remove(const std::string& path) override {
    if (!remove_failure.empty()) return failure(path, remove_failure);
    content.erase(path);
    return Done{};
  }
  void touch(const std::string& path) override { touched[path] = ++now; }
  std::vector<CacheEntry> list(const std::string& folder) override {
    std::vector<CacheEntry> entries;
    for (const auto& [path, bytes] : content)
      if (path.starts_with(folder + "/"))
        entries.push_back({path.substr(folder.size() + 1), int64_t(bytes.size()), double(now - touched[path])});
    return entries;
  }
  static Error failure(const std::string& path, const std::string& why) {
    return {path, "cannot be used", why, {}, {}};
  }

  std::map<std::string, std::string> content;
  std::map<std::string, int> touched;
  int now = 0;
  std::string read_failure, write_failure, remove_failure;
};

struct Fake {
  KernelCache cache(std::vector<std::string> folders, int64_t max_bytes = 1 << 20) {
    return KernelCache({.folders = std::move(folders),
                        .max_bytes = max_bytes,
                        .warn = [this](const Error& error) { warnings.push_back(error.text()); },
                        .files = files});
  }
  std::string& file(const std::string& folder, int number) {
    return files->content[folder + "/" + hash_hex(key_of(number)) + ".kernel"];
  }
  std::shared_ptr<FakeFiles> files = std::make_shared<FakeFiles>();
  std::vector<std::string> warnings;
};

bool has(KernelCache& cache, int number) {
  const auto found = cache.find(key_of(number));
  EXPECT_TRUE(!found || same(*found, kernel_of(number)));
  return found.has_value();
}

TEST(Cache, FindsWhatWasSaved) {
  Fake fake;
  KernelCache cache = fake.cache({"/a"});
  EXPECT_FALSE(has(cache, 1));
  cache.save(key_of(1), kernel_of(1));
  EXPECT_TRUE(has(cache, 1));
  EXPECT_FALSE(has(cache, 2));
  KernelCache another = fake.cache({"/a"});
  EXPECT_TRUE(has(another, 1)) << "another process";
  const CacheCounts counts = cache.counts();
  EXPECT_EQ(counts.hits, 1);
  EXPECT_EQ(counts.misses, 2);
  EXPECT_EQ(counts.saved, 1);
  EXPECT_EQ(counts.unsaved, 0);
  EXPECT_TRUE(fake.warnings.empty());
}

TEST(Cache, DamageIsAMissAndRemoved) {
  Fake fake;
  KernelCache cache = fake.cache({"/a", "/shared"});
  for (const char* folder : {"/a", "/shared"}) fake.file(folder, 1) = print_kernel_file(key_of(1), kernel_of(1));
  fake.file("/a", 1).resize(100);
  EXPECT_TRUE(has(cache, 1)) << "from the shared folder";
  EXPECT_FALSE(fake.files->content.contains("/a/" + hash_hex(key_of(1)) + ".kernel"));
  fake.file("/shared", 1)[60] ^= 1;
  EXPECT_FALSE(has(cache, 1));
  EXPECT_TRUE(fake.files->content.contains("/shared/" + hash_hex(key_of(1)) + ".kernel")) << "not ours to remove";
  EXPECT_EQ(cache.counts().damaged, 2);
  cache.save(key_of(1), kernel_of(1));
  EXPECT_TRUE(has(cache, 1));
}

TEST(Cache, AFileOfAnotherKeyIsNotUsedAndStays) {
  Fake fake;
  KernelCache cache = fake.cache({"/a"});
  const std::string other = print_kernel_file(key_of(2), kernel_of(2));
  fake.file("/a", 1) = other;
  EXPECT_FALSE(cache.find(key_of(1)).has_value());
  EXPECT_EQ(fake.file("/a", 1), other);
  EXPECT_EQ(cache.counts().damaged, 0);
}

TEST(Cache, SharedFoldersAreReadInOrderAndNeverWritten) {
  Fake fake;
  KernelCache cache = fake.cache({"/a", "/team", "/image"});
  fake.file("/image", 1) = print_kernel_file(key_of(1), kernel_of(1));
  fake.file("/team", 2) = print_kernel_file(key_of(2), kernel_of(2));
  const auto before = fake.files->content;
  EXPECT_TRUE(has(cache, 1));
  EXPECT_TRUE(has(cache, 2));
  EXPECT_EQ(fake.files->content, before);
  EXPECT_TRUE(fake.files->touched.empty());
  cache.save(key_of(3), kernel_of(3));
  EXPECT_EQ(fake.files->content.size(), before.size() + 1);
  EXPECT_EQ(fake.file("/a", 3), print_kernel_file(key_of(3), kernel_of(3)));
}

TEST(Cache, WhatCannotBeWrittenIsKeptInMemoryWithOneWarning) {
  for (const char* why :
       {"(No space left on device)", "(Read-only file system)", "(Stale file handle)", "(Device or resource busy)"}) {
    Fake fake;
    fake.files->write_failure = why;
    KernelCache cache = fake.cache({"/a"});
    for (int number = 0; number < 5; ++number) cache.save(key_of(number), kernel_of(number));
    for (int number = 0; number < 5; ++number) EXPECT_TRUE(has(cache, number));
    ASSERT_EQ(fake.warnings.size(), 1u);
    EXPECT_EQ(fake.warnings[0], "/a/" + hash_hex(key_of(0)) + ".kernel: cannot be used " + why +
                                    "\n  kernels are kept in memory; GEMMSMITH_CACHE names another folder");
    EXPECT_EQ(cache.counts().unsaved, 5);
    fake.files->write_failure.clear();
    cache.save(key_of(7), kernel_of(7));
    EXPECT_EQ(cache.counts().saved, 1) << "it goes on when it can";
  }
}

TEST(Cache, WhatCannotBeReadIsCompiledAgain) {
  Fake fake;
  KernelCache cache = fake.cache({"/a"});
  cache.save(key_of(1), kernel_of(1));
  fake.files->read_failure = "(Stale file handle)";
  EXPECT_FALSE(has(cache, 1));
  EXPECT_FALSE(has(cache, 1));
  ASSERT_EQ(fake.warnings.size(), 1u);
  EXPECT_EQ(fake.warnings[0], "/a/" + hash_hex(key_of(1)) +
                                  ".kernel: cannot be used (Stale file handle)\n  kernels that cannot be read are "
                                  "compiled again");
  fake.files->read_failure.clear();
  EXPECT_TRUE(has(cache, 1)) << "and nothing was removed";
}

TEST(Cache, WithoutAFolderItIsMemory) {
  Fake fake;
  KernelCache cache = fake.cache({});
  EXPECT_FALSE(has(cache, 1));
  CompiledKernel kernel = kernel_of(1);
  kernel.ms.stage = 5;
  kernel.stages["mlir"] = "text";
  cache.save(key_of(1), kernel);
  EXPECT_TRUE(has(cache, 1));
  EXPECT_EQ(cache.find(key_of(1))->ms.total(), 0);
  EXPECT_TRUE(cache.find(key_of(1))->stages.empty());
  EXPECT_TRUE(fake.warnings.empty()) << "it was asked for";
}

TEST(Cache, MemoryHasACap) {
  KernelCache cache({.max_memory_bytes = int64_t(kernel_of(1).object.size() + kernel_of(2).object.size()) + 200});
  for (int number = 1; number <= 3; ++number) cache.save(key_of(number), kernel_of(number));
  EXPECT_TRUE(has(cache, 1));
  EXPECT_TRUE(has(cache, 2));
  EXPECT_FALSE(has(cache, 3));
}

int64_t bytes_in(Fake& fake) {
  int64_t bytes = 0;
  for (const CacheEntry& entry : fake.files->list("/a")) bytes += entry.bytes;
  return bytes;
}

TEST(Cache, TheLeastRecentlyUsedGoFirst) {
  Fake fake;
  constexpr int64_t kCap = 100'000;
  KernelCache cache = fake.cache({"/a"}, kCap);
  Random random(5);
  std::vector<int> used;  // the most recently used last
  const auto use = [&](int number) {
    std::erase(used, number);
    used.push_back(number);
  };
  for (int step = 0; step < 400; ++step) {
    const int number = int(random.below(60));
    const int64_t evicted = cache.counts().evicted;
    if (!has(cache, number)) cache.save(key_of(number), kernel_of(number));
    use(number);
    EXPECT_LE(bytes_in(fake), kCap);
    const int64_t gone = cache.counts().evicted - evicted;
    used.erase(used.begin(), used.begin() + gone);
    for (const int left : used)
      EXPECT_TRUE(fake.files->content.contains("/a/" + hash_hex(key_of(left)) + ".kernel")) << left;
    EXPECT_EQ(fake.files->content.size(), used.size());
  }
  EXPECT_GT(cache.counts().evicted, 50);
}

TEST(Cache, WhatAnotherProcessAddedCountsForTheNextOne) {
  Fake fake;
  for (int number = 0; number < 20; ++number) {
    fake.file("/a", number) = print_kernel_file(key_of(number), kernel_of(number));
    fake.files->touch("/a/" + hash_hex(key_of(number)) + ".kernel");
  }
  ASSERT_GT(bytes_in(fake), 50'000);
  KernelCache cache = fake.cache({"/a"}, 50'000);
  cache.save(key_of(30), kernel_of(30));
  EXPECT_LE(bytes_in(fake), 50'000);
  EXPECT_TRUE(has(cache, 30));
}

TEST(Cache, WhatCannotBeEvictedIsNoFailure) {
  Fake fake;
  fake.files->remove_failure = "(Operation not permitted)";
  KernelCache cache = fake.cache({"/a"}, 1000);
  for (int number = 0; number < 5; ++number) cache.save(key_of(number), kernel_of(number));
  for (int number = 0; number < 5; ++number) EXPECT_TRUE(has(cache, number));
  EXPECT_EQ(cache.counts().evicted, 0);
}

TEST(Cache, AbandonedTemporaryFilesGo) {
  Fake fake;
  fake.files->content["/a/.gemmsmith-1-0.tmp"] = "half";
  fake.files->content["/a/.gemmsmith-2-0.tmp"] = "of a process that is writing";
  fake.files->content["/a/.gemmsmith-3-0.tmp"] = "of a clock that was set back";
  fake.files->content["/a/notes.txt"] = "not ours";
  fake.files->now = 10'000;
  fake.files->touched = {
      {"/a/.gemmsmith-1-0.tmp", 1}, {"/a/.gemmsmith-2-0.tmp", 9'990}, {"/a/.gemmsmith-3-0.tmp", 20'000}};
  KernelCache cache = fake.cache({"/a"});
  cache.save(key_of(1), kernel_of(1));
  std::set<std::string> left;
  for (const auto& [path, bytes] : fake.files->content) left.insert(path.substr(3, 12));
  EXPECT_EQ(left.size(), 3u);
  EXPECT_TRUE(fake.files->content.contains("/a/.gemmsmith-2-0.tmp"));
  EXPECT_TRUE(fake.files->content.contains("/a/notes.txt"));
}

TEST(CacheFolders, FollowTheEnvironment) {
  using Folders = std::vector<std::string>;
  const auto saved = std::array{std::pair{"GEMMSMITH_CACHE", environment_variable("GEMMSMITH_CACHE")},
                                std::pair{"XDG_CACHE_HOME", environment_variable("XDG_CACHE_HOME")},
                                std::pair{"HOME", environment_variable("HOME")}};
  set_environment_variable("GEMMSMITH_CACHE", "/mine:/team::/image");
  set_environment_variable("XDG_CACHE_HOME", "/cache");
  set_environment_variable("HOME", "/home/me");
  EXPECT_EQ(KernelCache::default_folders(), (Folders{"/mine", "/team", "/image"}));
  set_environment_variable("GEMMSMITH_CACHE", "none");
  EXPECT_EQ(KernelCache::default_folders(), Folders{});
  set_environment_variable("GEMMSMITH_CACHE", "");
  EXPECT_EQ(KernelCache::default_folders(), Folders{"/cache/gemmsmith/kernels"});
  unset_environment_variable("XDG_CACHE_HOME");
  EXPECT_EQ(KernelCache::default_folders(), Folders{"/home/me/.cache/gemmsmith/kernels"});
  unset_environment_variable("HOME");
  EXPECT_EQ(KernelCache::default_folders(), Folders{}) << "never a folder that others could write to";
  for (const auto& [name, value] : saved)
    value ? set_environment_variable(name, *value) : unset_environment_variable(name);
}

// On a real file system.
class CacheOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() / ("gemmsmith_cache_" + std::to_string(getpid()) + "_" + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  KernelCache cache(const std::filesystem::path& folder, int64_t max_bytes = 1 << 24) {
    return KernelCache({.folders = {folder.string()}, .max_bytes = max_bytes, .warn = [this](const Error& error) {
                          warnings_.push_back(error.text());
                        }});
  }
  std::filesystem::path folder_;
  std::vector<std::string> warnings_;
};

TEST_F(CacheOnDisk, MakesItsFolderAndFindsAgain) {
  const auto folder = folder_ / "a" / "b";
  KernelCache first = cache(folder);
  EXPECT_FALSE(has(first, 1));
  first.save(key_of(1), kernel_of(1));
  KernelCache second = cache(folder);
  EXPECT_TRUE(has(second, 1));
  EXPECT_EQ(system_cache_files()->list(folder).size(), 1u) << "and no temporary files";
  const std::string file = (folder / (hash_hex(key_of(1)) + ".kernel")).string();
  std::filesystem::resize_file(file, 300);
  EXPECT_FALSE(has(second, 1));
  EXPECT_FALSE(file_exists(file)) << "damage is removed";
}

TEST_F(CacheOnDisk, TheLeastRecentlyUsedGoFirst) {
  KernelCache first = cache(folder_);
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int number = 1; number <= 4; ++number) {
    first.save(key_of(number), kernel_of(number));
    std::filesystem::last_write_time(folder_ / (hash_hex(key_of(number)) + ".kernel"),
                                     now - std::chrono::hours(10 - number));
  }
  EXPECT_TRUE(has(first, 1)) << "which makes it the youngest";
  int64_t bytes = 0;
  for (const CacheEntry& entry : system_cache_files()->list(folder_)) bytes += entry.bytes;
  KernelCache second = cache(folder_, bytes);
  second.save(key_of(5), kernel_of(5));
  EXPECT_FALSE(has(second, 2));
  for (const int number : {1, 5}) EXPECT_TRUE(has(second, number)) << number;
}

TEST_F(CacheOnDisk, APathThatIsAFile) {
  ASSERT_TRUE(write_file_atomic((folder_ / "file").string(), "x").ok());
  KernelCache below = cache(folder_ / "file");
  below.save(key_of(1), kernel_of(1));
  EXPECT_TRUE(has(below, 1));
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(CacheOnDisk, AFolderWhereTheFileShouldBe) {
  std::filesystem::create_directories(folder_ / (hash_hex(key_of(1)) + ".kernel"));
  KernelCache there = cache(folder_);
  EXPECT_FALSE(has(there, 1));
  there.save(key_of(1), kernel_of(1));
  EXPECT_TRUE(has(there, 1));
  EXPECT_EQ(warnings_.size(), 1u);
}

// A small file system over a folder, while it lives.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder)
      : folder_(std::move(folder)), mounted_(mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k") == 0) {}
  ~SmallDisk() {
    if (mounted_) umount(folder_.c_str());
  }
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_;
};

TEST_F(CacheOnDisk, AFullDisk) {
  const SmallDisk disk(folder_.string());
  if (!disk.mounted()) GTEST_SKIP() << "no small file system can be mounted here";
  KernelCache full = cache(folder_);
  for (int number = 1; number <= 20; ++number) full.save(key_of(number), kernel_of(number));
  for (int number = 1; number <= 20; ++number) EXPECT_TRUE(has(full, number)) << number;
  EXPECT_GT(full.counts().saved, 0);
  EXPECT_GT(full.counts().unsaved, 0);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("No space left on device"), std::string::npos) << warnings_[0];
  EXPECT_EQ(int64_t(system_cache_files()->list(folder_).size()), full.counts().saved) << "and no temporary files";
  EXPECT_EQ(full.counts().damaged, 0);
}

TEST_F(CacheOnDisk, ManyThreads) {
  KernelCache shared = cache(folder_, 200'000);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      Random random{uint64_t(thread)};
      for (int i = 0; i < 60; ++i) {
        const int number = int(random.below(40));
        if (!has(shared, number)) shared.save(key_of(number), kernel_of(number));
      }
    });
  threads.clear();
  EXPECT_EQ(shared.counts().damaged, 0);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CacheOnDisk, ProcessesThatAreKilledLeaveWholeKernels) {
  Random random(6);
  for (const int64_t cap : {int64_t(1) << 30, int64_t(150'000)}) {
    const std::string folder = (folder_ / std::to_string(cap)).string();
    const auto lines = run_and_kill(
        [&](int i) { return Words{GEMMSMITH_CACHE_WORKER, folder, std::to_string(i), std::to_string(cap)}; },
        /*at_once=*/8, /*kills=*/40, /*most_lines=*/30, random);
    std::set<int> saved;
    for (const std::string& line : lines) {
      ASSERT_TRUE(line.starts_with("saved ")) << line;
      saved.insert(std::stoi(line.substr(6)));
    }
    EXPECT_GT(saved.size(), 5u);
    KernelCache after = cache(folder);
    for (const int number : saved) EXPECT_TRUE(has(after, number) || cap < 1'000'000) << number;
    for (int number = 0; number < 40; ++number) has(after, number);
    EXPECT_EQ(after.counts().damaged, 0);
  }
  EXPECT_TRUE(warnings_.empty());
}

}  // namespace
}  // namespace gemmsmith
