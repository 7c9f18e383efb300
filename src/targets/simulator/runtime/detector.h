// The happens-before race detector: shadow memory and the rules of what must be known before an access.
//
// Shadow memory has one granule per 128 bytes, which remembers the last write and the readers since. A granule that was accessed in part
// is split into cells of 4 bytes, with masks of the bytes; a whole write that all earlier accesses happen before joins it again. TMA and
// wgmma touch whole granules, so a stage of 16 KiB costs 128 looks instead of 4,096.
//
// Asynchronous operations are recorded when they are issued, with the component of their queue, and judged by what the issuing thread (for
// wgmma: each of the four warps) knows then. Who comes to know the queue's epoch, through an mbarrier or a wait, is ordered after it.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "targets/simulator/runtime/clock.h"
#include "targets/simulator/runtime/entries.h"
#include "targets/simulator/runtime/names.h"

namespace gemmsmith::simulator {

// Own epochs of a thread: those of its accesses from now on, and up to which they are fenced from the async proxy.
struct OwnEpochs {
  uint32_t epoch = 1;
  uint32_t fenced_shared = 0, fenced_global = 0;
};

// An access as shadow memory keeps it.
struct Stamp {
  enum Flags : uint8_t { kWrite = 1, kAtomic = 2, kAsyncProxy = 4, kScopeShift = 4 };
  uint32_t cta = ~0u;  // ~0: none
  uint32_t epoch = 0;
  int32_t site = -1;
  uint16_t column = 0;
  Op op = Op::other;
  uint8_t flags = 0;

  bool present() const { return cta != ~0u; }
  bool writes() const { return flags & kWrite; }
  bool atomic() const { return flags & kAtomic; }
  bool async_proxy() const { return flags & kAsyncProxy; }
  MemoryScope scope() const { return MemoryScope(flags >> kScopeShift); }
  Component component() const { return {cta, column}; }
  bool same_agent(const Stamp& other) const { return cta == other.cta && column == other.column; }
};

// What those who make an access know: one side, or four for wgmma, each of which must know.
struct View {
  struct Side {
    const Knowledge* knowledge = nullptr;
    const OwnEpochs* own = nullptr;  // of the threads [begin, end) of the CTA, whose accesses this side knows
    uint32_t cta = 0, begin = 0, end = 0;
  };
  Side sides[4];
  int count = 1;
};

struct Access {
  const View* view = nullptr;
  Stamp stamp;
};

struct MaskedStamp {
  Stamp stamp;
  uint8_t mask = 0;
};
struct ShadowNode {
  Stamp write, read;
  uint32_t more = 0;  // further accesses: an index, 0: none
  uint8_t write_mask = 0, read_mask = 0;
};
struct Granule {
  ShadowNode node;
  uint32_t cells = 0;  // an index of 32 cells instead of `node`; 0: none
};

// Shadow of one range of memory, made when touched.
class Shadow {
 public:
  static constexpr uint64_t kGranuleBytes = 128, kPageGranules = 512;
  explicit Shadow(MemoryPlace place) : place_(place) {}
  Granule& granule(uint64_t index) {
    const uint64_t page = index / kPageGranules;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Granule[]>(kPageGranules);
    return pages_[page][index % kPageGranules];
  }
  const MemoryPlace& place() const { return place_; }
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& page : pages_)
      if (page)
        for (uint64_t i = 0; i < kPageGranules; ++i) visit(page[i]);
  }
  void set_place(MemoryPlace place) { place_ = place; }

 private:
  MemoryPlace place_;
  std::vector<std::unique_ptr<Granule[]>> pages_;
};

class Detector {
 public:
  Detector(Names& names, std::vector<Finding>& findings, int max_findings)
      : names_(names), findings_(findings), max_findings_(max_findings) {}

  // An access to `bytes` at `offset` of the shadow's memory.
  void access(Shadow& shadow, uint64_t offset, uint64_t bytes, const Access& access);
  // Forgets all accesses: the memory is given to another CTA.
  void clear(Shadow& shadow);

  // Whether every side knows of the access, in the plane of its kind.
  static bool ordered(const View& view, const Stamp& stamp);
  static bool visible(const View& view, const Stamp& stamp);
  static bool fenced(const View& view, const Stamp& stamp, bool global);

  // Adds a finding once per pair of program points.
  void report(FindingKind kind, std::string what, const std::string& memory, const Stamp& first, const Stamp& second);
  int64_t checks() const { return checks_; }

 private:
  struct Cells {
    ShadowNode nodes[32];
  };
  // Further accesses of a node. Readers that stand for each other are dropped when the list has doubled, not at each read.
  struct More {
    std::vector<MaskedStamp> items;
    uint32_t writes = 0;
    size_t tidy_at = kTidyAt;
    static constexpr size_t kTidyAt = 8;
  };
  void touch(ShadowNode& node, uint8_t mask, const Access& access, const Shadow& shadow, uint64_t offset);
  void touch_cells(Granule& granule, uint32_t first, uint32_t last, const Access& access, const Shadow& shadow,
                   uint64_t base);
  void after_write(const Stamp& write, const Access& access, const Shadow& shadow, uint64_t offset);
  void after_read(const Stamp& read, const Access& access, const Shadow& shadow, uint64_t offset);
  void touch_more(ShadowNode& node, uint8_t mask, const Access& access, const Shadow& shadow, uint64_t offset);
  void record_write(ShadowNode& node, uint8_t mask, const Access& access);
  void record_read(ShadowNode& node, uint8_t mask, const Access& access);
  bool atomics_agree(const Stamp& a, const Stamp& b) const;
  void keep(ShadowNode& node, const Stamp& stamp, uint8_t mask);
  void free_more(ShadowNode& node);
  void split(Granule& granule);
  void rejoin(Granule& granule, const Access& access);

  Names& names_;
  std::vector<Finding>& findings_;
  int max_findings_;
  int64_t checks_ = 0;
  Stamp last_known_;  // of the access being checked: a write that its view was found to know
  std::vector<std::unique_ptr<Cells>> cells_{1};
  std::vector<uint32_t> free_cells_;
  std::vector<More> more_{1};
  std::vector<uint32_t> free_more_;
  std::set<std::tuple<FindingKind, int, Op, int, Op>> reported_;
};

}  // namespace gemmsmith::simulator
