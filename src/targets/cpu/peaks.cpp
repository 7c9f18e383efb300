#include "targets/cpu/peaks.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "support/aligned_buffer.h"

namespace gemmsmith {
namespace {

#if defined(__x86_64__)

// One instruction on many accumulators in a loop, as assembly: what is measured does not depend on the compiler's
// options. The two inputs are registers 14 and 15. All are zeroed: denormals that happened to be there would be slow.
#if defined(__AVX512F__)  // otherwise the compiler neither uses nor knows registers above 15
#define GS_HIGH_CLOBBERS                                                                                        \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
      "xmm28", "xmm29", "xmm30", "xmm31"
#else
#define GS_HIGH_CLOBBERS
#endif
#define GS_HIGH "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define GS_LOW "0,1,2,3,4,5,6,7,8,9,10,11,12,13"
#define GS_ZERO_LOW "vzeroall\n"
#define GS_ZERO_ALL GS_ZERO_LOW ".irp i," GS_HIGH "\nvpxord %%zmm\\i, %%zmm\\i, %%zmm\\i\n.endr\n"
#define GS_PEAK_LOOP(name, zero, instruction, kind, accumulators)                                                    \
  void name(int64_t iterations) {                                                                                    \
    asm volatile(zero                                                                                                \
                 "1:\n"                                                                                              \
                 ".irp i," accumulators "\n" instruction " %%" kind "14, %%" kind "15, %%" kind                      \
                 "\\i\n.endr\n"                                                                                      \
                 "dec %0\n"                                                                                          \
                 "jnz 1b\n"                                                                                          \
                 "vzeroupper\n"                                                                                      \
                 : "+r"(iterations)                                                                                  \
                 :                                                                                                   \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                   "xmm12", "xmm13", "xmm14", "xmm15", "cc" GS_HIGH_CLOBBERS);                                       \
  }
GS_PEAK_LOOP(fma_ymm, GS_ZERO_LOW, "vfmadd231ps", "ymm", GS_LOW)
GS_PEAK_LOOP(fma_zmm, GS_ZERO_ALL, "vfmadd231ps", "zmm", GS_LOW "," GS_HIGH)
GS_PEAK_LOOP(bf16_zmm, GS_ZERO_ALL, "vdpbf16ps", "zmm", GS_LOW "," GS_HIGH)
GS_PEAK_LOOP(i8_zmm, GS_ZERO_ALL, "vpdpbusd", "zmm", GS_LOW "," GS_HIGH)
GS_PEAK_LOOP(i8_ymm, GS_ZERO_LOW, "%{vex%} vpdpbusd", "ymm", GS_LOW)
#undef GS_PEAK_LOOP

// Reads `bytes`, a multiple of 256, as four streams side by side: hardware prefetchers follow several, and one alone does not keep
// memory busy (measured on Zen 5 with two cores: 67 GB/s with one stream a core, where a GEMV reached 79).
void read_memory(const char* from, int64_t bytes) {
  const int64_t quarter = bytes / 4;
  const char *end = from + quarter, *last = from + 3 * quarter;
  asm volatile(
      "1:\n"
      "vmovdqu (%0), %%ymm0\n"
      "vmovdqu 32(%0), %%ymm1\n"
      "vmovdqu (%0,%3), %%ymm2\n"
      "vmovdqu 32(%0,%3), %%ymm3\n"
      "vmovdqu (%0,%3,2), %%ymm4\n"
      "vmovdqu 32(%0,%3,2), %%ymm5\n"
      "vmovdqu (%1), %%ymm6\n"
      "vmovdqu 32(%1), %%ymm7\n"
      "add $64, %0\n"
      "add $64, %1\n"
      "cmp %2, %0\n"
      "jb 1b\n"
      "vzeroupper\n"
      : "+r"(from), "+r"(last)
      : "r"(end), "r"(quarter)
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc", "memory");
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What threads compete for while they work.
enum class Resource { core /* each has its own */, memory /* all share it */ };

// How often a second all threads together can do `work`, in the best of several rounds that all begin together. Threads
// wake at slightly different times. On cores of their own each is timed by itself; sharing memory, one that starts late
// or was interrupted leaves its bandwidth to the others, so what counts is the time from the first begin to the last
// end.
double best_rate(Resource resource, int threads, int rounds, const std::function<void(int thread)>& work) {
  std::vector<double> begin(static_cast<size_t>(threads)), end(begin.size());
  double best = 0;
  auto end_of_round = [&]() noexcept {
    double rate = 0;
    for (size_t i = 0; i < begin.size(); ++i) rate += 1 / (end[i] - begin[i]);
    if (resource == Resource::memory)
      rate = threads / (*std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end()));
    best = std::max(best, rate);
  };
  std::barrier together(threads);
  std::barrier finished(threads, end_of_round);
  auto run = [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      together.arrive_and_wait();
      begin[size_t(thread)] = seconds_now();
      work(thread);
      end[size_t(thread)] = seconds_now();
      finished.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return best;
}

// Giga-operations a second of a loop that runs `per_iteration` operations an iteration, which takes 15 to 60 cycles.
// Many rounds of 0.5 to 4 ms: on a busy machine only those count that fit between two interruptions.
double loop_rate(int threads, void (*loop)(int64_t), double per_iteration) {
  constexpr int64_t kIterations = 125'000;
  return best_rate(Resource::core, threads, 24, [&](int) { loop(kIterations); }) * double(kIterations) * per_iteration *
         1e-9;
}

double read_rate(const DeviceFacts& facts) {
  // Eight times the last level: with less, a part of every pass is still in it.
  const int64_t wanted = std::clamp(facts.last_level_bytes * 8, int64_t(64) << 20, int64_t(256) << 20);
  const int64_t bytes = facts.memory_bytes > 0 ? std::min(wanted, facts.memory_bytes / 4) : wanted;
  const int64_t share = bytes / facts.threads / 4096 * 4096;
  if (share == 0) return 0;
  auto buffer = AlignedBuffer::allocate(share * facts.threads, {.alignment_bytes = 1 << 21, .guard_bytes = 0});
  if (!buffer.ok()) return 0;  // too little memory to measure in: unknown, as on a machine that was not measured
  char* memory = buffer->data();
  best_rate(Resource::memory, facts.threads, 1,
            [&](int thread) { std::memset(memory + thread * share, 1, size_t(share)); });
  return best_rate(Resource::memory, facts.threads, 10,
                   [&](int thread) { read_memory(memory + thread * share, share); }) *
         double(share) * 1e-9;
}

#endif

}  // namespace

Peaks measure_peaks(const DeviceFacts& facts) {
  Peaks peaks;
#if defined(__x86_64__)
  const bool wide = facts.vector_bytes == 64;
  const int threads = facts.threads;
  peaks.f32_gflops = wide ? loop_rate(threads, fma_zmm, 30 * 16 * 2) : loop_rate(threads, fma_ymm, 14 * 8 * 2);
  if (wide && facts.has("avx512_bf16")) peaks.bf16_gflops = loop_rate(threads, bf16_zmm, 30 * 32 * 2);
  if (wide && facts.has("avx512_vnni"))
    peaks.i8_gops = loop_rate(threads, i8_zmm, 30 * 64 * 2);
  else if (facts.has("avx_vnni"))
    peaks.i8_gops = loop_rate(threads, i8_ymm, 14 * 32 * 2);
  peaks.read_gbytes_per_s = read_rate(facts);
#endif
  return peaks;
}

}  // namespace gemmsmith
