// Barriers of the CTA and of the cluster, fences, dependent launches, registers.
#include <algorithm>

#include "support/text.h"
#include "targets/simulator/runtime/collective.h"
#include "targets/simulator/runtime/engine.h"

using namespace gemmsmith::simulator;
using gemmsmith::concat;

namespace {

constexpr int kNamedBarriers = 16;

NamedBarrier& named_barrier(Engine& e, int id, int& threads, int site, const char* operation) {
  Cta& cta = *e.current().cta;
  if (threads < 0) threads = (int(cta.threads.size()) + kWarpThreads - 1) / kWarpThreads * kWarpThreads;
  if (id < 0 || id >= kNamedBarriers)
    e.fail(FindingKind::invalid_operand, concat("barrier ", id, " is none of 0 to 15"), site, operation);
  if (threads == 0 || threads % kWarpThreads != 0)
    e.fail(FindingKind::invalid_operand,
           concat("barrier ", id, " with ", threads, " threads, which are no whole warps"), site, operation);
  NamedBarrier& barrier = cta.barriers[id];
  if (barrier.arrived && barrier.expected != threads)
    e.fail(FindingKind::barrier_misuse,
           concat("barrier ", id, " with ", threads, " threads, while those that have come expect ", barrier.expected),
           site, operation);
  barrier.expected = threads;
  return barrier;
}

// The arrival of a thread; true: it was the last.
bool arrive(Engine& e, NamedBarrier& barrier) {
  Thread& thread = e.current();
  e.changed();
  if (e.racing()) {
    barrier.clock.add(e.clocks(), e.contribution(thread), true);
    e.tick(thread);
  }
  const int all =
      std::min(barrier.expected, int(thread.cta->threads.size()));  // the last warp of a CTA may be a part of one
  if (++barrier.arrived < all) return false;
  return true;
}

void release(Engine& e, NamedBarrier& barrier) {
  barrier.arrived = 0;
  barrier.result_count = barrier.predicates;
  barrier.predicates = 0;
  for (Thread* waiting : barrier.waiting) {
    barrier.clock.acquire_into(e.clocks(), waiting->knowledge, true);
    e.wake(*waiting);
  }
  barrier.waiting.clear();
  barrier.clock = {};
}

NamedBarrier& sync(int site, int id, int threads, bool predicate, const char* operation) {
  Engine& e = running();
  Thread& thread = e.current();
  NamedBarrier& barrier = named_barrier(e, id, threads, site, operation);
  barrier.predicates += predicate;
  thread.barrier_id = id;
  const bool last = arrive(e, barrier);
  if (last) {
    if (e.racing()) barrier.clock.acquire_into(e.clocks(), thread.knowledge, true);
    release(e, barrier);
  } else {
    barrier.waiting.push_back(&thread);
    e.block(Blocked::named_barrier, site, operation);
  }
  return barrier;
}

}  // namespace

void sim_barrier_sync(int32_t site, int32_t id, int32_t threads) { sync(site, id, threads, false, "bar.sync"); }

void sim_barrier_arrive(int32_t site, int32_t id, int32_t threads) {
  Engine& e = running();
  NamedBarrier& barrier = named_barrier(e, id, threads, site, "bar.arrive");
  if (arrive(e, barrier)) release(e, barrier);
}

int32_t sim_barrier_reduce(int32_t site, int32_t id, int32_t threads, int32_t mode, int32_t predicate) {
  const NamedBarrier& barrier = sync(site, id, threads, predicate != 0, "bar.red");
  const int all = std::min(barrier.expected, int(running().current().cta->threads.size()));
  switch (VoteMode(mode)) {
    case VoteMode::all:
      return barrier.result_count == all;
    case VoteMode::any:
      return barrier.result_count > 0;
    default:
      return barrier.result_count;
  }
}

void sim_cluster_arrive(int32_t site, int32_t order) {
  Engine& e = running();
  Thread& thread = e.current();
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_phase > cluster.phase)
    e.fail(FindingKind::barrier_misuse, "the thread has arrived at the cluster's barrier already", site,
           "barrier.cluster.arrive");
  thread.cluster_phase = cluster.phase + 1;
  e.changed();
  if (e.racing()) {
    if (MemoryOrder(order) != MemoryOrder::relaxed) cluster.clock.add(e.clocks(), e.contribution(thread), true);
    e.tick(thread);
  }
  if (++cluster.arrived < cluster.threads) return;
  cluster.arrived = 0;
  ++cluster.phase;
  cluster.done = cluster.clock;
  for (Thread* waiting : cluster.waiting) e.wake(*waiting);
  cluster.waiting.clear();
}

void sim_cluster_wait(int32_t site) {
  Engine& e = running();
  Thread& thread = e.current();
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_phase == 0)
    e.fail(FindingKind::barrier_misuse, "the thread waits for the cluster's barrier without having arrived", site,
           "barrier.cluster.wait");
  if (thread.cluster_phase > cluster.phase) {
    cluster.waiting.push_back(&thread);
    e.block(Blocked::cluster, site, "barrier.cluster.wait");
  }
  if (e.racing()) cluster.done.acquire_into(e.clocks(), thread.knowledge, true);
}

void sim_fence_proxy_async(int32_t site, int32_t space) {
  Engine& e = running();
  if (!e.racing()) return;
  Thread& thread = e.current();
  OwnEpochs& own = e.own(thread);
  Knowledge& k = thread.knowledge;
  if (ProxySpace(space) != ProxySpace::global) {
    k.fenced_shared = e.clocks().join(k.fenced_shared, k.ordered);
    own.fenced_shared = own.epoch;
  }
  if (ProxySpace(space) != ProxySpace::shared) {
    k.fenced_global = e.clocks().join(k.fenced_global, k.ordered);
    own.fenced_global = own.epoch;
  }
  e.tick(thread);
  sim_fence_mbarrier_init(site);
}

void sim_griddepcontrol_launch_dependents(int32_t) {
}  // allows the next launch to start; it is run after this one all the same

void sim_griddepcontrol_wait(int32_t) {
  Engine& e = running();
  e.wait_for_earlier_launches(e.current());
}

void sim_setmaxnreg(int32_t site, int32_t count, int32_t increase) {
  constexpr int kLeast = 24, kMost = 256;
  Engine& e = running();
  Thread& thread = e.current();
  Cta& cta = *thread.cta;
  const char* operation = increase ? "setmaxnreg.inc" : "setmaxnreg.dec";
  if (count % 8 != 0 || count < kLeast || count > kMost)
    e.fail(FindingKind::invalid_operand, concat(count, " registers are no multiple of 8 from 24 to 256"), site,
           operation);
  struct Nothing {
  } nothing;
  warp_collective(e, ~0u, operation, site, nothing, [](const Lanes<Nothing>&) {});
  Warp& warp = cta.warps[thread.warp()];
  if (!increase && count > warp.registers)
    e.fail(FindingKind::invalid_operand,
           concat("releases down to ", count, " registers, but the warp has ", warp.registers), site, operation);
  while (warp.registers != count) {
    const int needed = (count - warp.registers) * kWarpThreads;
    if (increase && needed <= 0) return;  // has more already
    if (needed <= cta.free_registers) {
      cta.free_registers -= needed;
      warp.registers = count;
      for (Thread* waiting : cta.wait_for_registers) e.wake(*waiting);
      cta.wait_for_registers.clear();
    } else {
      cta.wait_for_registers.push_back(&thread);
      e.block(Blocked::registers, site, operation);
    }
  }
}
