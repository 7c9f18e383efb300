// What asynchronous copies share: swizzles, groups, the knowledge that their completion carries.
#pragma once
#include <cstring>

#include "targets/simulator/runtime/mbarrier.h"

namespace gemmsmith::simulator {

// TMA and wgmma permute 16-byte chunks by xor of address bits: 4 to 6 with 7 to 9 at 128 bytes, and fewer at 64 and 32.
inline uint64_t swizzled(uint64_t offset, int bytes) {
  const uint64_t mask = bytes == 128 ? 0x70 : bytes == 64 ? 0x30 : bytes == 32 ? 0x10 : 0;
  return offset ^ (offset >> 3 & mask);
}

// Keys of queues; the low bits say of whom.
enum class QueueKind : uint64_t { mbarrier = 1, bulk_reads, bulk_writes, cp_async, wgmma, st_async };
inline uint64_t queue_key(QueueKind kind, uint64_t of) { return uint64_t(kind) << 56 | of; }
// Loads that complete on one mbarrier, in one set of CTAs: they are ordered by its phases. Another set is another queue,
// because only the CTAs of the set hear of a completion.
inline uint64_t queue_key(const Place& barrier, uint32_t ranks) {
  return queue_key(QueueKind::mbarrier,
                   uint64_t(ranks & 0xffff) << 40 | uint64_t(barrier.cta->window) << 24 | barrier.offset);
}

// Marks operation `number` of a group queue complete and wakes its thread if that was what it waits for.
void complete_group_part(Engine& engine, Thread& thread, Groups& groups, Blocked waiting, bool reads, uint32_t number);
// Waits until all but the last `pending` groups are complete, in reads or wholly.
void wait_group(Engine& engine, Groups& groups, Blocked why, int pending, bool reads, int site, const char* operation);
void commit_group(Groups& groups);

// An operation of a queue that completes on mbarriers.
struct Completion {
  Queue* queue = nullptr;
  uint32_t number = 0;
  Contribution contribution;  // of the issuing thread
  // As operation `number` is complete: what its mbarrier is told.
  Contribution& done(const Cta& cta) {
    queue->order.complete(number);
    contribution.queue = {cta.number, queue->column};
    contribution.queue_epoch = queue->order.prefix;
    return contribution;
  }
};
Completion start(Engine& engine, Thread& issuer, uint64_t key);

// Where a copy that completes on mbarriers goes: CTAs of the cluster, by rank.
struct Destinations {
  uint32_t ranks = 0;
};
Destinations destinations(Engine& engine, const Place& to, const Place& barrier, int multicast, int site,
                          std::string_view operation);
// Tells the detector of the write to each destination and of the use of each mbarrier.
void announce_copy(Engine& engine, Thread& thread, const Place& to, uint64_t bytes, const Place& barrier,
                   const Destinations& where, const View& view, const Stamp& write);
// Numbers a store or reduction of a bulk group and tells the detector of the read of its source.
uint32_t begin_bulk_write(Engine& engine, Thread& thread, const Place& source, uint64_t bytes, Op op, int site);

}  // namespace gemmsmith::simulator
