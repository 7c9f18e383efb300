// cp.async (the copies of sm_80), and stores and reductions to another CTA that complete on its mbarrier.
#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/async.h"

using namespace gemmsmith::simulator;
using gemmsmith::concat;

namespace {

class CpAsync : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  char* to = nullptr;
  const char* source = nullptr;
  size_t bytes = 0, source_bytes = 0;
  uint32_t number = 0;

  bool step(Engine& e) override {
    if (source_bytes) std::memcpy(to, source, source_bytes);
    std::memset(to + source_bytes, 0, bytes - source_bytes);
    complete_group_part(e, issuer, issuer.cp_async, Blocked::cp_async_group, false, number);
    return true;
  }
};

// cp.async.mbarrier.arrive: behind the copies before it.
class ArriveAfterCopies : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  Place barrier;
  uint32_t arrivals = 1;
  Contribution contribution;

  bool step(Engine& e) override {
    complete_mbarrier(e, barrier, 0, arrivals, contribution, issuer, site, "cp.async.mbarrier.arrive");
    return true;
  }
};

class RemoteStore : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  Place to, barrier;
  char values[16] = {};
  uint32_t bytes = 0;
  bool reduce = false;
  AtomicOp reduction = AtomicOp::add;
  AtomicType type = AtomicType::u32;
  Completion completion;

  bool step(Engine& e) override {
    char* at = to.cta->shared + to.offset;
    if (reduce) {
      uint64_t old = 0, value = 0;
      std::memcpy(&old, at, bytes);
      std::memcpy(&value, values, bytes);
      old = combine(reduction, type, old, value);
      std::memcpy(at, &old, bytes);
    } else {
      std::memcpy(at, values, bytes);
    }
    complete_mbarrier(e, barrier, bytes, 0, completion.done(*issuer.cta), issuer, site, name_of(op));
    return true;
  }
};

void store_remote(int site, Op op, void* remote, const void* values, int bytes, void* barrier, bool reduce,
                  AtomicOp reduction, AtomicType type) {
  Engine& e = running();
  Thread& thread = e.current();
  const Place to = e.shared_place(remote, uint64_t(bytes), uint64_t(bytes), site, name_of(op));
  const Place at = mbarrier_place(e, barrier, site, name_of(op));
  destinations(e, to, at, -1, site, name_of(op));
  auto operation = std::make_unique<RemoteStore>(thread, op, site);
  operation->to = to;
  operation->barrier = at;
  operation->bytes = uint32_t(bytes);
  std::memcpy(operation->values, values, size_t(bytes));
  operation->touches = 1u << to.cta->rank;
  operation->reduce = reduce;
  operation->reduction = reduction;
  operation->type = type;
  e.counters().dsmem_bytes += bytes;
  const uint64_t key = queue_key(QueueKind::st_async, uint64_t(at.cta->rank) << 32 | at.offset << 12 | thread.index);
  if (e.racing()) {
    const View view = e.view(thread);
    const Queue& queue = e.queue(*thread.cta, key, thread);
    const int atomic = reduce ? Stamp::kAtomic | int(MemoryScope::cluster) << Stamp::kScopeShift : 0;
    const Stamp write = e.stamp(*thread.cta, queue, queue.order.issued + 1, op, uint8_t(Stamp::kWrite | atomic), site);
    e.check_started(thread, *to.cta, op, site);
    check_mbarrier_use(e, at, view, write, true);
    e.access(to, uint64_t(bytes), {&view, write});
    e.add_guest(*to.cta, write, "an operation that writes its shared memory");
  }
  operation->completion = start(e, thread, key);
  e.issue(std::move(operation));
}

}  // namespace

void sim_cp_async(int32_t site, void* shared, const void* global, int32_t bytes, int32_t source_bytes) {
  constexpr Op op = Op::cp_async;
  Engine& e = running();
  Thread& thread = e.current();
  if (bytes != 4 && bytes != 8 && bytes != 16)
    e.fail(FindingKind::invalid_operand, concat("a size of ", bytes, " is none of 4, 8, 16"), site, name_of(op));
  if (source_bytes < 0 || source_bytes > bytes)
    e.fail(FindingKind::invalid_operand, concat("a source of ", source_bytes, " bytes is not 0 to ", bytes), site,
           name_of(op));
  const Place to = e.shared_place(shared, uint64_t(bytes), uint64_t(bytes), site, name_of(op));
  if (to.cta != thread.cta)
    e.fail(FindingKind::invalid_operand, "the destination is in another CTA", site, name_of(op));
  Groups& groups = thread.cp_async;
  if (!groups.writes) groups.writes = &e.queue(*thread.cta, queue_key(QueueKind::cp_async, thread.index), thread);
  auto operation = std::make_unique<CpAsync>(thread, op, site);
  operation->to = static_cast<char*>(shared);
  operation->source = static_cast<const char*>(global);
  operation->bytes = size_t(bytes);
  operation->source_bytes = size_t(source_bytes);
  operation->number = ++groups.writes->order.issued;
  operation->in_order_with = groups.writes;
  operation->touches = 1u << to.cta->rank;
  const View view = e.view(thread);
  if (source_bytes > 0) {
    const Place from = e.global_place(global, uint64_t(source_bytes), false, site, name_of(op));
    if (reinterpret_cast<uintptr_t>(global) % uint64_t(bytes) != 0)
      e.fail(FindingKind::misaligned, concat("the source is not a multiple of ", bytes), site, name_of(op),
             e.names().memory({MemoryPlace::Kind::global, 0, from.buffer, from.offset}));
    e.counters().global_load_bytes += source_bytes;
    if (e.racing() && e.launch().buffers[from.buffer].writable)
      e.access(from, uint64_t(source_bytes),
               {&view, e.stamp(*thread.cta, *groups.writes, operation->number, op, 0, site)});
  }
  if (e.racing()) {
    const Stamp write = e.stamp(*thread.cta, *groups.writes, operation->number, op, Stamp::kWrite, site);
    e.access(to, uint64_t(bytes), {&view, write});
    e.add_guest(*to.cta, write, "a cp.async into its shared memory");
    e.tick(thread);
  }
  e.issue(std::move(operation));
}

void sim_cp_async_commit_group(int32_t) { commit_group(running().current().cp_async); }

void sim_cp_async_wait_group(int32_t site, int32_t pending) {
  Engine& e = running();
  wait_group(e, e.current().cp_async, Blocked::cp_async_group, pending, false, site, "cp.async.wait_group");
}

void sim_cp_async_wait_all(int32_t site) {
  sim_cp_async_commit_group(site);
  sim_cp_async_wait_group(site, 0);
}

void sim_cp_async_mbarrier_arrive(int32_t site, void* barrier, int32_t noinc) {
  constexpr std::string_view kOperation = "cp.async.mbarrier.arrive";
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = mbarrier_place(e, barrier, site, kOperation);
  if (place.cta != thread.cta) e.fail(FindingKind::invalid_operand, "the mbarrier is in another CTA", site, kOperation);
  MbarrierWord word = MbarrierWord::load(barrier);
  if (!word.valid)
    e.fail(FindingKind::barrier_misuse, "the mbarrier is not initialised, or was overwritten", site, kOperation,
           e.names().memory({MemoryPlace::Kind::shared, place.cta->number, 0, place.offset}));
  if (!noinc) {  // one more arrival in this phase: the one that follows the copies
    ++word.pending;
    word.store(barrier);
  }
  Groups& groups = thread.cp_async;
  auto operation = std::make_unique<ArriveAfterCopies>(thread, Op::cp_async, site);
  operation->barrier = place;
  operation->in_order_with = groups.writes;
  operation->touches = 1u << place.cta->rank;
  if (e.racing()) {
    const View view = e.view(thread);
    check_mbarrier_use(e, place, view, e.stamp(thread, Op::cp_async, 0, site), false);
    // It says that the copies are complete; it does not release what the thread itself did.
    if (groups.writes) {
      operation->contribution.queue = {thread.cta->number, groups.writes->column};
      operation->contribution.queue_epoch = groups.writes->order.issued;
    }
  }
  e.issue(std::move(operation));
}

void sim_st_async(int32_t site, void* remote, const void* values, int32_t bytes, void* barrier) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    running().fail(FindingKind::invalid_operand, concat("a size of ", bytes, " is none of 4, 8, 16"), site, "st.async");
  store_remote(site, Op::st_async, remote, values, bytes, barrier, false, AtomicOp::add, AtomicType::u32);
}

void sim_red_async(int32_t site, void* remote, int32_t op, int32_t type, int64_t value, void* barrier) {
  const auto t = AtomicType(type);
  if (!combines(AtomicOp(op), t) || bytes_of(t) < 4)
    running().fail(FindingKind::invalid_operand, "the reduction does not exist for the type", site, "red.async");
  store_remote(site, Op::red_async, remote, &value, bytes_of(t), barrier, true, AtomicOp(op), t);
}
