// Names for reports: sites, threads, memory. Everything that turns numbers of the engine into text.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "targets/simulator/runtime/clock.h"
#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

// The operations that appear in reports.
enum class Op : uint8_t {
  load,
  store,
  load_ordered,
  store_ordered,
  atomic,
  ldmatrix,
  stmatrix,
  tma_load,
  tma_store,
  tma_reduce,
  bulk_load,
  bulk_store,
  bulk_copy,
  bulk_reduce,
  bulk_reduce_to_cluster,
  cp_async,
  st_async,
  red_async,
  wgmma,
  mbarrier_init,
  mbarrier_inval,
  mbarrier_arrive,
  mbarrier_wait,
  other,
};
std::string_view name_of(Op);

// A queue of asynchronous operations, which has a column in the clocks of its CTA.
struct QueueRecord {
  uint32_t issuer = 0;  // the thread that issued last
};
// What is remembered of a CTA, also after its exit.
struct CtaRecord {
  int launch = 0;
  int position[3] = {0, 0, 0};
  uint32_t cluster = 0;  // numbered over all launches
  uint32_t threads = 0;
  std::vector<QueueRecord> queues;  // columns from `threads` on
};

// A place in memory that has shadow.
struct MemoryPlace {
  enum class Kind : uint8_t { shared, global } kind = Kind::shared;
  uint32_t cta = 0;  // the owner of shared memory, over all launches
  uint32_t buffer = 0;
  uint64_t offset = 0;
};

class Names {
 public:
  // Buffers and regions are those of the last launch added, sites those of the launch that they are from.
  void add_launch(const Launch& launch) {
    launch_ = &launch;
    launches_.push_back(&launch);
  }
  int launch_number() const { return int(launches_.size()) - 1; }
  std::vector<CtaRecord> ctas;

  std::string site(int site) const { return this->site(site, launch_number()); }
  std::string site(int site, int launch) const;  // "ring.fill at gemm.cpp:41"
  std::string region(uint32_t offset) const;     // "full[1]", "A stage 2 + 0x80", "shared + 0x8080" if it has no name
  std::string memory(const MemoryPlace& place) const;
  ThreadName thread(uint32_t cta, uint32_t thread) const;
  // The thread or queue of a component.
  Actor actor(Component component, Op op, bool writes, int site) const;
  // Fills finding.text from the other fields.
  void compose(Finding& finding) const;

 private:
  const Launch* launch_ = nullptr;
  std::vector<const Launch*> launches_;
};

std::string text_of(const ThreadName& thread);  // "CTA (0,0,0) thread 37 (warp 1, lane 5)"
std::string hex(uint64_t value);                // "0x80"

}  // namespace gemmsmith::simulator
