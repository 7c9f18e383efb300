// Bank conflicts: the wavefronts that a warp's accesses to shared memory need.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

struct Thread;

// Threads of a warp run one after another here. Accesses belong together when lanes make them at one site for the same number of times;
// where lanes have passed a site unequally often (a divergent loop), the grouping is a guess.
class BankCounter {
 public:
  explicit BankCounter(Counters& counters) : counters_(counters) {}
  void access(const Thread& thread, uint32_t offset, uint32_t bytes, int site);
  // 32 lanes at once: ldmatrix and stmatrix read or write rows of 16 bytes, eight a wavefront at best.
  void rows(const std::array<uint32_t, 32>& offsets, int count);
  void finish();  // counts what is incomplete: some lanes did not take part

 private:
  struct Group {
    uint32_t lanes = 0;
    std::array<uint32_t, 32> offsets{};
    uint32_t bytes = 0;
  };
  struct PerSite {
    std::array<uint32_t, 32> passed{};  // how often each lane came
    uint32_t first = 0;                 // which time groups[0] is
    std::deque<Group> groups;
  };
  void count(const Group& group);

  Counters& counters_;
  std::unordered_map<uint64_t, PerSite> sites_;  // by warp and site
};

}  // namespace gemmsmith::simulator
