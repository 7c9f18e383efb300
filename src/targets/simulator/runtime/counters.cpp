#include "targets/simulator/runtime/counters.h"

#include <algorithm>
#include <vector>

#include "targets/simulator/runtime/machine.h"

namespace gemmsmith::simulator {

namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4;

// Wavefronts of some lanes: the most different words that one bank must deliver.
int wavefronts(const uint32_t* offsets, const bool* active, int lanes, uint32_t bytes) {
  std::array<std::vector<uint32_t>, kBanks> words;
  size_t most = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!active[lane]) continue;
    for (uint32_t word = offsets[lane] / kBankBytes; word * kBankBytes < offsets[lane] + bytes; ++word) {
      auto& of_bank = words[word % kBanks];
      if (std::ranges::find(of_bank, word) == of_bank.end()) of_bank.push_back(word);
      most = std::max(most, of_bank.size());
    }
  }
  return int(most);
}

}  // namespace

void BankCounter::count(const Group& group) {
  // Accesses of 8 bytes are served by half warps, of 16 bytes by quarters.
  const int together = group.bytes <= 4 ? 32 : group.bytes == 8 ? 16 : 8;
  for (int first = 0; first < kWarpThreads; first += together) {
    bool active[kWarpThreads];
    bool any = false;
    for (int i = 0; i < together; ++i) any |= active[i] = group.lanes >> (first + i) & 1;
    if (!any) continue;
    const int passes = wavefronts(group.offsets.data() + first, active, together, group.bytes);
    counters_.shared_wavefronts += passes;
    counters_.bank_conflicts += passes - 1;
  }
}

void BankCounter::access(const Thread& thread, uint32_t offset, uint32_t bytes, int site) {
  const uint64_t warp = uint64_t(thread.cta->number) * kWarpThreads + uint64_t(thread.warp());
  PerSite& s = sites_[warp << 24 ^ uint64_t(uint32_t(site))];
  const int lane = thread.lane();
  const uint32_t time = s.passed[lane]++;
  if (time < s.first) {  // so late that its group was given up
    Group alone{1u << lane, {}, bytes};
    alone.offsets[lane] = offset;
    return count(alone);
  }
  while (time - s.first >= s.groups.size()) s.groups.emplace_back();
  Group& group = s.groups[time - s.first];
  group.lanes |= 1u << lane;
  group.offsets[lane] = offset;
  group.bytes = bytes;
  constexpr size_t kMostOpen = 64;
  while (!s.groups.empty() && (s.groups.front().lanes == ~0u || s.groups.size() > kMostOpen)) {
    count(s.groups.front());
    s.groups.pop_front();
    ++s.first;
  }
}

void BankCounter::rows(const std::array<uint32_t, 32>& offsets, int count) {
  constexpr int kRows = 8;
  bool active[kRows];
  std::ranges::fill(active, true);
  for (int matrix = 0; matrix < count; ++matrix) {
    const int passes = wavefronts(offsets.data() + matrix * kRows, active, kRows, 16);
    counters_.shared_wavefronts += passes;
    counters_.bank_conflicts += passes - 1;
  }
}

void BankCounter::finish() {
  for (auto& [key, site] : sites_)
    for (const Group& group : site.groups) count(group);
  sites_.clear();
}

}  // namespace gemmsmith::simulator
