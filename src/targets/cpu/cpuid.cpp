#include "targets/cpu/cpuid.h"

#include <algorithm>
#include <cstring>

#include "support/text.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gemmsmith {
namespace {

// State that the operating system has to save, as bits of XCR0.
constexpr uint64_t kAvxState = 0x6;      // SSE and AVX
constexpr uint64_t kAvx512State = 0xe6;  // and masks and both halves of the zmm registers
constexpr uint64_t kAmxState = 0x60000;  // tile configuration and data

struct FeatureBit {
  const char* name;
  uint32_t leaf, subleaf;
  uint32_t CpuidRegisters::* word;
  int bit;
  uint64_t state;
};
constexpr FeatureBit kFeatures[] = {
    {"fma", 1, 0, &CpuidRegisters::ecx, 12, kAvxState},
    {"f16c", 1, 0, &CpuidRegisters::ecx, 29, kAvxState},
    {"avx2", 7, 0, &CpuidRegisters::ebx, 5, kAvxState},
    {"avx_vnni", 7, 1, &CpuidRegisters::eax, 4, kAvxState},
    {"avx512f", 7, 0, &CpuidRegisters::ebx, 16, kAvx512State},
    {"avx512dq", 7, 0, &CpuidRegisters::ebx, 17, kAvx512State},
    {"avx512bw", 7, 0, &CpuidRegisters::ebx, 30, kAvx512State},
    {"avx512vl", 7, 0, &CpuidRegisters::ebx, 31, kAvx512State},
    {"avx512_vnni", 7, 0, &CpuidRegisters::ecx, 11, kAvx512State},
    {"avx512_fp16", 7, 0, &CpuidRegisters::edx, 23, kAvx512State},
    {"avx512_bf16", 7, 1, &CpuidRegisters::eax, 5, kAvx512State},
    {"amx_bf16", 7, 0, &CpuidRegisters::edx, 22, kAmxState},
    {"amx_tile", 7, 0, &CpuidRegisters::edx, 24, kAmxState},
    {"amx_int8", 7, 0, &CpuidRegisters::edx, 25, kAmxState},
    {"amx_fp16", 7, 1, &CpuidRegisters::eax, 21, kAmxState},
};

std::string text_of(std::initializer_list<uint32_t> words) {
  std::string text;
  for (uint32_t word : words) {
    char bytes[4];
    std::memcpy(bytes, &word, sizeof bytes);
    text.append(bytes, sizeof bytes);
  }
  return text.substr(0, text.find('\0'));
}

std::string brand(const CpuidReader& cpuid) {
  if (cpuid(0x80000000, 0).eax < 0x80000004) return {};
  std::string text;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const CpuidRegisters r = cpuid(leaf, 0);
    text += text_of({r.eax, r.ebx, r.ecx, r.edx});
  }
  return join(split_words(text), " ");
}

std::vector<std::string> features_of(const CpuidReader& cpuid, uint64_t xcr0) {
  const uint32_t last_leaf = cpuid(0, 0).eax;
  const uint32_t last_subleaf = last_leaf >= 7 ? cpuid(7, 0).eax : 0;
  constexpr uint32_t kOsxsave = 1u << 27, kAvx = 1u << 28;
  if ((cpuid(1, 0).ecx & (kOsxsave | kAvx)) != (kOsxsave | kAvx)) return {};
  std::vector<std::string> features;
  for (const FeatureBit& f : kFeatures) {
    if (f.leaf > last_leaf || f.subleaf > last_subleaf || (xcr0 & f.state) != f.state) continue;
    if (cpuid(f.leaf, f.subleaf).*f.word >> f.bit & 1) features.push_back(f.name);
  }
  std::sort(features.begin(), features.end());
  return features;
}

// Deterministic cache parameters: leaf 4 of Intel, 0x8000001d of AMD (and Hygon), in one format.
void read_caches(const CpuidReader& cpuid, CpuidFacts& facts) {
  uint32_t leaf = 0;
  if (cpuid(0, 0).eax >= 4 && cpuid(4, 0).eax & 0x1f) leaf = 4;
  if (cpuid(0x80000000, 0).eax >= 0x8000001d && cpuid(0x8000001d, 0).eax & 0x1f) leaf = 0x8000001d;
  if (leaf == 0) return;
  for (uint32_t i = 0; i < 16; ++i) {
    const CpuidRegisters r = cpuid(leaf, i);
    const uint32_t type = r.eax & 0x1f, level = r.eax >> 5 & 7;
    if (type == 0) break;
    if (type == 2) continue;  // instructions
    const int64_t line = (r.ebx & 0xfff) + 1, partitions = (r.ebx >> 12 & 0x3ff) + 1, ways = (r.ebx >> 22) + 1;
    const int64_t bytes = line * partitions * ways * (int64_t(r.ecx) + 1);
    if (level == 1) facts.l1_bytes = bytes;
    if (level == 2) facts.l2_bytes = bytes;
    if (level >= 2 && int(level) > facts.last_level) facts.last_level = int(level), facts.last_level_bytes = bytes;
  }
}

}  // namespace

CpuidFacts read_cpuid(const CpuidReader& cpuid, uint64_t xcr0) {
  const CpuidRegisters first = cpuid(0, 0);
  CpuidFacts facts;
  facts.vendor = text_of({first.ebx, first.edx, first.ecx});
  if (facts.vendor.empty()) return facts;
  facts.model = brand(cpuid);
  facts.features = features_of(cpuid, xcr0);
  read_caches(cpuid, facts);
  return facts;
}

#if defined(__x86_64__)
CpuidReader host_cpuid() {
  return [](uint32_t leaf, uint32_t subleaf) {
    CpuidRegisters r;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  };
}

uint64_t host_xcr0() {
  if (!(host_cpuid()(1, 0).ecx >> 27 & 1)) return 0;  // xgetbv itself has to be enabled
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}
#else
CpuidReader host_cpuid() {
  return [](uint32_t, uint32_t) { return CpuidRegisters{}; };
}
uint64_t host_xcr0() { return 0; }
#endif

}  // namespace gemmsmith
