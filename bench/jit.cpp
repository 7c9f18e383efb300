// What a candidate of the native source costs from configuration to callable, compiled and from a warm binary cache: time of the one
// thread that does it, which other load on the machine disturbs least.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gemmsmith/gemm.h"

using namespace gemmsmith;

namespace {

struct Row {
  const char* name;
  const char* problem;
  const char* config;  // its last field is made different for each build, because equal kernels are built once
};

constexpr Row kRows[] = {
    {"packed f32", "512x512x512 dtype=f32", "gemm_packed mr=8 nr=32 prefetch="},
    {"packed f32, B n x k", "512x512x512 dtype=f32 b=col", "gemm_packed mr=8 nr=32 prefetch="},
    {"packed f32, bias relu", "512x512x512 dtype=f32 epilogue=relu(acc + bias[n])", "gemm_packed mr=8 nr=32 prefetch="},
    {"packed f32, gelu", "512x512x512 dtype=f32 epilogue=gelu(acc + bias[n])", "gemm_packed mr=8 nr=32 prefetch="},
    {"packed bf16 widened", "512x512x512 dtype=bf16", "gemm_packed mr=8 nr=32 prefetch="},
    {"packed bf16 dot, B n x k", "512x512x512 dtype=bf16 b=col", "gemm_packed mr=8 nr=32 dot=1 prefetch="},
    {"packed i8 dot", "512x512x512 dtype=i8", "gemm_packed mr=8 nr=32 dot=1 prefetch="},
    {"streaming f32, m = 8", "8x512x512 dtype=f32", "gemm_streaming mr=8 nr=32 unroll="},
    {"gemv bf16 dot, m = 1", "1x512x512 dtype=bf16 b=col", "gemv mr=1 nr=4 dot=1 unroll="},
    {"gemv bf16 dot, m = 8", "8x512x512 dtype=bf16 b=col", "gemv mr=8 nr=2 dot=1 unroll="},
};

double thread_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Thread-CPU ms of each of nine builds; fewer if one fails. Each build is of a kernel of its own.
std::vector<double> build_all(const Device& device, const Row& row) {
  std::vector<double> ms;
  const Result<GemmProblem> problem = GemmProblem::parse(row.problem);
  for (int i = 0; problem.ok() && i < 9; ++i) {
    const double start = thread_ms();
    const Result<Gemm> gemm = Gemm::build(device, *problem, "native", row.config + std::to_string(i + 1));
    ms.push_back(thread_ms() - start);
    if (!gemm.ok()) return std::printf("%-26s %s\n", row.name, gemm.error().text().c_str()), std::vector<double>();
  }
  return ms;
}

Result<Device> open(const std::string& folder) {
  return Device::open("cpu", {.threads = 1, .measure_peaks = false, .kernel_cache = folder, .warn = {}});
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "gemmsmith_bench_jit_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::perror(folder.c_str()), 2;
  std::printf("%-26s %8s %8s %8s %8s   thread-CPU ms from configuration to callable, 9 builds\n", "kernel", "first",
              "median", "least", "cached");
  for (const Row& row : kRows) {
    // Two devices in turn, as two processes would have them: the second finds what the first has saved.
    const Result<Device> cold = open(folder), warm = open(folder);
    if (!cold.ok()) return std::fprintf(stderr, "%s\n", cold.error().text().c_str()), 2;
    const std::vector<double> compiled = build_all(*cold, row), loaded = build_all(*warm, row);
    if (compiled.empty() || loaded.empty()) continue;
    std::printf("%-26s %8.1f %8.1f %8.1f %8.2f\n", row.name, compiled.front(), median(compiled),
                *std::min_element(compiled.begin(), compiled.end()), median(loaded));
    if (warm->kernel_cache().hits != int64_t(loaded.size())) std::printf("not all of them came from the cache\n");
  }
  // What a program waits for that finds its kernel in the cache.
  const auto start = std::chrono::steady_clock::now();
  const Result<Device> device = open(folder);
  const double opened = ms_since(start);
  const Result<GemmProblem> problem = GemmProblem::parse(kRows[0].problem);
  const bool built = Gemm::build(*device, *problem, "native", kRows[0].config + std::string("1")).ok();
  std::printf("\nopening a device %.1f ms, its first kernel from the cache %.2f ms more%s\n", opened,
              ms_since(start) - opened, built ? "" : " (failed)");
  std::filesystem::remove_all(folder);
}
