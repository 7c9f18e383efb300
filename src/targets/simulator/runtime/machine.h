// The state of the simulated machine: threads, warps, CTAs, clusters and what they wait for.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "targets/simulator/runtime/sync.h"

namespace gemmsmith::simulator {

struct Cta;
struct Cluster;

inline constexpr int kWarpThreads = 32, kWarpgroupThreads = 128;

// Why a thread does not run.
enum class Blocked : uint8_t {
  no,
  mbarrier,
  named_barrier,
  warp,
  warpgroup,
  cluster,
  bulk_group,
  cp_async_group,
  wgmma_group,
  registers,
  spinning,
  finished,
};

// Completion of operations that are numbered in order of issue, from 1: all up to `prefix` are complete.
struct InOrder {
  uint32_t issued = 0, prefix = 0;
  std::vector<uint32_t> beyond;  // complete, but not all before them are
  void complete(uint32_t number);
};

// A queue of asynchronous operations with a column in the clocks.
struct Queue {
  uint32_t column = 0;
  InOrder order;
};

// Operations that a thread waits for by groups: bulk stores, cp.async.
struct Groups {
  Queue* reads = nullptr;  // of the source (bulk stores only)
  Queue* writes = nullptr;
  std::vector<uint32_t> ends;  // of each committed group: the number of its last operation
  uint32_t wanted = 0;         // what a blocked thread waits for
  bool wants_reads = false;
};

struct WgmmaThread {
  std::vector<uint32_t> group_ends;  // numbers of the warpgroup's blocks
  uint32_t waited = 0;               // blocks up to this one were waited for
  bool fenced = false;  // a wgmma.fence since values were delivered: before it registers may have been touched
  bool fenced_since_block = false;  // one since the last block
};

struct Thread {
  boost::context::detail::fcontext_t context = nullptr;
  Cta* cta = nullptr;
  uint32_t index = 0;
  int stack = 0;
  Blocked blocked = Blocked::no;
  int site = -1;  // of the call that blocks
  // What it waits for.
  char* barrier = nullptr;
  uint32_t parity = 0;
  int barrier_id = 0;
  uint32_t wanted = 0;
  uint32_t cluster_phase = 0;
  const char* operation = "";  // of the collective or wait, for reports
  void* operands = nullptr;    // of the collective, on the thread's stack

  Groups bulk, cp_async;
  WgmmaThread wgmma;

  Knowledge knowledge;
  // fence.acq_rel: what later relaxed writes publish, and what earlier relaxed reads have seen.
  std::unique_ptr<Contribution> fence_release;
  MemoryScope fence_scope = MemoryScope::cta;
  struct Seen {
    const void* address;
    SyncVariable variable;  // as it was
    MemoryScope scope;
  };
  std::vector<Seen> seen;
  const void* last_read = nullptr;  // by an ordered load or atomic, to notice loops
  int64_t last_value = 0;
  int warp() const { return int(index) / kWarpThreads; }
  int lane() const { return int(index) % kWarpThreads; }
};

// A collective that threads of a warp or warpgroup are coming to.
struct Rendezvous {
  uint32_t mask = 0;     // warps: the members
  uint32_t arrived = 0;  // warps: who is there; warpgroups: how many
  const char* operation = "";
  int site = -1;
  std::vector<Thread*> threads;
};
struct Warp {
  std::deque<Rendezvous> open;  // one a mask
  int registers = 0;
};

// The accumulator of a chain of wgmmas, which threads hold tokens of.
struct Accumulator {
  bool in_use = false, is_integer = false;
  int n = 0, m_steps = 0;
  uint32_t last_block = 0;                           // that adds to it, by number in the warpgroup's queue
  int delivered = 0;                                 // threads that have got their values
  int registers() const { return m_steps * n / 2; }  // of a thread
  std::vector<float> values;                         // [m step][n][64], of integers their bits
};
struct Warpgroup {
  Rendezvous rendezvous;
  Queue* queue = nullptr;
  std::vector<std::unique_ptr<Accumulator>> accumulators;
};

struct NamedBarrier {
  int arrived = 0, expected = 0;
  int predicates = 0, result_count = 0;  // bar.red
  std::vector<Thread*> waiting;
  SyncClock clock;
};

// What the hardware's word does not hold: who may use the barrier, what it carries, its past.
struct Mbarrier {
  Stamp init;
  bool init_fenced = false;
  SyncClock local, remote;  // of the arrivals so far: from this CTA and asynchronous operations; from other CTAs
  SyncClock done_local, done_remote;  // as they were when the last phase completed
  struct Event {
    uint32_t cta = 0, thread = 0;
    int site = -1;
    char kind = 0;  // i init, a arrive, e expect, t arrive and expect, c complete
    uint32_t amount = 0;
    uint32_t phase = 0, pending = 0;
    int32_t tx_count = 0;
  };
  static constexpr int kEvents = 6;
  Event events[kEvents];
  uint32_t event_count = 0;
};

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t number = 0;  // over all launches
  int position[3] = {0, 0, 0};
  int rank = 0;    // in the cluster
  int window = 0;  // of shared memory
  char* shared = nullptr;
  std::deque<Thread> threads;
  std::vector<OwnEpochs> own;  // of the threads
  uint32_t finished = 0;
  NamedBarrier barriers[16];
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  int free_registers = 0;
  std::vector<Thread*> wait_for_registers;
  std::unordered_map<uint32_t, Mbarrier> mbarriers;  // by offset
  std::unordered_map<uint32_t, std::vector<Thread*>> mbarrier_waiters;
  std::deque<Queue> queues;
  std::unordered_map<uint64_t, Queue*> queue_of;  // by what they are for
  // Accesses to its shared memory that must happen before its exit: by component, the last one.
  struct Guest {
    Stamp stamp;
    const char* what;  // "a TMA store that still reads it"
  };
  std::unordered_map<uint64_t, Guest> guests;
  std::set<int> tiles;
  bool waited_for_earlier = false;  // griddepcontrol.wait by one of its threads
  bool exited() const { return finished == threads.size(); }
};

struct Cluster {
  uint32_t number = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t threads = 0, finished = 0;
  uint32_t arrived = 0, phase = 0;
  std::vector<Thread*> waiting;
  SyncClock clock, done;
};

}  // namespace gemmsmith::simulator
