// What the simulator finds wrong with a kernel: kind, places, and the text that a person reads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gemmsmith::simulator {

// A place in the source of a kernel: what the author called, and where. "ring.fill", "gemm.cpp", 41
struct Site {
  std::string label;
  std::string file;
  int line = 0;
};
std::string text_of(const Site&);  // "ring.fill at gemm.cpp:41"

enum class FindingKind : uint8_t {
  deadlock,             // nothing can run
  livelock,             // only loops around non-blocking waits run, and nothing changes
  race,                 // two accesses that no synchronization orders
  missing_proxy_fence,  // ordered, but a generic access is not fenced from one of the async proxy
  scope_too_small,      // ordered, but the scope of a release or acquire does not reach from one thread to the other
  use_before_init,      // mbarrier used without its init happening before
  missing_init_fence,   // mbarrier used by another CTA or the async proxy without fence.mbarrier_init
  unordered_start,      // access to the shared memory of a CTA that may not have started
  unordered_exit,       // a CTA exits while others, or asynchronous operations, may still access its shared memory
  out_of_bounds,        // outside of every buffer, the shared memory, the cluster
  read_only,            // a write to a buffer that is not writable
  misaligned,
  barrier_misuse,       // uninitialised, too many arrivals, missed phases, tx-count out of range, unequal thread counts
  divergence,           // a collective that the threads of the warp or warpgroup do not execute together or alike
  missing_wgmma_fence,  // registers used by wgmma without wgmma.fence after their last access
  accumulator_in_flight,  // registers of a wgmma that were touched before its wait
  invalid_operand,        // what the instruction does not allow: sizes, shapes, descriptors, counts
  stack_overflow,
  trap,  // the kernel's own
};
std::string_view name_of(FindingKind);  // "missing proxy fence"

struct ThreadName {
  int launch = 0;
  int cta[3] = {0, 0, 0};
  int thread = 0;  // in the CTA
};

// Who accessed, with what: a thread itself, or an asynchronous operation that it issued.
struct Actor {
  ThreadName thread;
  std::string operation;  // "st", "cp.async.bulk.tensor (load)", "wgmma"
  bool asynchronous = false;
  bool writes = false;
  int site = -1;
};

// One event of an mbarrier's recent past.
struct BarrierEvent {
  Actor who;
  std::string what;  // "arrives 1", "expects 16384 bytes", "completes 8192 bytes"
  uint32_t phase = 0, pending = 0;
  int32_t tx_count = 0;  // after the event
};

// Threads that wait for the same thing.
struct Waiting {
  ThreadName first;
  int count = 0;
  std::string operation;  // "mbarrier.try_wait", "bar.sync 1"
  int site = -1;
  std::string barrier;               // "full[1]"; of mbarriers
  std::string state;                 // "parity 0; phase 0, 1 of 1 arrivals pending, tx-count 0"
  std::vector<BarrierEvent> events;  // the last few of the barrier, oldest first
};

struct Finding {
  FindingKind kind = FindingKind::race;
  std::string what;              // "write-read", or the sentence of what is wrong
  std::optional<Actor> first;    // the earlier access, of races
  std::optional<Actor> second;   // the later access, or who did what is wrong
  std::string memory;            // "A stage 2 + 0x80 (shared + 0x8080 of CTA (0,0,0))"
  std::vector<Waiting> waiting;  // of deadlocks
  std::string text;              // all of it, for people; several lines, the last without a line end
};

}  // namespace gemmsmith::simulator
