// bench_compiles [COUNT]: so many kernels compiled, run and dropped in one process, which must not grow by that: neither in
// resident memory, nor in threads, nor in mappings. Every kernel is one of its own: a constant in its epilogue makes it so.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gemmsmith/gemm.h"

using namespace gemmsmith;

namespace {

struct Kind {
  const char* problem;  // without its epilogue
  const char* config;
};

// Nine of ten are small, so that ten thousand take minutes; the others have everything that kernels can have.
constexpr Kind kSmall = {"2x16x4 dtype=f32", "gemm_streaming mr=2 nr=16 nb=16 unroll=1"};
constexpr Kind kOthers[] = {
    {"8x32x16 dtype=f32", "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=8"},
    {"8x32x16 dtype=bf16 b=col", "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=8"},
    {"1x32x64 dtype=bf16 b=col", "gemv mr=1 nr=2 unroll=1 block=32"},
    {"8x32x16 dtype=i8 d=f32", "gemm_packed mr=4 nr=32 mc=8 nc=32 kc=8 mb=8"},
};

constexpr int kMostLoaded = 256;

// A line of /proc/self/status: "VmRSS:" in kB, "Threads:".
int64_t status_of(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == name) return file >> word, std::atoll(word.c_str());
  return 0;
}

int64_t mappings() {
  std::ifstream file("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

struct Size {
  int64_t resident_kbytes = status_of("VmRSS:"), threads = status_of("Threads:"), maps = mappings();
};

// Compiles the i-th kernel and multiplies ones with it: nothing if all is well.
std::string compile(const Device& device, int i) {
  const Kind& kind = i % 10 == 9 ? kOthers[size_t(i / 10) % std::size(kOthers)] : kSmall;
  const std::string last = i % 3 == 0 ? ", 0, 1e30)" : "";
  const std::string value = "acc * " + std::to_string(i + 1);
  const auto problem =
      GemmProblem::parse(std::string(kind.problem) + " epilogue=" + (last.empty() ? value : "clamp(" + value + last));
  if (!problem.ok()) return problem.error().text();
  const auto gemm = Gemm::build(device, *problem, "native", kind.config);
  return gemm.ok() ? std::string() : gemm.error().text();
}

void print(int done, const Size& size, double seconds) {
  std::printf("%7d %12.1f %8lld %9lld %9.1f\n", done, double(size.resident_kbytes) / 1e3,
              static_cast<long long>(size.threads), static_cast<long long>(size.maps), seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10000;
  if (count < 20) return std::fprintf(stderr, "bench_compiles [COUNT]: a count of 20 or more\n"), 2;
  const auto start = std::chrono::steady_clock::now();
  const auto device = Device::open("cpu", {.threads = 2, .measure_peaks = false, .kernel_cache = "none", .warn = {}});
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.error().text().c_str()), 2;
  // By then every kind has been compiled, and as many kernels are loaded as stay loaded.
  const int warm = std::min(count / 3, 400);
  Size begin;
  std::printf("%7s %12s %8s %9s %9s\n", "compiled", "resident MB", "threads", "mappings", "seconds");
  for (int i = 0; i < count; ++i) {
    std::string failure;
    if (i % 50 == 49)  // tunings compile on threads that end with them
      std::jthread([&] { failure = compile(*device, i); }).join();
    else
      failure = compile(*device, i);
    if (!failure.empty()) return std::fprintf(stderr, "compile %d: %s\n", i, failure.c_str()), 1;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (i + 1 == warm) begin = Size();
    if (i + 1 == warm || (i + 1) % std::max(count / 10, 1) == 0) print(i + 1, Size(), seconds);
  }
  const Size end;
  const double growth = double(end.resident_kbytes) / double(begin.resident_kbytes);
  std::printf("after %d compiles: %.3f times the memory that it had after %d\n", count, growth, warm);
  // Kernels that stay loaded (NativeOptions::max_loaded) have two or three mappings each.
  const int loaded_since = std::min(count, kMostLoaded) - std::min(warm, kMostLoaded);
  if (growth > 1.15 || end.threads > begin.threads || end.maps > begin.maps + 3 * loaded_since + 30)
    return std::fprintf(stderr, "the process grows with what it compiles\n"), 1;
}
