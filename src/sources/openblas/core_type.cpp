#include "sources/openblas/core_type.h"

#include <utility>
#include <vector>

#include "support/text.h"

namespace gemmsmith::openblas {
namespace {

struct SetFacts {
  std::string_view name;
  std::vector<std::string> features;  // that a CPU needs for it
};
const SetFacts& facts_of(InstructionSet set) {
  static const SetFacts facts[] = {{"SSE", {}},
                                   {"AVX", {"avx"}},
                                   {"AVX2", {"avx2", "fma"}},
                                   {"AVX-512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}}};
  return facts[size_t(set)];
}

bool has_all(const DeviceFacts& device, const std::vector<std::string>& features) {
  for (const std::string& feature : features)
    if (!device.has(feature)) return false;
  return true;
}

}  // namespace

InstructionSet instruction_set_of(const DeviceFacts& device) {
  for (const InstructionSet set : {InstructionSet::avx512, InstructionSet::avx2, InstructionSet::avx})
    if (has_all(device, facts_of(set).features)) return set;
  return InstructionSet::sse;
}

std::optional<InstructionSet> instruction_set_of_core(const std::string& core_type) {
  using enum InstructionSet;
  static const std::pair<std::string_view, InstructionSet> kCores[] = {
      {"katmai", sse},       {"coppermine", sse},    {"northwood", sse},
      {"prescott", sse},     {"banias", sse},        {"atom", sse},
      {"core2", sse},        {"penryn", sse},        {"dunnington", sse},
      {"nehalem", sse},      {"athlon", sse},        {"opteron", sse},
      {"opteron_sse3", sse}, {"barcelona", sse},     {"bobcat", sse},
      {"nano", sse},         {"generic", sse},       {"sandybridge", avx},
      {"bulldozer", avx},    {"piledriver", avx},    {"steamroller", avx},
      {"excavator", avx2},   {"haswell", avx2},      {"zen", avx2},
      {"skylakex", avx512},  {"cooperlake", avx512}, {"sapphirerapids", avx512}};
  const std::string name = lower_case(core_type);
  for (const auto& [core, set] : kCores)
    if (core == name) return set;
  return std::nullopt;
}

std::optional<std::string> suitable_core_type(const DeviceFacts& device) {
  switch (instruction_set_of(device)) {
    case InstructionSet::avx512:
      if (!device.has("avx512_bf16")) return "SkylakeX";
      return device.has("amx_bf16") ? "SapphireRapids" : "Cooperlake";
    case InstructionSet::avx2:
      return device.vendor == "AuthenticAMD" ? "Zen" : "Haswell";
    case InstructionSet::avx:
    case InstructionSet::sse:
      break;
  }
  return std::nullopt;
}

Supports judge(const CoreChoice& choice, const DeviceFacts& device) {
  if (choice.requested) {
    if (lower_case(*choice.requested) == lower_case(choice.detected)) return {};
    // Types that a version does not have are replaced by the next lower one of the same instruction set.
    if (instruction_set_of_core(*choice.requested) == instruction_set_of_core(choice.detected)) return {};
    return Supports::no(concat("core type ", *choice.requested, " was asked for, but the library runs as ",
                               choice.detected,
                               ": it does not have that type, or it was loaded earlier in this process"));
  }
  const std::optional<InstructionSet> detected = instruction_set_of_core(choice.detected);
  const InstructionSet cpu = instruction_set_of(device);
  if (!detected || *detected >= cpu || choice.allow_slow) return {};
  const std::string better = suitable_core_type(device).value_or("a type for its CPU");
  const std::string facts =
      concat("core type ", choice.detected, " has ", facts_of(*detected).name, " kernels, but the CPU has ",
             facts_of(cpu).name, " (", join(facts_of(cpu).features, " "), ")");
  if (choice.environment)
    return Supports::no(concat("OPENBLAS_CORETYPE=", *choice.environment, " in the environment: ", facts,
                               "; unset it or set OPENBLAS_CORETYPE=", better));
  return Supports::no(concat("detected ", facts, "; set OPENBLAS_CORETYPE=", better));
}

}  // namespace gemmsmith::openblas
