// The facts of the CPU that this process may use.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "targets/cpu/cpuid.h"

namespace gemmsmith {

// Where facts come from. Tests hand in machines as data.
struct CpuProbe {
  std::string architecture;  // "x86_64": of the program
  CpuidReader cpuid;
  uint64_t xcr0 = 0;
  std::vector<int> allowed_cpus;                                                 // sched_getaffinity; not empty
  std::function<std::optional<std::string>(const std::string& path)> read_text;  // of /proc and /sys; nothing if absent
};
CpuProbe host_probe();

// What of a CPU's instructions is used: tests run the code of lesser CPUs with it.
enum class FeaturesLimit : uint8_t {
  none,
  avx2,    // AVX2, FMA, F16C: the level x86-64-v3
  avx512,  // and AVX-512 F, BW, DQ, VL, without the dot instructions: x86-64-v4
};
Result<FeaturesLimit> features_limit_named(const std::string&);  // "", "avx2", "avx512"

// Everything but the measured peaks. Sources disagree, above all in containers and virtual machines; then
// - features: CPUID, and only where XCR0 says that the operating system saves the registers; names of /proc/cpuinfo
// don't count;
// - cores: the fewest of affinity (cpusets act through it) and of every cgroup quota from the process's own group up to
// the root,
//   rounded up: 1.5 CPUs are 2 cores, since a second thread still has half a core to run on;
// - memory: the least of MemTotal and of every cgroup limit up to the root;
// - caches: /sys for the first CPU allowed, CPUID for what /sys leaves out (some virtual machines show no L3, some no
// caches at
//   all). Of the last level, the source that knows a higher one wins; /sys counts all its instances that the allowed
//   CPUs reach, which is what a kernel on all cores finds there, CPUID one;
// - `threads` is `cores` here, and vector_bytes 64 only with AVX-512 F, BW, DQ and VL together.
// Errors: another architecture; AVX2, FMA or F16C missing; a limit above what the CPU has.
Result<DeviceFacts> describe_cpu(const CpuProbe&, FeaturesLimit = FeaturesLimit::none);

// "32768K" in bytes.
std::optional<int64_t> parse_cache_size(std::string_view);

}  // namespace gemmsmith
