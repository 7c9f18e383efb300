// What file systems may do: folders from which nothing can be executed, names that are too long, locks that are held.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "gemmsmith/gemm.h"
#include "support/environment.h"
#include "support/text.h"
#include "tuner/sqlite.h"

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;

std::string multiplied_by(const std::string& epilogue, const std::optional<std::string>& cache, double expected) {
  std::string warned;
  const auto device = Device::open(
      "cpu", {.threads = 1, .measure_peaks = false, .kernel_cache = cache, .warn = [&](const Error& error) {
                warned = error.text();
              }});
  if (!device.ok()) return device.error().text();
  const auto problem = GemmProblem::parse("3x40x4 epilogue=" + epilogue);
  if (!problem.ok()) return problem.error().text();
  auto gemm = Gemm::build(*device, *problem, "native");
  if (!gemm.ok()) return gemm.error().text();
  const std::vector<float> a(12, 1.0f), b(160, 1.0f);
  std::vector<float> d(120);
  if (const Status status = gemm->run({.a = a.data(), .b = b.data(), .d = d.data()}); !status.ok())
    return status.error().text();
  if (d != std::vector<float>(120, float(expected))) return concat("D is ", d[0], ", not ", expected);
  return warned;
}

bool covered() {
  return Device::open("cpu", {.threads = 1, .measure_peaks = false, .kernel_cache = "none", .warn = {}}).ok();
}

// Kernels never lie in a file that is mapped to be executed.
TEST(Files, FoldersFromWhichNothingMayBeExecutedAreFine) {
  if (!covered()) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  const std::string folder = (fs::temp_directory_path() / concat("gemmsmith_noexec_", getpid())).string();
  fs::create_directories(folder);
  if (mount("tmpfs", folder.c_str(), "tmpfs", MS_NOEXEC, "size=4m") != 0) {
    fs::remove_all(folder);
    GTEST_SKIP() << "skipped: nothing can be mounted here";
  }
  set_environment_variable("TMPDIR", folder);
  for (int round = 0; round < 2; ++round) EXPECT_EQ(multiplied_by("acc * 2", folder + "/kernels", 8), "");
  EXPECT_FALSE(fs::is_empty(folder + "/kernels"));
  unset_environment_variable("TMPDIR");
  umount(folder.c_str());
  fs::remove_all(folder);
}

// A file's name is a hash: an epilogue of 300 terms has a key of kilobytes.
TEST(Files, LongKernelsHaveShortNames) {
  if (!covered()) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  std::string epilogue = "acc";
  for (int i = 0; i < 300; ++i) epilogue += concat(" + ", i % 2 ? "" : "1 * ", i % 3);
  double expected = 4;
  for (int i = 0; i < 300; ++i) expected += i % 3;
  const std::string folder = *environment_variable("HOME") + "/long";
  EXPECT_EQ(multiplied_by(epilogue, folder, expected), "");
  for (const auto& file : fs::directory_iterator(folder)) EXPECT_LT(file.path().filename().string().size(), 60u);
}

// Those who wait for a lock sleep: all of them together use a small part of one core, and end when they said they would.
TEST(Files, WaitingForALockCostsNothing) {
  const std::string path = *environment_variable("HOME") + "/locked.sqlite";
  TuneReport report;
  report.problem = make_problem(1, 1, 1, DataType::f32);
  report.provenance.device = "somewhere";
  constexpr int kWaiters = 8;
  std::vector<Store> stores;
  for (int i = 0; i < kWaiters; ++i) stores.push_back(Store::open(path, /*wait_seconds=*/0.7).value());
  const auto holder = Database::open(path, 0).value();
  const auto writing = Transaction::begin(*holder).value();
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> waiters;
    for (Store& store : stores)
      waiters.emplace_back([&store, &report, &refused] { refused += store.save(report).ok() ? 0 : 1; });
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  getrusage(RUSAGE_SELF, &after);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  const double cpu =
      seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) - seconds(before.ru_stime);
  EXPECT_EQ(refused, kWaiters);
  EXPECT_GE(wall, 0.5);
  EXPECT_LT(cpu, 0.2 * wall) << "eight that spin would use every core, all of the time";
}

}  // namespace
}  // namespace gemmsmith
