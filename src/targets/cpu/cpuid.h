// What the CPUID instruction says, read through a function so that tests describe any machine.
// Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gemmsmith {

struct CpuidRegisters {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
using CpuidReader = std::function<CpuidRegisters(uint32_t leaf, uint32_t subleaf)>;

struct CpuidFacts {
  std::string vendor;  // "AuthenticAMD"; empty where there is no CPUID
  std::string model;   // the brand string, single spaces
  std::vector<std::string>
      features;  // sorted; those of vector registers only if the operating system saves the registers
  int64_t l1_bytes = 0, l2_bytes = 0, last_level_bytes = 0;  // data caches, of one instance; 0: not said
  int last_level = 0;                                        // 3: the last level is an L3
};

// `xcr0` is the register that says which state the operating system saves; 0 if it cannot be read.
CpuidFacts read_cpuid(const CpuidReader&, uint64_t xcr0);

// Of the CPU that runs the caller; readers of zeros on other architectures.
CpuidReader host_cpuid();
uint64_t host_xcr0();

}  // namespace gemmsmith
