// The report of threads that wait for ever: grouped by what they wait for, with the past of their mbarriers.
#include <algorithm>
#include <map>

#include "support/text.h"
#include "targets/simulator/runtime/mbarrier.h"

namespace gemmsmith::simulator {

namespace {

std::string event_text(const Mbarrier::Event& e) {
  switch (e.kind) {
    case 'i':
      return concat("init with count ", e.amount);
    case 'a':
      return concat("arrive ", e.amount);
    case 'e':
      return concat("expect ", e.amount, " bytes");
    case 't':
      return concat("arrive and expect ", e.amount, " bytes");
    default:
      return concat("complete ", e.amount, " bytes");
  }
}

void describe_mbarrier(Engine& e, const Thread& t, Waiting& w) {
  const Cta& cta = *t.cta;
  const uint32_t offset = SharedWindows::offset_of(t.barrier);
  const MbarrierWord word = MbarrierWord::load(t.barrier);
  w.barrier = e.names().region(offset);
  w.state = concat("parity ", t.parity, "; it is in phase ", word.phase, ", ", word.pending, " of ", word.expected,
                   " arrivals pending, tx-count ", word.tx_count);
  const auto found = cta.mbarriers.find(offset);
  if (found == cta.mbarriers.end()) return;
  const Mbarrier& state = found->second;
  const uint32_t count = std::min(state.event_count, uint32_t(Mbarrier::kEvents));
  for (uint32_t i = state.event_count - count; i < state.event_count; ++i) {
    const Mbarrier::Event& event = state.events[i % Mbarrier::kEvents];
    Actor who;
    who.thread = e.names().thread(event.cta, event.thread);
    who.site = event.site;
    w.events.push_back({who, event_text(event), event.phase, event.pending, event.tx_count});
  }
}

}  // namespace

void Engine::describe(Thread& t, Waiting& w) {
  Cta& cta = *t.cta;
  w.first = names_.thread(cta.number, t.index);
  w.count = 1;
  w.operation = t.operation;
  w.site = t.site;
  switch (t.blocked) {
    case Blocked::mbarrier:
      return describe_mbarrier(*this, t, w);
    case Blocked::spinning:
      if (t.barrier) return describe_mbarrier(*this, t, w);
      w.state = "in a loop";
      return;
    case Blocked::named_barrier: {
      const NamedBarrier& barrier = cta.barriers[t.barrier_id];
      w.operation = concat(t.operation, " ", t.barrier_id);
      w.state = concat(barrier.arrived, " of ", barrier.expected, " threads have come");
      return;
    }
    case Blocked::warp:
      for (const Rendezvous& r : cta.warps[t.warp()].open)
        if (r.arrived >> t.lane() & 1) w.state = concat("of the lanes ", hex(r.mask), " have come ", hex(r.arrived));
      return;
    case Blocked::warpgroup:
      w.state = concat(cta.warpgroups[t.index / kWarpgroupThreads].rendezvous.arrived, " of 128 threads have come");
      return;
    case Blocked::cluster:
      w.state = concat(cta.cluster->arrived, " of ", cta.cluster->threads, " threads have come");
      return;
    case Blocked::registers:
      w.state = concat(cta.free_registers, " registers are free in the CTA");
      return;
    case Blocked::finished:
      w.operation = "has ended";
      return;
    default:
      return;
  }
}

Finding Engine::describe_deadlock(FindingKind kind) {
  Finding finding;
  finding.kind = kind;
  finding.what = kind == FindingKind::deadlock ? "no thread can run, and no asynchronous operation is in flight"
                                               : "all threads that can run wait in loops, and nothing changes";
  // One line for threads of a CTA that wait alike.
  std::map<std::string, size_t> known;
  for (auto& cluster : clusters_)
    for (auto& cta : cluster->ctas)
      for (Thread& thread : cta->threads) {
        if (thread.blocked == Blocked::finished) continue;
        Waiting w;
        describe(thread, w);
        const auto [found, fresh] = known.try_emplace(concat(cta->number, w.operation, " ", w.site, w.barrier, w.state),
                                                      finding.waiting.size());
        if (fresh)
          finding.waiting.push_back(std::move(w));
        else
          ++finding.waiting[found->second].count;
      }
  names_.compose(finding);
  return finding;
}

void Engine::deadlock() {
  result_.findings.push_back(describe_deadlock(FindingKind::deadlock));
  to_main();
}

}  // namespace gemmsmith::simulator
