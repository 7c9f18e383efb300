// cp.async.bulk and cp.reduce.async.bulk of contiguous bytes, bulk groups.
#include <bit>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/async.h"

using namespace gemmsmith::simulator;
using gemmsmith::concat;

namespace {

constexpr uint64_t kUnit = 16;  // sizes and addresses are multiples of it

struct Reduction {
  bool active = false;
  AtomicOp op = AtomicOp::add;
  AtomicType type = AtomicType::u32;
  void apply(char* to, const char* from, uint64_t bytes) const {
    if (!active) {
      std::memcpy(to, from, bytes);
      return;
    }
    const auto width = uint64_t(bytes_of(type));
    for (uint64_t at = 0; at < bytes; at += width) {
      uint64_t old = 0, value = 0;
      std::memcpy(&old, to + at, width);
      std::memcpy(&value, from + at, width);
      old = combine(op, type, old, value);
      std::memcpy(to + at, &old, width);
    }
  }
};

// Into shared memory of one or more CTAs, completing on an mbarrier in each.
class CopyToShared : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  const char* source = nullptr;
  uint32_t offset = 0, barrier = 0, bytes = 0, destinations = 0;
  Reduction reduction;
  Completion completion;

  bool step(Engine& e) override {
    for (const auto& cta : issuer.cta->cluster->ctas)
      if (destinations >> cta->rank & 1) reduction.apply(cta->shared + offset, source, bytes);
    const Contribution& done = completion.done(*issuer.cta);
    for (const auto& cta : issuer.cta->cluster->ctas)
      if (destinations >> cta->rank & 1)
        complete_mbarrier(e, {Place::Kind::shared, cta.get(), 0, barrier}, bytes, 0, done, issuer, site, name_of(op));
    return true;
  }
};

// From shared to global memory, in a bulk group: reads, then writes.
class CopyToGlobal : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  const char* source = nullptr;
  char* to = nullptr;
  uint64_t bytes = 0;
  uint32_t number = 0;
  Reduction reduction;

  bool step(Engine& e) override {
    const bool reads = touches != 0;
    if (reads)
      data_.assign(source, source + bytes);
    else
      reduction.apply(to, data_.data(), bytes);
    touches = 0;
    complete_group_part(e, issuer, issuer.bulk, Blocked::bulk_group, reads, number);
    return !reads;
  }

 private:
  std::vector<char> data_;
};

void check_size(Engine& e, int bytes, int site, Op op) {
  if (bytes <= 0 || uint64_t(bytes) % kUnit != 0)
    e.fail(FindingKind::invalid_operand, concat("a size of ", bytes, " is no multiple of 16"), site, name_of(op));
}

Place aligned_global(Engine& e, const void* address, int bytes, bool write, int site, Op op) {
  const Place place = e.global_place(address, uint64_t(bytes), write, site, name_of(op));
  if (reinterpret_cast<uintptr_t>(address) % kUnit != 0)
    e.fail(FindingKind::misaligned, "the address is not a multiple of 16", site, name_of(op),
           e.names().memory({MemoryPlace::Kind::global, 0, place.buffer, place.offset}));
  return place;
}

void check_reduction(Engine& e, const Reduction& r, int site, Op op) {
  if (r.active && (!combines(r.op, r.type) || r.op == AtomicOp::exch || r.op == AtomicOp::cas))
    e.fail(FindingKind::invalid_operand, "the reduction does not exist for the type", site, name_of(op));
}

uint8_t write_flags(const Reduction& r, MemoryScope scope) {
  const int atomic = r.active ? Stamp::kAtomic | int(scope) << Stamp::kScopeShift : 0;
  return uint8_t(Stamp::kWrite | Stamp::kAsyncProxy | atomic);
}

// `from` is shared or global memory, and has been checked.
void copy_to_shared(Engine& e, int site, Op op, void* shared, const void* source, const Place& from, int bytes,
                    void* barrier, int multicast, Reduction reduction) {
  Thread& thread = e.current();
  const Place place = e.shared_place(shared, uint64_t(bytes), kUnit, site, name_of(op));
  const Place barrier_place = mbarrier_place(e, barrier, site, name_of(op));
  const Destinations to = destinations(e, place, barrier_place, multicast, site, name_of(op));
  auto operation = std::make_unique<CopyToShared>(thread, op, site);
  operation->source = static_cast<const char*>(source);
  operation->offset = uint32_t(place.offset);
  operation->barrier = uint32_t(barrier_place.offset);
  operation->bytes = uint32_t(bytes);
  operation->destinations = to.ranks;
  operation->touches = to.ranks | (from.kind == Place::Kind::shared ? 1u << from.cta->rank : 0);
  operation->reduction = reduction;
  const uint64_t key = queue_key(barrier_place, to.ranks);
  if (e.racing()) {
    const View view = e.view(thread);
    const Queue& queue = e.queue(*thread.cta, key, thread);
    const uint32_t number = queue.order.issued + 1;
    const Stamp write = e.stamp(*thread.cta, queue, number, op, write_flags(reduction, MemoryScope::cluster), site);
    announce_copy(e, thread, place, uint64_t(bytes), barrier_place, to, view, write);
    const Stamp read = e.stamp(*thread.cta, queue, number, op, Stamp::kAsyncProxy, site);
    if (from.kind == Place::Kind::shared || e.launch().buffers[from.buffer].writable)
      e.access(from, uint64_t(bytes), {&view, read});
    if (from.kind == Place::Kind::shared) e.add_guest(*from.cta, read, "an operation that reads its shared memory");
  }
  operation->completion = start(e, thread, key);
  e.issue(std::move(operation));
}

void copy_to_global(int site, Op op, void* global, const void* shared, int bytes, Reduction reduction) {
  Engine& e = running();
  Thread& thread = e.current();
  check_size(e, bytes, site, op);
  check_reduction(e, reduction, site, op);
  const Place source = e.shared_place(shared, uint64_t(bytes), kUnit, site, name_of(op));
  if (source.cta != thread.cta) e.fail(FindingKind::invalid_operand, "the source is in another CTA", site, name_of(op));
  const Place to = aligned_global(e, global, bytes, true, site, op);
  auto operation = std::make_unique<CopyToGlobal>(thread, op, site);
  operation->source = static_cast<const char*>(shared);
  operation->to = static_cast<char*>(global);
  operation->bytes = uint64_t(bytes);
  operation->touches = 1u << source.cta->rank;
  operation->reduction = reduction;
  operation->number = begin_bulk_write(e, thread, source, uint64_t(bytes), op, site);
  e.counters().tma_write_bytes += bytes;
  if (e.racing()) {
    const View view = e.view(thread);
    const uint8_t flags = write_flags(reduction, MemoryScope::gpu);
    e.access(to, uint64_t(bytes),
             {&view, e.stamp(*thread.cta, *thread.bulk.writes, operation->number, op, flags, site)});
    e.tick(thread);
  }
  e.issue(std::move(operation));
}

void copy_to_cluster(int site, Op op, void* remote, const void* shared, int bytes, void* barrier, Reduction reduction) {
  Engine& e = running();
  check_size(e, bytes, site, op);
  check_reduction(e, reduction, site, op);
  const Place source = e.shared_place(shared, uint64_t(bytes), kUnit, site, name_of(op));
  if (source.cta != e.current().cta)
    e.fail(FindingKind::invalid_operand, "the source is in another CTA", site, name_of(op));
  e.counters().dsmem_bytes += bytes;
  copy_to_shared(e, site, op, remote, shared, source, bytes, barrier, -1, reduction);
}

}  // namespace

void sim_bulk_load(int32_t site, void* shared, const void* global, int32_t bytes, void* barrier, int32_t multicast) {
  Engine& e = running();
  check_size(e, bytes, site, Op::bulk_load);
  const Place from = aligned_global(e, global, bytes, false, site, Op::bulk_load);
  e.counters().tma_read_bytes += bytes;
  e.counters().multicast_bytes += int64_t(bytes) * (multicast < 0 ? 1 : std::popcount(uint32_t(multicast)));
  copy_to_shared(e, site, Op::bulk_load, shared, global, from, bytes, barrier, multicast, {});
}

void sim_bulk_store(int32_t site, void* global, const void* shared, int32_t bytes) {
  copy_to_global(site, Op::bulk_store, global, shared, bytes, {});
}

void sim_bulk_copy_to_cluster(int32_t site, void* remote, const void* shared, int32_t bytes, void* barrier) {
  copy_to_cluster(site, Op::bulk_copy, remote, shared, bytes, barrier, {});
}

void sim_bulk_reduce(int32_t site, void* global, const void* shared, int32_t bytes, int32_t op, int32_t type) {
  copy_to_global(site, Op::bulk_reduce, global, shared, bytes, {true, AtomicOp(op), AtomicType(type)});
}

void sim_bulk_reduce_to_cluster(int32_t site, void* remote, const void* shared, int32_t bytes, void* barrier,
                                int32_t op, int32_t type) {
  copy_to_cluster(site, Op::bulk_reduce_to_cluster, remote, shared, bytes, barrier,
                  {true, AtomicOp(op), AtomicType(type)});
}

void sim_bulk_prefetch(int32_t site, const void* global, int32_t bytes) {
  Engine& e = running();
  check_size(e, bytes, site, Op::bulk_load);
  aligned_global(e, global, bytes, false, site, Op::bulk_load);
}

void sim_bulk_commit_group(int32_t) { commit_group(running().current().bulk); }

void sim_bulk_wait_group(int32_t site, int32_t pending, int32_t read) {
  Engine& e = running();
  wait_group(e, e.current().bulk, Blocked::bulk_group, pending, read != 0, site,
             read ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group");
}
