// The binary cache behind a device: what one device compiles, the next one loads; what cannot be used is one warning.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gemmsmith/gemm.h"
#include "gemmsmith/gemmsmith.h"
#include "support/environment.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;
const char* const kConfig = "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=8";

class KernelCaches : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / concat("gemmsmith_kernels_", getpid(), "_", info->name());
    fs::remove_all(folder_);
    const auto opened = Device::open("cpu", {.threads = 1, .measure_peaks = false, .kernel_cache = "none", .warn = {}});
    if (!opened.ok()) GTEST_SKIP() << "skipped: " << opened.error().text();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Device open(const std::optional<std::string>& cache) {
    return Device::open("cpu", {.threads = 1,
                                .measure_peaks = false,
                                .kernel_cache = cache,
                                .warn = [this](const Error& e) { warnings_.push_back(e.text()); }})
        .value();
  }
  // Builds one kernel and multiplies with it.
  static void multiply(const Device& device, const std::string& config = kConfig) {
    auto gemm = Gemm::build(device, make_problem(3, 32, 8, DataType::f32), "native", config);
    ASSERT_TRUE(gemm.ok()) << gemm.error().text();
    const std::vector<float> a(3 * 8, 2.0f), b(8 * 32, 3.0f);
    std::vector<float> d(3 * 32);
    ASSERT_TRUE(gemm->run({.a = a.data(), .b = b.data(), .d = d.data()}).ok());
    EXPECT_EQ(d, std::vector<float>(3 * 32, 48.0f));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  fs::path folder_;
  std::vector<std::string> warnings_;
};

TEST_F(KernelCaches, WhatOneDeviceCompilesTheNextLoads) {
  const Device first = open(folder_.string());
  multiply(first);
  multiply(first);  // stays loaded
  const KernelCacheReport compiled = first.kernel_cache();
  EXPECT_EQ(compiled.folders, std::vector<std::string>{folder_.string()});
  EXPECT_EQ(compiled.hits, 0);
  EXPECT_EQ(compiled.misses, 1);
  EXPECT_EQ(compiled.saved, 1);
  EXPECT_EQ(compiled.kernels, 1);
  EXPECT_EQ(compiled.bytes, compiled.saved_bytes);
  EXPECT_GT(compiled.bytes, 1000);

  const Device second = open(folder_.string());
  multiply(second);
  EXPECT_EQ(second.kernel_cache().hits, 1);
  EXPECT_EQ(second.kernel_cache().misses, 0);
  EXPECT_GT(second.kernel_cache().found_bytes, 1000);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(KernelCaches, AConfigurationIsCheckedAgainstItsProblemBeforeAFoundKernelIsTaken) {
  const std::string config = "gemm_streaming mr=2 nr=32 nb=512 unroll=4 swap=0";
  ASSERT_TRUE(Gemm::build(open(folder_.string()), make_problem(2, 32, 8, DataType::f32), "native", config).ok());
  const Device next = open(folder_.string());
  const auto more = Gemm::build(next, make_problem(3, 32, 8, DataType::f32), "native", config);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().text(), "--config: " + config + " is not legal: mr = 2 < 3, the rows that there are");
  EXPECT_EQ(next.kernel_cache().hits, 0);
}

TEST_F(KernelCaches, NoneIsOffAndWritesNothing) {
  const Device off = open("none");
  multiply(off);
  EXPECT_EQ(off.kernel_cache().misses, 0);
  EXPECT_TRUE(off.kernel_cache().folders.empty());
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(KernelCaches, TheDefaultFollowsTheEnvironment) {
  ASSERT_FALSE(environment_variable("GEMMSMITH_CACHE")) << "tests have a home of their own";
  const std::string home = *environment_variable("HOME");
  EXPECT_EQ(open(std::nullopt).kernel_cache().folders, std::vector<std::string>{home + "/.cache/gemmsmith/kernels"});
  set_environment_variable("GEMMSMITH_CACHE", folder_.string());
  EXPECT_EQ(open(std::nullopt).kernel_cache().folders, std::vector<std::string>{folder_.string()});
  set_environment_variable("GEMMSMITH_CACHE", "none");
  EXPECT_TRUE(open(std::nullopt).kernel_cache().folders.empty());
  EXPECT_TRUE(warnings_.empty());
  unset_environment_variable("GEMMSMITH_CACHE");
  unset_environment_variable("HOME");
  const Device homeless = open(std::nullopt);
  set_environment_variable("HOME", home);
  multiply(homeless);
  EXPECT_EQ(
      join(warnings_, "\n"),
      "kernel cache: no folder is known: GEMMSMITH_CACHE, XDG_CACHE_HOME and HOME are not set; name one; until then "
      "each process compiles its kernels anew");
}

TEST_F(KernelCaches, AReadOnlyFolderIsOneWarning) {
  fs::create_directories(folder_);
  if (geteuid() == 0) {
    // Permissions mean nothing to root: a file in the way does the same.
    std::ofstream(folder_ / "in_the_way") << "x";
    folder_ /= "in_the_way";
  } else {
    chmod(folder_.c_str(), 0500);
  }
  const Device device = open((folder_ / "kernels").string());
  multiply(device);
  multiply(device, "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=16");
  EXPECT_EQ(device.kernel_cache().unsaved, 2);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("kernels are kept in memory; GEMMSMITH_CACHE names another folder"), std::string::npos)
      << warnings_[0];
  if (geteuid() == 0) folder_ = folder_.parent_path();
  chmod(folder_.c_str(), 0700);
}

// A complete layer that was made before, and nowhere to write: everything is found, and nothing is tried.
TEST_F(KernelCaches, APrebuiltLayerNeedsNoWritableFolder) {
  multiply(open(folder_.string()));
  const Device device = open("/proc/nowhere:" + folder_.string());
  multiply(device);
  EXPECT_EQ(device.kernel_cache().hits, 1);
  EXPECT_EQ(device.kernel_cache().misses, 0);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCaches, ADamagedFileIsCompiledAgainAndSaidOnce) {
  multiply(open(folder_.string()));
  const std::string path = files().at(0).string();
  const std::string whole = read_file(path).value();
  for (const bool truncated : {true, false}) {
    std::string damaged = whole;
    if (truncated) damaged.resize(damaged.size() / 2);
    if (!truncated) damaged[damaged.size() / 2] = char(damaged[damaged.size() / 2] ^ 1);
    ASSERT_TRUE(write_file_atomic(path, damaged).ok());
    warnings_.clear();
    const Device device = open(folder_.string());
    multiply(device);
    EXPECT_EQ(device.kernel_cache().damaged, 1);
    EXPECT_EQ(device.kernel_cache().saved, 1);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_TRUE(warnings_[0].starts_with(path + ": the kernel file is damaged (byte ")) << warnings_[0];
    EXPECT_TRUE(warnings_[0].ends_with("; it is removed and the kernel compiled again")) << warnings_[0];
    EXPECT_EQ(read_file(path).value(), whole);
  }
}

TEST_F(KernelCaches, AFileOfAnotherFormatIsCompiledAgainAndSaidOnce) {
  multiply(open(folder_.string()));
  const std::string path = files().at(0).string();
  std::string newer = read_file(path).value();
  newer[8] = 99;  // the version behind "gskernel"; and a hash that agrees
  newer.resize(newer.size() - 32);
  newer += hash_hex(newer);
  ASSERT_TRUE(write_file_atomic(path, newer).ok());
  const Device device = open(folder_.string());
  multiply(device);
  EXPECT_EQ(device.kernel_cache().hits, 0);
  EXPECT_EQ(join(warnings_, "\n"), path +
                                       ": the kernel file is of another format, or of a kernel whose key has the same "
                                       "hash; it is left alone until a kernel takes its place");
}

// A file that is whole and holds something that is no kernel for this machine.
TEST_F(KernelCaches, AKernelThatCannotBeLoadedIsCompiledAgain) {
  multiply(open(folder_.string()));
  const std::string path = files().at(0).string(), whole = read_file(path).value();
  std::string other = whole;
  const size_t elf = other.find(
      "\x7f"
      "ELF");
  ASSERT_NE(elf, std::string::npos);
  other[elf + 18] = 40;  // e_machine: another processor
  other.resize(other.size() - 32);
  other += hash_hex(other);
  ASSERT_TRUE(write_file_atomic(path, other).ok());
  const Device device = open(folder_.string());
  multiply(device);
  EXPECT_EQ(device.kernel_cache().hits, 0);
  EXPECT_EQ(device.kernel_cache().damaged, 1);
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(read_file(path).value(), whole);
}

TEST_F(KernelCaches, APathThatIsTooLongNamesIt) {
  const std::string longest = folder_.string() + "/" + std::string(4000, 'x');
  const Device device = open(longest);
  multiply(device);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(warnings_[0].find("File name too long") != std::string::npos) << warnings_[0].substr(4000);
}

TEST_F(KernelCaches, OfTheCInterface) {
  char error[1024];
  std::string warned;
  gs_device_options options = {sizeof options};
  options.threads = 1;
  options.without_peaks = 1;
  const std::string folder = folder_.string();
  options.kernel_cache = folder.c_str();
  options.warn = [](const char* text, void* user) { *static_cast<std::string*>(user) += text; };
  options.user = &warned;
  gs_kernel_cache report = {sizeof report};
  for (const int64_t hits : {0, 1}) {
    gs_device* device = nullptr;
    gs_gemm* gemm = nullptr;
    ASSERT_EQ(gs_device_open("cpu", &options, &device, error, sizeof error), GS_OK) << error;
    ASSERT_EQ(gs_gemm_build(device, "3x32x8", "native", kConfig, &gemm, error, sizeof error), GS_OK) << error;
    ASSERT_EQ(gs_device_kernel_cache(device, &report, error, sizeof error), GS_OK) << error;
    EXPECT_EQ(report.hits, hits);
    EXPECT_EQ(report.misses, 1 - hits);
    EXPECT_EQ(report.kernels, 1);
    EXPECT_EQ(report.size, sizeof report);
    gs_gemm_close(gemm);
    gs_device_close(device);
  }
  EXPECT_EQ(warned, "");
  gs_kernel_cache older = {offsetof(gs_kernel_cache, damaged), 7, 7, 7};  // the struct of a program built before
  gs_device* device = nullptr;
  ASSERT_EQ(gs_device_open("cpu", &options, &device, error, sizeof error), GS_OK) << error;
  ASSERT_EQ(gs_device_kernel_cache(device, &older, error, sizeof error), GS_OK) << error;
  EXPECT_EQ(older.hits, 0);
  EXPECT_EQ(older.damaged, 7) << "what the caller's struct does not have is not written";
  gs_device_close(device);
}

}  // namespace
}  // namespace gemmsmith
