// Facts from machines that are given as data.
#include "targets/cpu/describe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "support/text.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

struct Machine {
  std::map<std::pair<uint32_t, uint32_t>, CpuidRegisters> cpuid;
  uint64_t xcr0 = 0;
  std::vector<int> cpus = {0};
  std::map<std::string, std::string> files;

  CpuProbe probe() const {
    return {"x86_64",
            [this](uint32_t leaf, uint32_t subleaf) {
              auto found = cpuid.find({leaf, subleaf});
              return found == cpuid.end() ? CpuidRegisters{} : found->second;
            },
            xcr0, cpus,
            [this](const std::string& path) -> std::optional<std::string> {
              auto found = files.find(path);
              return found == files.end() ? std::nullopt : std::optional(found->second);
            }};
  }
  Result<DeviceFacts> describe(FeaturesLimit limit = FeaturesLimit::none) const { return describe_cpu(probe(), limit); }
};

uint32_t word(std::string_view text, size_t at) {
  char bytes[4] = {};
  for (size_t i = 0; i < 4 && at + i < text.size(); ++i) bytes[i] = text[at + i];
  uint32_t value;
  std::memcpy(&value, bytes, 4);
  return value;
}

void name(Machine& m, std::string_view vendor, std::string_view brand, uint32_t last_leaf) {
  m.cpuid[{0, 0}] = {last_leaf, word(vendor, 0), word(vendor, 8), word(vendor, 4)};
  m.cpuid[{0x80000000, 0}] = {0x8000001f, 0, 0, 0};
  for (uint32_t i = 0; i < 3; ++i)
    m.cpuid[{0x80000002 + i, 0}] = {word(brand, i * 16), word(brand, i * 16 + 4), word(brand, i * 16 + 8),
                                    word(brand, i * 16 + 12)};
}

CpuidRegisters cache(uint32_t level, uint32_t type, uint32_t ways, uint32_t line, uint32_t sets) {
  return {type | level << 5, (line - 1) | (ways - 1) << 22, sets - 1, 0};
}

constexpr uint32_t bit(int n) { return 1u << n; }
constexpr uint32_t kAvxEcx = bit(12) | bit(27) | bit(28) | bit(29);  // fma, osxsave, avx, f16c
constexpr uint32_t kAvx512Ebx = bit(5) | bit(16) | bit(17) | bit(30) | bit(31);

// An AMD server with AVX-512: two chips of four cores with 32 MB of L3 each.
Machine amd_server() {
  Machine m;
  name(m, "AuthenticAMD", "AMD EPYC 9B45   16-Core ", 16);
  m.xcr0 = 0xe7;
  m.cpuid[{1, 0}].ecx = kAvxEcx;
  m.cpuid[{7, 0}] = {1, kAvx512Ebx, bit(11), 0};
  m.cpuid[{7, 1}].eax = bit(4) | bit(5);
  m.cpuid[{0x8000001d, 0}] = cache(1, 1, 12, 64, 64);
  m.cpuid[{0x8000001d, 1}] = cache(1, 2, 8, 64, 64);
  m.cpuid[{0x8000001d, 2}] = cache(2, 3, 16, 64, 1024);
  m.cpuid[{0x8000001d, 3}] = cache(3, 3, 16, 64, 32768);
  m.cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int cpu : m.cpus) {
    const char* chip = cpu < 4 ? "0-3" : "4-7";
    const struct {
      const char *level, *type, *size;
    } caches[] = {
        {"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32M"}};
    for (int i = 0; i < 4; ++i) {
      const std::string folder = concat("/sys/devices/system/cpu/cpu", cpu, "/cache/index", i);
      m.files[folder + "/level"] = concat(caches[i].level, "\n");
      m.files[folder + "/type"] = concat(caches[i].type, "\n");
      m.files[folder + "/size"] = concat(caches[i].size, "\n");
      m.files[folder + "/shared_cpu_list"] = i == 3 ? concat(chip, "\n") : concat(cpu, "\n");
    }
  }
  m.files["/proc/meminfo"] = "MemTotal:       65536000 kB\nMemFree:        1000 kB\n";
  m.files["/proc/self/cgroup"] = "0::/user.slice/session.scope\n";
  return m;
}

// An Intel laptop without AVX-512 but with VNNI in its AVX form; CPUID knows the caches, /sys shows none.
Machine intel_laptop() {
  Machine m;
  name(m, "GenuineIntel", "12th Gen Intel(R) Core(TM) i7-1260P", 32);
  m.xcr0 = 0x7;
  m.cpuid[{1, 0}].ecx = kAvxEcx;
  m.cpuid[{7, 0}] = {1, bit(5), 0, 0};
  m.cpuid[{7, 1}].eax = bit(4);
  m.cpuid[{4, 0}] = cache(1, 1, 12, 64, 64);
  m.cpuid[{4, 1}] = cache(1, 2, 8, 64, 64);
  m.cpuid[{4, 2}] = cache(2, 3, 10, 64, 2048);
  m.cpuid[{4, 3}] = cache(3, 3, 12, 64, 24576);
  m.cpus = {0, 1, 2, 3};
  return m;
}

TEST(Describe, ReadsAServer) {
  const auto facts = amd_server().describe();
  ASSERT_TRUE(facts.ok()) << facts.error().text();
  EXPECT_EQ(facts->kind, "cpu");
  EXPECT_EQ(facts->vendor, "AuthenticAMD");
  EXPECT_EQ(facts->model, "AMD EPYC 9B45 16-Core");
  EXPECT_EQ(facts->features, (std::vector<std::string>{"avx2", "avx512_bf16", "avx512_vnni", "avx512bw", "avx512dq",
                                                       "avx512f", "avx512vl", "avx_vnni", "f16c", "fma"}));
  EXPECT_EQ(facts->vector_bytes, 64);
  EXPECT_EQ(facts->cores, 8);
  EXPECT_EQ(facts->threads, 8);
  EXPECT_EQ(facts->l1_bytes, 48 << 10);
  EXPECT_EQ(facts->l2_bytes, 1 << 20);
  EXPECT_EQ(facts->last_level_bytes, 64 << 20);
  EXPECT_EQ(facts->memory_bytes, int64_t(65536000) * 1024);
}

TEST(Describe, ReadsALaptopFromCpuidAlone) {
  const auto facts = intel_laptop().describe();
  ASSERT_TRUE(facts.ok()) << facts.error().text();
  EXPECT_EQ(facts->model, "12th Gen Intel(R) Core(TM) i7-1260P");
  EXPECT_EQ(facts->features, (std::vector<std::string>{"avx2", "avx_vnni", "f16c", "fma"}));
  EXPECT_EQ(facts->vector_bytes, 32);
  EXPECT_EQ(facts->cores, 4);
  EXPECT_EQ(facts->l1_bytes, 48 << 10);
  EXPECT_EQ(facts->l2_bytes, 1280 << 10);
  EXPECT_EQ(facts->last_level_bytes, 18 << 20);
  EXPECT_EQ(facts->memory_bytes, 0);
}

TEST(Describe, CountsOnlyTheCachesThatAllowedCpusReach) {
  Machine m = amd_server();
  m.cpus = {5, 6};
  const auto facts = m.describe();
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->cores, 2);
  EXPECT_EQ(facts->last_level_bytes, 32 << 20);
}

TEST(Describe, TakesTheLastLevelFromCpuidWhereSysDoesNotShowIt) {
  Machine m = amd_server();
  for (int cpu : m.cpus)
    for (const char* file : {"level", "type", "size", "shared_cpu_list"})
      m.files.erase(concat("/sys/devices/system/cpu/cpu", cpu, "/cache/index3/", file));
  const auto facts = m.describe();
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->l2_bytes, 1 << 20);
  EXPECT_EQ(facts->last_level_bytes, 32 << 20);
}

TEST(Describe, TheFewestCoresOfAffinityAndEveryQuotaAbove) {
  const struct {
    std::map<std::string, std::string> files;
    int cores;
  } cases[] = {
      {{}, 8},
      {{{"/sys/fs/cgroup/user.slice/session.scope/cpu.max", "max 100000\n"}}, 8},
      {{{"/sys/fs/cgroup/user.slice/session.scope/cpu.max", "150000 100000\n"}}, 2},
      {{{"/sys/fs/cgroup/user.slice/session.scope/cpu.max", "400000 100000\n"},
        {"/sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n"}},
       3},
      {{{"/sys/fs/cgroup/cpu.max", "50000 100000\n"}}, 1},  // of a container that sees its group as the root
      {{{"/sys/fs/cgroup/cpu.max", "1600000 100000\n"}}, 8},
      {{{"/sys/fs/cgroup/cpu.max", "rubbish\n"}}, 8},
      {{{"/proc/self/cgroup", "5:cpu,cpuacct:/docker/1f\n0::/\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       3},
      {{{"/proc/self/cgroup", "5:cpu:/a\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
       8},
  };
  for (const auto& c : cases) {
    Machine m = amd_server();
    for (const auto& [path, text] : c.files) m.files[path] = text;
    const auto facts = m.describe();
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->cores, c.cores) << (c.files.empty() ? "" : c.files.begin()->first);
    EXPECT_EQ(facts->threads, c.cores);
  }
}

TEST(Describe, TheLeastMemoryOfTheMachineAndEveryLimitAbove) {
  const int64_t all = int64_t(65536000) * 1024;
  const struct {
    std::map<std::string, std::string> files;
    int64_t bytes;
  } cases[] = {
      {{{"/sys/fs/cgroup/user.slice/session.scope/memory.max", "max\n"}}, all},
      {{{"/sys/fs/cgroup/user.slice/session.scope/memory.max", "2147483648\n"},
        {"/sys/fs/cgroup/user.slice/memory.max", "1073741824\n"}},
       1 << 30},
      {{{"/proc/self/cgroup", "4:memory:/job\n"}, {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4194304\n"}},
       4 << 20},
      {{{"/proc/self/cgroup", "4:memory:/job\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
       all},
  };
  for (const auto& c : cases) {
    Machine m = amd_server();
    for (const auto& [path, text] : c.files) m.files[path] = text;
    const auto facts = m.describe();
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->memory_bytes, c.bytes) << c.files.begin()->first;
  }
}

TEST(Describe, AVectorWidthNeedsAllOfItsParts) {
  for (int part : {16, 17, 30, 31}) {
    Machine m = amd_server();
    m.cpuid[{7, 0}].ebx &= ~bit(part);
    const auto facts = m.describe();
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->vector_bytes, 32) << "bit " << part;
  }
}

TEST(Describe, RegistersThatTheSystemDoesNotSaveDoNotCount) {
  Machine m = amd_server();
  m.xcr0 = 0x7;
  auto facts = m.describe();
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->features, (std::vector<std::string>{"avx2", "avx_vnni", "f16c", "fma"}));
  EXPECT_EQ(facts->vector_bytes, 32);

  m.cpuid[{7, 0}].edx = bit(22) | bit(24) | bit(25);
  m.xcr0 = 0xe7;
  EXPECT_FALSE(m.describe()->has("amx_tile"));
  m.xcr0 = 0x600e7;
  EXPECT_TRUE(m.describe()->has("amx_tile") && m.describe()->has("amx_bf16") && m.describe()->has("amx_int8"));
}

TEST(Describe, LimitsHideFeatures) {
  auto facts = amd_server().describe(FeaturesLimit::avx2);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->features, (std::vector<std::string>{"avx2", "f16c", "fma"}));
  EXPECT_EQ(facts->vector_bytes, 32);
  facts = amd_server().describe(FeaturesLimit::avx512);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->features,
            (std::vector<std::string>{"avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"}));
  EXPECT_EQ(facts->vector_bytes, 64);
  facts = intel_laptop().describe(FeaturesLimit::avx512);
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().text(),
            "features_limit: avx512 is more than 12th Gen Intel(R) Core(TM) i7-1260P has; avx2, or no limit");
}

TEST(Describe, RefusesWhatItDoesNotCover) {
  auto error = [](const CpuProbe& probe) {
    const auto facts = describe_cpu(probe);
    return facts.ok() ? "no error" : facts.error().text();
  };
  Machine m = intel_laptop();
  m.cpuid[{1, 0}].ecx &= ~bit(12);
  EXPECT_EQ(error(m.probe()),
            "device cpu: 12th Gen Intel(R) Core(TM) i7-1260P lacks fma, or its operating system does not enable it; "
            "the CPU target needs "
            "AVX2, FMA and F16C");
  m.xcr0 = 0;
  EXPECT_EQ(error(m.probe()),
            "device cpu: 12th Gen Intel(R) Core(TM) i7-1260P lacks avx2, fma, f16c, or its operating system does not "
            "enable them; the CPU "
            "target needs AVX2, FMA and F16C");
  CpuProbe arm = Machine{}.probe();
  arm.architecture = "aarch64";
  EXPECT_EQ(error(arm),
            "device cpu: aarch64 is not covered by the CPU target, which needs x86-64 with AVX2, FMA and F16C");
}

TEST(Describe, AgreesWithTheHost) {
  const auto facts = describe_cpu(host_probe());
  if (!facts.ok()) GTEST_SKIP() << facts.error().text();
  const auto cpuinfo = host_probe().read_text("/proc/cpuinfo");
  if (!cpuinfo) GTEST_SKIP() << "no /proc/cpuinfo";
  const size_t begin = cpuinfo->find("\nflags");
  ASSERT_NE(begin, std::string::npos);
  const auto words =
      split_words(std::string_view(*cpuinfo).substr(begin + 1, cpuinfo->find('\n', begin + 1) - begin - 1));
  for (const char* feature : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16",
                              "avx512_vnni", "avx_vnni", "avx512_fp16", "amx_bf16", "amx_int8", "amx_tile"})
    EXPECT_EQ(facts->has(feature), std::find(words.begin(), words.end(), feature) != words.end()) << feature;
  EXPECT_GE(facts->cores, 1);
  EXPECT_GT(facts->l1_bytes, 0);
  EXPECT_GE(facts->last_level_bytes, facts->l2_bytes);
  EXPECT_GT(facts->memory_bytes, 0);
}

TEST(CacheSize, ReadsWhatSysWrites) {
  EXPECT_EQ(parse_cache_size("48K"), 48 << 10);
  EXPECT_EQ(parse_cache_size("32M"), 32 << 20);
  EXPECT_EQ(parse_cache_size("512"), 512);
  for (const char* text : {"", "K", "-1K", "48 K", "lots"}) EXPECT_EQ(parse_cache_size(text), std::nullopt) << text;
}

}  // namespace
}  // namespace gemmsmith
