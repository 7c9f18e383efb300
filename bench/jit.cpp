// What a candidate of the native source costs from configuration to callable: time of the one thread that compiles, which other load
// on the machine disturbs least.
#include <time.h>

#include <algorithm>
#include <cstdio>

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

}  // namespace

int main() {
  const Result<Device> device = Device::open("cpu", {.threads = 1, .measure_peaks = false});
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.error().text().c_str()), 2;
  std::printf("%-26s %8s %8s %8s   thread-CPU ms from configuration to callable, 9 builds\n", "kernel", "first",
              "median", "least");
  for (const Row& row : kRows) {
    const Result<GemmProblem> problem = GemmProblem::parse(row.problem);
    if (!problem.ok()) return std::fprintf(stderr, "%s\n", problem.error().text().c_str()), 1;
    std::vector<double> ms;
    for (int i = 0; i < 9; ++i) {
      const double start = thread_ms();
      const Result<Gemm> gemm = Gemm::build(*device, *problem, "native", row.config + std::to_string(i + 1));
      ms.push_back(thread_ms() - start);
      if (!gemm.ok()) {
        std::printf("%-26s %s\n", row.name, gemm.error().text().c_str());
        break;
      }
    }
    if (ms.size() < 9) continue;
    const double first = ms.front();
    std::sort(ms.begin(), ms.end());
    std::printf("%-26s %8.1f %8.1f %8.1f\n", row.name, first, ms[ms.size() / 2], ms.front());
  }
}
