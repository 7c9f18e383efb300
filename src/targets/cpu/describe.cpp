#include "targets/cpu/describe.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <set>

#include "support/file.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

using ReadText = std::function<std::optional<std::string>(const std::string&)>;

std::optional<std::string> read_line(const ReadText& read_text, const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  if (!text) return {};
  return std::string(trim(std::string_view(*text).substr(0, text->find('\n'))));
}

// A cgroup hierarchy with the process's place in it.
struct Cgroup {
  std::string root;  // where it is mounted
  std::string path;  // "/user.slice/job", or "/"
};

// /proc/self/cgroup has a line "id:controllers:path" for each hierarchy; "0::path" is version 2.
std::vector<Cgroup> cgroups_of(const ReadText& read_text, std::string_view controller) {
  std::vector<Cgroup> groups;
  const std::string text = read_text("/proc/self/cgroup").value_or("");
  for (std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 3) continue;
    const std::string path(line.substr(fields[0].size() + fields[1].size() + 2));
    if (fields[0] == "0" && fields[1].empty()) groups.push_back({"/sys/fs/cgroup", path});
    for (std::string_view name : split(fields[1], ','))
      if (name == controller) groups.push_back({concat("/sys/fs/cgroup/", controller), path});
  }
  return groups;
}

// Calls `visit` with the folder of the group and of each of its parents: a limit of any of them holds. In a container
// the path may be that of the host while the mount starts at the container's group: then only the root is there, which
// is the right one.
void for_each_level(const Cgroup& group, const std::function<void(const std::string& folder)>& visit) {
  std::string path = group.path;
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    visit(group.root + path);
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

std::optional<int64_t> cgroup_cores(const ReadText& read_text) {
  std::optional<int64_t> cores;
  auto limit = [&](std::optional<int64_t> quota, std::optional<int64_t> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;  // "max" and -1: no limit
    const int64_t ceiling = (*quota + *period - 1) / *period;
    cores = std::min(cores.value_or(ceiling), ceiling);
  };
  for (const Cgroup& group : cgroups_of(read_text, "cpu"))
    for_each_level(group, [&](const std::string& folder) {
      if (auto v2 = read_line(read_text, folder + "/cpu.max")) {
        const auto words = split_words(*v2);
        if (words.size() == 2) limit(parse_integer(words[0]), parse_integer(words[1]));
      }
      auto quota = read_line(read_text, folder + "/cpu.cfs_quota_us"),
           period = read_line(read_text, folder + "/cpu.cfs_period_us");
      if (quota && period) limit(parse_integer(*quota), parse_integer(*period));
    });
  return cores;
}

int64_t memory_bytes(const ReadText& read_text) {
  int64_t bytes = 0;
  auto limit = [&](std::optional<int64_t> value) {
    if (value && *value > 0) bytes = bytes == 0 ? *value : std::min(bytes, *value);
  };
  const std::string text = read_text("/proc/meminfo").value_or("");
  for (std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() >= 2 && words[0] == "MemTotal:") limit(parse_integer(words[1]).value_or(0) * 1024);
  }
  for (const Cgroup& group : cgroups_of(read_text, "memory"))
    for_each_level(group, [&](const std::string& folder) {
      for (const char* name : {"/memory.max", "/memory.limit_in_bytes"})
        if (auto line = read_line(read_text, folder + name)) limit(parse_integer(*line));
    });
  return bytes;
}

struct Caches {
  int64_t l1 = 0, l2 = 0, last_level_bytes = 0;
  int64_t last_level = 0;  // 3: an L3
};

Caches sysfs_caches(const ReadText& read_text, const std::vector<int>& cpus) {
  struct Cache {
    int64_t level = 0, bytes = 0;
    std::string shared;  // the CPUs that share this instance
  };
  auto caches_of = [&](int cpu) {
    std::vector<Cache> caches;
    for (int i = 0;; ++i) {
      const std::string folder = concat("/sys/devices/system/cpu/cpu", cpu, "/cache/index", i);
      const auto level = read_line(read_text, folder + "/level"), type = read_line(read_text, folder + "/type");
      const auto size = read_line(read_text, folder + "/size"),
                 shared = read_line(read_text, folder + "/shared_cpu_list");
      if (!level || !type) return caches;
      if (*type == "Instruction" || !size) continue;
      caches.push_back({parse_integer(*level).value_or(0), parse_cache_size(*size).value_or(0), shared.value_or("")});
    }
  };
  Caches caches;
  for (const Cache& c : caches_of(cpus.front())) {
    if (c.level == 1) caches.l1 = c.bytes;
    if (c.level == 2) caches.l2 = c.bytes;
    caches.last_level = std::max(caches.last_level, c.level);
  }
  std::set<std::string> counted;
  for (int cpu : cpus)
    for (const Cache& c : caches_of(cpu))
      if (c.level == caches.last_level && counted.insert(c.shared).second) caches.last_level_bytes += c.bytes;
  return caches;
}

bool allowed_by(FeaturesLimit limit, const std::string& feature) {
  static constexpr std::array<std::string_view, 3> kAvx2 = {"avx2", "fma", "f16c"};
  static constexpr std::array<std::string_view, 4> kAvx512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"};
  auto in = [&](const auto& names) { return std::find(names.begin(), names.end(), feature) != names.end(); };
  return limit == FeaturesLimit::none || in(kAvx2) || (limit == FeaturesLimit::avx512 && in(kAvx512));
}

Status check_usable(const CpuProbe& probe, const CpuidFacts& cpuid) {
  if (probe.architecture != "x86_64")
    return Error{"device cpu",
                 probe.architecture,
                 "is not covered by the CPU target, which needs x86-64 with AVX2, FMA and F16C",
                 {},
                 {}};
  std::vector<std::string> missing;
  for (const char* needed : {"avx2", "fma", "f16c"})
    if (std::find(cpuid.features.begin(), cpuid.features.end(), needed) == cpuid.features.end())
      missing.push_back(needed);
  if (missing.empty()) return Done{};
  return Error{"device cpu",
               cpuid.model.empty() ? "this CPU" : cpuid.model,
               "lacks " + join(missing, ", ") + ", or its operating system does not enable " +
                   (missing.size() == 1 ? "it" : "them"),
               "the CPU target needs AVX2, FMA and F16C",
               {}};
}

}  // namespace

std::optional<int64_t> parse_cache_size(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty() && text.back() == 'K') unit = 1 << 10;
  if (!text.empty() && text.back() == 'M') unit = 1 << 20;
  if (unit > 1) text.remove_suffix(1);
  const auto number = parse_integer(text);
  if (!number || *number < 0) return {};
  return *number * unit;
}

Result<FeaturesLimit> features_limit_named(const std::string& name) {
  if (name.empty()) return FeaturesLimit::none;
  if (name == "avx2") return FeaturesLimit::avx2;
  if (name == "avx512") return FeaturesLimit::avx512;
  return Error{"features_limit",
               name,
               "is no limit of the CPU target",
               "known: avx2, avx512; empty for all that the CPU has",
               {}};
}

CpuProbe host_probe() {
  CpuProbe probe;
#if defined(__x86_64__)
  probe.architecture = "x86_64";
#elif defined(__aarch64__)
  probe.architecture = "aarch64";
#else
  probe.architecture = "this architecture";
#endif
  probe.cpuid = host_cpuid();
  probe.xcr0 = host_xcr0();
  // The kernel refuses a mask smaller than its own.
  for (int cpus = 1024; cpus <= 1 << 20 && probe.allowed_cpus.empty(); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (set != nullptr && sched_getaffinity(0, bytes, set) == 0)
      for (int cpu = 0; cpu < cpus; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set)) probe.allowed_cpus.push_back(cpu);
    CPU_FREE(set);
  }
  if (probe.allowed_cpus.empty()) probe.allowed_cpus = {0};
  probe.read_text = [](const std::string& path) -> std::optional<std::string> {
    auto text = read_file(path);
    if (!text.ok()) return {};
    return std::move(*text);
  };
  return probe;
}

Result<DeviceFacts> describe_cpu(const CpuProbe& probe, FeaturesLimit limit) {
  CpuidFacts cpuid = read_cpuid(probe.cpuid, probe.xcr0);
  GS_CHECK(check_usable(probe, cpuid));

  DeviceFacts facts;
  facts.kind = "cpu";
  facts.vendor = cpuid.vendor;
  facts.model = cpuid.model;
  std::copy_if(cpuid.features.begin(), cpuid.features.end(), std::back_inserter(facts.features),
               [&](const std::string& feature) { return allowed_by(limit, feature); });
  const bool full_avx512 =
      facts.has("avx512f") && facts.has("avx512bw") && facts.has("avx512dq") && facts.has("avx512vl");
  if (limit == FeaturesLimit::avx512 && !full_avx512)
    return Error{"features_limit", "avx512", "is more than " + facts.model + " has", "avx2, or no limit", {}};
  facts.vector_bytes = full_avx512 ? 64 : 32;

  const int64_t affinity = int64_t(probe.allowed_cpus.size());
  facts.cores = int(std::min(affinity, cgroup_cores(probe.read_text).value_or(affinity)));
  facts.threads = facts.cores;
  facts.memory_bytes = memory_bytes(probe.read_text);

  const Caches caches = sysfs_caches(probe.read_text, probe.allowed_cpus);
  facts.l1_bytes = caches.l1 ? caches.l1 : cpuid.l1_bytes;
  facts.l2_bytes = caches.l2 ? caches.l2 : cpuid.l2_bytes;
  facts.last_level_bytes = caches.last_level >= cpuid.last_level ? caches.last_level_bytes : cpuid.last_level_bytes;
  return facts;
}

}  // namespace gemmsmith
