// Accesses to memory: what an address is, bounds, and what the detector is told.
#include <algorithm>

#include "support/text.h"
#include "targets/simulator/runtime/engine.h"

namespace gemmsmith::simulator {

namespace {

// By-value parameters are at most this long; pointers into them are local memory.
constexpr uint64_t kMostParameterBytes = 4096;

std::string name_of_address(const Launch& launch, const char* address, uint64_t bytes) {
  constexpr uint64_t kNear = 1 << 20;
  for (const GlobalBuffer& b : launch.buffers) {
    const char* base = static_cast<const char*>(b.base);
    if (address >= base && address < base + b.bytes)
      return concat(bytes, " bytes at ", b.name, " + ", hex(uint64_t(address - base)), ", which has ",
                    hex(uint64_t(b.bytes)), " bytes");
    if (address >= base + b.bytes && uint64_t(address - base) < uint64_t(b.bytes) + kNear)
      return concat(bytes, " bytes, ", uint64_t(address - base) - uint64_t(b.bytes), " bytes behind the end of ",
                    b.name);
    if (address < base && uint64_t(base - address) < kNear)
      return concat(bytes, " bytes, ", uint64_t(base - address), " bytes before ", b.name);
  }
  return concat(bytes, " bytes at an address that is in no buffer and no shared memory of the cluster");
}

}  // namespace

Cta* Engine::cta_of(const void* address) const {
  const int window = pools_.windows.window_of(address);
  if (window < 0 || window >= int(windows_.size())) return nullptr;
  const Thread& thread = running_operation_ ? running_operation_->issuer : *current_;
  Cta* cta = windows_[window];
  return cta && cta->cluster == thread.cta->cluster ? cta : nullptr;
}

Place Engine::locate(const void* address) const {
  if (Cta* cta = cta_of(address)) return {Place::Kind::shared, cta, 0, SharedWindows::offset_of(address)};
  const char* at = static_cast<const char*>(address);
  for (uint32_t i = 0; i < launch_->buffers.size(); ++i) {
    const char* base = static_cast<const char*>(launch_->buffers[i].base);
    if (at >= base && at < base + launch_->buffers[i].bytes)
      return {Place::Kind::global, nullptr, i, uint64_t(at - base)};
  }
  if (pools_.stacks.contains(address)) return {Place::Kind::local, nullptr, 0, 0};
  for (const void* parameter : launch_->parameters)
    if (uint64_t(at - static_cast<const char*>(parameter)) < kMostParameterBytes)
      return {Place::Kind::local, nullptr, 0, 0};
  return {};
}

Place Engine::shared_place(const void* address, uint64_t bytes, uint64_t alignment, int site,
                           std::string_view operation) {
  Place place;
  if (Cta* cta = cta_of(address)) place = {Place::Kind::shared, cta, 0, SharedWindows::offset_of(address)};
  if (!place.cta)
    fail(FindingKind::out_of_bounds, concat(bytes, " bytes at an address outside of the cluster's shared memory"), site,
         operation);
  if (place.offset + bytes > launch_->shared_bytes)
    fail(FindingKind::out_of_bounds,
         concat(bytes, " bytes at shared + ", hex(place.offset), ", which has ", hex(launch_->shared_bytes), " bytes"),
         site, operation);
  if (place.offset % alignment != 0)
    fail(FindingKind::misaligned, concat("the address is not a multiple of ", alignment), site, operation,
         names_.memory({MemoryPlace::Kind::shared, place.cta->number, 0, place.offset}));
  if (place.cta->exited())
    fail(FindingKind::unordered_exit, "the CTA whose shared memory this is has ended", site, operation,
         names_.memory({MemoryPlace::Kind::shared, place.cta->number, 0, place.offset}));
  return place;
}

Place Engine::global_place(const void* address, uint64_t bytes, bool write, int site, std::string_view operation) {
  const Place place = locate(address);
  const bool inside =
      place.kind == Place::Kind::global && place.offset + bytes <= uint64_t(launch_->buffers[place.buffer].bytes);
  if (!inside)
    fail(FindingKind::out_of_bounds, name_of_address(*launch_, static_cast<const char*>(address), bytes), site,
         operation);
  if (write && !launch_->buffers[place.buffer].writable)
    fail(FindingKind::read_only, "", site, operation,
         names_.memory({MemoryPlace::Kind::global, 0, place.buffer, place.offset}));
  return place;
}

View Engine::view(Thread& t) {
  View view;
  view.sides[0] = {&t.knowledge, &own(t), t.cta->number, t.index, t.index + 1};
  return view;
}

Stamp Engine::stamp(Thread& t, Op op, uint8_t flags, int site) {
  return {t.cta->number, own(t).epoch, site, uint16_t(t.index), op, flags};
}

Stamp Engine::stamp(const Cta& cta, const Queue& queue, uint32_t number, Op op, uint8_t flags, int site) {
  return {cta.number, number, site, uint16_t(queue.column), op, flags};
}

Contribution Engine::contribution(Thread& t) { return {t.knowledge, component(t), own(t), {}, 0}; }

Queue& Engine::queue(Cta& cta, uint64_t key, Thread& issuer) {
  Queue*& queue = cta.queue_of[key];
  CtaRecord& record = names_.ctas[cta.number];
  if (!queue) {
    queue = &cta.queues.emplace_back();
    queue->column = record.threads + uint32_t(record.queues.size());
    record.queues.emplace_back();
  }
  record.queues[queue->column - record.threads].issuer = issuer.index;
  return *queue;
}

void Engine::access(const Place& place, uint64_t bytes, const Access& access) {
  if (place.kind == Place::Kind::shared)
    detector_.access(shared_shadow_[place.cta->window], place.offset, bytes, access);
  else if (place.kind == Place::Kind::global)
    detector_.access(*shadow_of_buffer_[place.buffer], place.offset, bytes, access);
}

void Engine::add_guest(Cta& cta, const Stamp& stamp, const char* what) {
  cta.guests[uint64_t(stamp.cta) << 16 | stamp.column] = {stamp, what};
}

// Another CTA's shared memory may be used once something of that CTA is known: it has started.
void Engine::check_started(Thread& thread, const Cta& cta, Op op, int site) {
  if (!racing() || thread.cta == &cta || thread.knowledge.ordered.knows_of(cta.number)) return;
  Finding finding;
  finding.kind = FindingKind::unordered_start;
  finding.what = concat("nothing orders the access after the start of CTA (", cta.position[0], ",", cta.position[1],
                        ",", cta.position[2], "), whose shared memory it is; a cluster barrier at the beginning does");
  finding.second = names_.actor(component(thread), op, false, site);
  names_.compose(finding);
  if (!seen(finding)) add(std::move(finding));
}

}  // namespace gemmsmith::simulator

using namespace gemmsmith::simulator;

namespace {

void announce(int site, const void* address, int bytes, bool write) {
  Engine& e = running();
  const Op op = write ? Op::store : Op::load;
  Place place = e.locate(address);
  if (place.kind == Place::Kind::local) return;
  const uint64_t alignment = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16 ? uint64_t(bytes) : 1;
  if (place.kind == Place::Kind::shared)
    place = e.shared_place(address, uint64_t(bytes), alignment, site, name_of(op));
  else
    place = e.global_place(address, uint64_t(bytes), write, site, name_of(op));
  Thread& thread = e.current();
  Counters& n = e.counters();
  if (place.kind == Place::Kind::global) {
    if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
      e.fail(FindingKind::misaligned, gemmsmith::concat("the address is not a multiple of ", alignment), site,
             name_of(op), e.names().memory({MemoryPlace::Kind::global, 0, place.buffer, place.offset}));
    (write ? n.global_store_bytes : n.global_load_bytes) += bytes;
  } else if (place.cta == thread.cta) {
    (write ? n.shared_store_bytes : n.shared_load_bytes) += bytes;
    if (BankCounter* banks = e.bank_counter()) banks->access(thread, uint32_t(place.offset), uint32_t(bytes), site);
  } else {
    n.dsmem_bytes += bytes;
  }
  if (write) e.changed();
  if (!e.racing()) return;
  const View view = e.view(thread);
  const Stamp stamp = e.stamp(thread, op, write ? Stamp::kWrite : 0, site);
  if (place.cta && place.cta != thread.cta) {
    e.check_started(thread, *place.cta, op, site);
    e.add_guest(*place.cta, stamp, write ? "a store to its shared memory" : "a load from its shared memory");
  }
  e.access(place, uint64_t(bytes), {&view, stamp});
}

}  // namespace

void sim_load(int32_t site, const void* address, int32_t bytes) { announce(site, address, bytes, false); }
void sim_store(int32_t site, void* address, int32_t bytes) { announce(site, address, bytes, true); }

void* sim_shared(int32_t, int32_t offset) { return running().current().cta->shared + offset; }

void* sim_mapa(int32_t site, void* address, int32_t rank) {
  Engine& e = running();
  const Cta* cta = e.cta_of(address);
  if (!cta)
    e.fail(FindingKind::invalid_operand, "the address is not in the shared memory of the cluster", site, "mapa");
  const ptrdiff_t windows = ptrdiff_t(rank) - cta->rank;
  return static_cast<char*>(address) + windows * ptrdiff_t(SharedWindows::kStride);
}

int32_t sim_cta_rank_of(int32_t site, void* address) {
  Engine& e = running();
  const Cta* cta = e.cta_of(address);
  if (!cta)
    e.fail(FindingKind::invalid_operand, "the address is not in the shared memory of the cluster", site, "getctarank");
  return cta->rank;
}
