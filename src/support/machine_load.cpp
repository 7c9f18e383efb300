#include "support/machine_load.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "support/text.h"

namespace gemmsmith {
namespace {

std::string read_all(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guest times are within user and nice.
std::optional<CpuTimes> parse_cpu_times(std::string_view proc_stat, double ticks_per_second) {
  const std::vector<std::string_view> words = split_words(proc_stat.substr(0, proc_stat.find('\n')));
  if (words.size() < 9 || words[0] != "cpu" || ticks_per_second <= 0) return std::nullopt;
  double ticks[8];
  for (size_t i = 0; i < 8; ++i) {
    const auto number = parse_integer(words[i + 1]);
    if (!number) return std::nullopt;
    ticks[i] = double(*number);
  }
  CpuTimes times;
  for (const double t : ticks) times.total += t / ticks_per_second;
  times.busy = times.total - (ticks[3] + ticks[4]) / ticks_per_second;
  return times;
}

std::optional<CpuTimes> machine_cpu_times() {
  return parse_cpu_times(read_all("/proc/stat"), double(::sysconf(_SC_CLK_TCK)));
}

std::optional<double> machine_load_average() {
  double average = 0;
  if (::getloadavg(&average, 1) != 1) return std::nullopt;
  return average;
}

double own_cpu_seconds() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

double share_of_others(const CpuTimes& before, const CpuTimes& after, double own) {
  const double total = after.total - before.total;
  if (total <= 0) return 0;
  return std::clamp((after.busy - before.busy - own) / total, 0.0, 1.0);
}

// "size resident shared text lib data dt", in pages; data counts stacks as well.
int64_t data_bytes() {
  const std::string statm = read_all("/proc/self/statm");
  const std::vector<std::string_view> words = split_words(statm);
  const auto pages = words.size() > 5 ? parse_integer(words[5]) : std::nullopt;
  return pages ? *pages * ::sysconf(_SC_PAGESIZE) : 0;
}

bool limit_data_bytes([[maybe_unused]] int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? rlim_t(bytes) : std::min(limit.rlim_max, rlim_t(bytes));
  return ::setrlimit(RLIMIT_DATA, &limit) == 0;
#endif
}

}  // namespace gemmsmith
