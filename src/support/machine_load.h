// What else a machine is doing, and a limit on what this process may take of its memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace gemmsmith {

// CPU time of all cores since the machine started, in seconds.
struct CpuTimes {
  double busy = 0;   // spent by anyone, and what a hypervisor gave to others
  double total = 0;  // spent and idle
};
std::optional<CpuTimes> parse_cpu_times(std::string_view proc_stat, double ticks_per_second);  // of /proc/stat
std::optional<CpuTimes> machine_cpu_times();   // nothing where the system does not tell
std::optional<double> machine_load_average();  // over a minute: how many threads ran or wanted to
double own_cpu_seconds();                      // of all threads of this process

// The share of the machine's CPU time between two moments that others took: `own` seconds were this program's.
double share_of_others(const CpuTimes& before, const CpuTimes& after, double own);

// Bytes of this process's private writable memory: heap, stacks of threads, anonymous mappings.
int64_t data_bytes();
// Lets data_bytes() grow to `bytes` and no further: allocations beyond fail. It is RLIMIT_DATA and not RLIMIT_AS, because
// address space that is only reserved, libraries and shared operands cost no memory and would have to be guessed.
// False where it cannot be had, or would stop a sanitizer's own memory.
bool limit_data_bytes(int64_t bytes);

}  // namespace gemmsmith
