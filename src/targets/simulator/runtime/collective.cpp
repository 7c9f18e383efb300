#include "targets/simulator/runtime/collective.h"

#include <algorithm>

namespace gemmsmith::simulator {

Rendezvous* meet_warp(Engine& e, uint32_t mask, const char* operation, int site) {
  Thread& thread = e.current();
  Warp& warp = thread.cta->warps[thread.warp()];
  const int lanes = std::min(kWarpThreads, int(thread.cta->threads.size()) - thread.warp() * kWarpThreads);
  if (lanes < kWarpThreads) mask &= (1u << lanes) - 1;
  if (!(mask >> thread.lane() & 1))
    e.fail(FindingKind::divergence, concat("a lane that is not in the mask ", hex(mask), " executes the operation"),
           site, operation);
  // Masks may overlap: lanes that are ahead wait for all while others still have a collective of their own.
  auto found = std::ranges::find_if(warp.open, [&](const Rendezvous& r) { return r.mask == mask; });
  if (found == warp.open.end()) {
    warp.open.push_back({mask, 0, operation, site, {}});
    found = warp.open.end() - 1;
  }
  if (found->operation != operation || found->site != site) {
    std::string what = concat("lanes of the warp have come to ", found->operation, " in ", e.names().site(found->site),
                              ", this one comes to ", operation, " in ", e.names().site(site), ", with the same mask ",
                              hex(mask));  // a failure does not return: nothing may be left to destroy
    e.fail(FindingKind::divergence, std::move(what), site, operation);
  }
  found->arrived |= 1u << thread.lane();
  found->threads.push_back(&thread);
  if (found->arrived == mask) return &*found;
  e.block(Blocked::warp, site, operation);
  return nullptr;
}

void end_warp(Engine& e, Rendezvous& r) {
  Thread& thread = e.current();
  for (Thread* t : r.threads)
    if (t != &thread) e.wake(*t);
  auto& open = thread.cta->warps[thread.warp()].open;
  open.erase(std::ranges::find_if(open, [&](const Rendezvous& other) { return &other == &r; }));
}

Rendezvous* meet_warpgroup(Engine& e, const char* operation, int site) {
  Thread& thread = e.current();
  const size_t index = thread.index / kWarpgroupThreads;
  if (thread.cta->threads.size() < (index + 1) * kWarpgroupThreads)
    e.fail(FindingKind::divergence, "the warpgroup has fewer than 128 threads", site, operation);
  Rendezvous& r = thread.cta->warpgroups[index].rendezvous;
  if (r.arrived && (r.operation != operation || r.site != site)) {
    std::string what = concat("threads of the warpgroup have come to ", r.operation, " in ", e.names().site(r.site),
                              ", this one comes to ", operation, " in ", e.names().site(site));
    e.fail(FindingKind::divergence, std::move(what), site, operation);
  }
  r.operation = operation;
  r.site = site;
  r.threads.push_back(&thread);
  if (++r.arrived == kWarpgroupThreads) return &r;
  e.block(Blocked::warpgroup, site, operation);
  return nullptr;
}

void end_warpgroup(Engine& e, Rendezvous& r) {
  for (Thread* t : r.threads)
    if (t != &e.current()) e.wake(*t);
  r.threads.clear();
  r.arrived = 0;
}

}  // namespace gemmsmith::simulator

using namespace gemmsmith::simulator;
using gemmsmith::concat;

void sim_syncwarp(int32_t site, int32_t mask) {
  Engine& e = running();
  struct Nothing {
  } nothing;
  warp_collective(e, uint32_t(mask), "bar.warp.sync", site, nothing, [&](const Lanes<Nothing>& lanes) {
    if (!e.racing()) return;
    SyncClock clock;
    for (Thread* t : lanes.threads)
      if (t) clock.add(e.clocks(), e.contribution(*t), true), e.tick(*t);
    for (Thread* t : lanes.threads)
      if (t) clock.acquire_into(e.clocks(), t->knowledge, true);
  });
}

int32_t sim_elect(int32_t site, int32_t mask) {
  struct Elect {
    int32_t leader;
  } mine{0};
  warp_collective(running(), uint32_t(mask), "elect.sync", site, mine, [&](const Lanes<Elect>& lanes) {
    const int lowest = std::countr_zero(uint32_t(mask));
    for (int lane = 0; lane < kWarpThreads; ++lane)
      if (lanes.has(lane)) lanes[lane].leader = lane == lowest;
  });
  return mine.leader;
}

int64_t sim_shuffle(int32_t site, int32_t mode, int32_t mask, int32_t value, int32_t lane, int32_t clamp) {
  struct Shuffle {
    int32_t value, lane, clamp;
    int64_t result;
  } mine{value, lane, clamp, 0};
  Engine& e = running();
  warp_collective(e, uint32_t(mask), "shfl.sync", site, mine, [&](const Lanes<Shuffle>& lanes) {
    for (int i = 0; i < kWarpThreads; ++i) {
      if (!lanes.has(i)) continue;
      Shuffle& s = lanes[i];
      const int b = s.lane & 31, segment = s.clamp >> 8 & 31, most = s.clamp & 31;
      const int low = i & segment, high = low | (most & ~segment);
      int from = 0;
      bool inside = false;
      switch (ShuffleMode(mode)) {
        case ShuffleMode::up:
          from = i - b, inside = from >= high;
          break;
        case ShuffleMode::down:
          from = i + b, inside = from <= high;
          break;
        case ShuffleMode::bfly:
          from = i ^ b, inside = from <= high;
          break;
        case ShuffleMode::idx:
          from = low | (b & ~segment), inside = from <= high;
          break;
      }
      if (!inside) from = i;
      if (!lanes.has(from))
        e.fail(FindingKind::divergence,
               concat("lane ", i, " reads lane ", from, ", which is not in the mask ", hex(uint32_t(mask))), site,
               "shfl.sync");
      s.result = int64_t(uint32_t(lanes[from].value)) | int64_t(inside) << 32;
    }
  });
  return mine.result;
}

int32_t sim_vote(int32_t site, int32_t mode, int32_t mask, int32_t predicate) {
  struct Vote {
    bool predicate;
    int32_t result;
  } mine{predicate != 0, 0};
  warp_collective(running(), uint32_t(mask), "vote.sync", site, mine, [&](const Lanes<Vote>& lanes) {
    uint32_t members = 0, ballot = 0;
    for (int i = 0; i < kWarpThreads; ++i)
      if (lanes.has(i)) members |= 1u << i, ballot |= uint32_t(lanes[i].predicate) << i;
    int32_t result = 0;
    switch (VoteMode(mode)) {
      case VoteMode::all:
        result = ballot == members;
        break;
      case VoteMode::any:
        result = ballot != 0;
        break;
      case VoteMode::uni:
        result = ballot == 0 || ballot == members;
        break;
      case VoteMode::ballot:
        result = int32_t(ballot);
        break;
      case VoteMode::count:
        result = std::popcount(ballot);
        break;
    }
    for (int i = 0; i < kWarpThreads; ++i)
      if (lanes.has(i)) lanes[i].result = result;
  });
  return mine.result;
}

namespace {

struct Match {
  int64_t value;
  uint32_t equal = 0, members = 0;
};

Match match(int site, uint32_t mask, int64_t value, const char* operation) {
  Match mine{value};
  warp_collective(running(), mask, operation, site, mine, [](const Lanes<Match>& lanes) {
    for (int i = 0; i < kWarpThreads; ++i)
      for (int j = 0; lanes.has(i) && j < kWarpThreads; ++j) {
        if (!lanes.has(j)) continue;
        lanes[i].members |= 1u << j;
        lanes[i].equal |= uint32_t(lanes[i].value == lanes[j].value) << j;
      }
  });
  return mine;
}

}  // namespace

int32_t sim_match_any(int32_t site, int32_t mask, int64_t value) {
  return int32_t(match(site, uint32_t(mask), value, "match.any.sync").equal);
}

int64_t sim_match_all(int32_t site, int32_t mask, int64_t value) {
  const Match m = match(site, uint32_t(mask), value, "match.all.sync");
  return m.equal == m.members ? int64_t(m.members) | int64_t(1) << 32 : 0;
}

int32_t sim_redux(int32_t site, int32_t op, int32_t type, int32_t mask, int32_t value) {
  struct Redux {
    int32_t value, result;
  } mine{value, 0};
  const bool is_signed = AtomicType(type) == AtomicType::s32;
  const auto combine = [op, is_signed](int32_t a, int32_t b) {
    const bool less = is_signed ? a < b : uint32_t(a) < uint32_t(b);
    switch (AtomicOp(op)) {
      case AtomicOp::min:
        return less ? a : b;
      case AtomicOp::max:
        return less ? b : a;
      case AtomicOp::and_:
        return a & b;
      case AtomicOp::or_:
        return a | b;
      case AtomicOp::xor_:
        return a ^ b;
      default:
        return int32_t(uint32_t(a) + uint32_t(b));
    }
  };
  warp_collective(running(), uint32_t(mask), "redux.sync", site, mine, [&](const Lanes<Redux>& lanes) {
    const int first = std::countr_zero(uint32_t(mask));
    int32_t result = lanes[first].value;
    for (int i = first + 1; i < kWarpThreads; ++i)
      if (lanes.has(i)) result = combine(result, lanes[i].value);
    for (int i = first; i < kWarpThreads; ++i)
      if (lanes.has(i)) lanes[i].result = result;
  });
  return mine.result;
}
