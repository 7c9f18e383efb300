// Atomics, ordered loads and stores, fences: synchronization through variables.
#include <cstring>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/engine.h"

using namespace gemmsmith::simulator;
using gemmsmith::concat;

namespace {

bool acquires(MemoryOrder order) { return order != MemoryOrder::relaxed && order != MemoryOrder::release; }
bool releases(MemoryOrder order) { return order != MemoryOrder::relaxed && order != MemoryOrder::acquire; }

struct Variable {
  Place place;
  char* address;
  int bytes;
};

Variable variable(Engine& e, const void* address, int bytes, bool write, int site, Op op) {
  const bool shared = e.cta_of(address) != nullptr;
  const Place place = shared ? e.shared_place(address, uint64_t(bytes), uint64_t(bytes), site, name_of(op))
                             : e.global_place(address, uint64_t(bytes), write, site, name_of(op));
  if (reinterpret_cast<uintptr_t>(address) % uint64_t(bytes) != 0)
    e.fail(FindingKind::misaligned, concat("the address is not a multiple of ", bytes), site, name_of(op));
  return {place, static_cast<char*>(const_cast<void*>(address)), bytes};
}

void count(Engine& e, const Variable& v, bool read, bool write) {
  Counters& n = e.counters();
  if (v.place.kind == Place::Kind::global) {
    if (read) n.global_load_bytes += v.bytes;
    if (write) n.global_store_bytes += v.bytes;
  } else if (v.place.cta != e.current().cta) {
    n.dsmem_bytes += v.bytes;
  } else {
    if (read) n.shared_load_bytes += v.bytes;
    if (write) n.shared_store_bytes += v.bytes;
  }
}

// Tells the detector of the access itself.
void check(Engine& e, const Variable& v, Op op, bool write, int scope, int site) {
  Thread& thread = e.current();
  const View view = e.view(thread);
  const uint8_t flags = uint8_t(Stamp::kAtomic | (write ? Stamp::kWrite : 0) | scope << Stamp::kScopeShift);
  const Stamp stamp = e.stamp(thread, op, flags, site);
  if (v.place.cta && v.place.cta != thread.cta) {
    e.check_started(thread, *v.place.cta, op, site);
    e.add_guest(*v.place.cta, stamp, "an access to its shared memory");
  }
  e.access(v.place, uint64_t(v.bytes), {&view, stamp});
}

// Whether a thread of CTA `from` that released at one scope and the current thread that acquires at another reach each other.
bool reach(Engine& e, uint32_t from, MemoryScope released, MemoryScope acquired) {
  const Cta& cta = *e.current().cta;
  if (from == cta.number) return true;
  const MemoryScope needed =
      e.names().ctas[from].cluster == cta.cluster->number ? MemoryScope::cluster : MemoryScope::gpu;
  return released >= needed && acquired >= needed;
}

void acquire(Engine& e, const SyncVariable& variable, MemoryScope scope) {
  variable.acquire_into(e.clocks(), e.current().knowledge,
                        [&](uint32_t from, MemoryScope released) { return reach(e, from, released, scope); });
}

// What a read of the variable carries: at once, or to a later fence.
void after_read(Engine& e, const void* address, MemoryOrder order, MemoryScope scope) {
  const SyncVariable& variable = e.sync_variables[address];
  if (acquires(order)) return acquire(e, variable, scope);
  Thread& thread = e.current();
  for (Thread::Seen& seen : thread.seen)
    if (seen.address == address) {
      seen.variable = variable;
      seen.scope = scope;
      return;
    }
  thread.seen.push_back({address, variable, scope});
}

// What a write of the variable publishes: what the thread knows, or what it knew at its last fence.
void after_write(Engine& e, const void* address, MemoryOrder order, MemoryScope scope, bool keeps_earlier) {
  Thread& thread = e.current();
  SyncVariable& variable = e.sync_variables[address];
  if (!keeps_earlier) variable.clear();
  if (releases(order))
    variable.release(e.clocks(), e.contribution(thread), scope);
  else if (thread.fence_release)
    variable.release(e.clocks(), *thread.fence_release, std::min(scope, thread.fence_scope));
  e.tick(thread);
}

}  // namespace

int64_t sim_load_ordered(int32_t site, const void* address, int32_t bytes, int32_t order, int32_t scope) {
  Engine& e = running();
  Thread& thread = e.current();
  const Variable v = variable(e, address, bytes, false, site, Op::load_ordered);
  int64_t value = 0;
  std::memcpy(&value, v.address, size_t(bytes));
  if (thread.last_read == address && thread.last_value == value) {  // probably a loop that waits for another value
    e.spin(site, "ld in a loop");
    value = 0;
    std::memcpy(&value, v.address, size_t(bytes));
  }
  thread.last_read = address;
  thread.last_value = value;
  count(e, v, true, false);
  if (e.racing()) {
    check(e, v, Op::load_ordered, false, scope, site);
    after_read(e, address, MemoryOrder(order), MemoryScope(scope));
  }
  return value;
}

void sim_store_ordered(int32_t site, void* address, int32_t bytes, int64_t value, int32_t order, int32_t scope) {
  Engine& e = running();
  const Variable v = variable(e, address, bytes, true, site, Op::store_ordered);
  count(e, v, false, true);
  if (e.racing()) {
    check(e, v, Op::store_ordered, true, scope, site);
    after_write(e, address, MemoryOrder(order), MemoryScope(scope), false);
  }
  std::memcpy(v.address, &value, size_t(bytes));
  e.changed();
}

int64_t sim_atomic(int32_t site, void* address, int32_t op, int32_t type, int64_t value, int64_t compare, int32_t order,
                   int32_t scope) {
  Engine& e = running();
  Thread& thread = e.current();
  const auto operation = AtomicOp(op);
  if (!combines(operation, AtomicType(type)))
    e.fail(FindingKind::invalid_operand, "the operation does not exist for the type", site, "atom");
  const Variable v = variable(e, address, bytes_of(AtomicType(type)), true, site, Op::atomic);
  uint64_t old = 0;
  std::memcpy(&old, v.address, size_t(v.bytes));
  const auto result = [&] { return combine(operation, AtomicType(type), old, uint64_t(value), uint64_t(compare)); };
  if (result() == old && thread.last_read == address &&
      thread.last_value == int64_t(old)) {  // as above: a lock, a poll
    e.spin(site, "atom in a loop");
    old = 0;
    std::memcpy(&old, v.address, size_t(v.bytes));
  }
  thread.last_read = address;
  thread.last_value = int64_t(old);
  const uint64_t now = result();
  const bool writes = now != old || operation != AtomicOp::cas;
  count(e, v, true, true);
  if (e.racing()) {
    check(e, v, Op::atomic, writes, scope, site);
    after_read(e, address, MemoryOrder(order), MemoryScope(scope));
    if (writes) after_write(e, address, MemoryOrder(order), MemoryScope(scope), true);
  }
  std::memcpy(v.address, &now, size_t(v.bytes));
  if (now != old) e.changed();
  return int64_t(old);
}

void sim_fence(int32_t, int32_t, int32_t scope) {
  Engine& e = running();
  if (!e.racing()) return;
  Thread& thread = e.current();
  for (const Thread::Seen& seen : thread.seen) acquire(e, seen.variable, std::min(seen.scope, MemoryScope(scope)));
  thread.seen.clear();
  thread.fence_release = std::make_unique<Contribution>(e.contribution(thread));
  thread.fence_scope = MemoryScope(scope);
  e.tick(thread);
}
