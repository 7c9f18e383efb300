#include "targets/simulator/runtime/detector.h"

#include <algorithm>

#include "support/text.h"

namespace gemmsmith::simulator {

namespace {

constexpr uint8_t kWholeCell = 0xf;

template <class Own, class Plane>
bool every_side_knows(const View& view, const Stamp& stamp, Own own, Plane plane) {
  for (int i = 0; i < view.count; ++i) {
    const View::Side& side = view.sides[i];
    const bool is_own = stamp.cta == side.cta && stamp.column >= side.begin && stamp.column < side.end;
    const bool known = is_own && stamp.epoch <= own(side.own[stamp.column - side.begin]);
    if (!known && !plane(*side.knowledge).knows(stamp.component(), stamp.epoch)) return false;
  }
  return true;
}

}  // namespace

bool Detector::ordered(const View& view, const Stamp& stamp) {
  return every_side_knows(
      view, stamp, [](const OwnEpochs& o) { return o.epoch; },
      [](const Knowledge& k) -> const Clock& { return k.ordered; });
}

bool Detector::visible(const View& view, const Stamp& stamp) {
  return every_side_knows(
      view, stamp, [](const OwnEpochs& o) { return o.epoch; },
      [](const Knowledge& k) -> const Clock& { return k.visible; });
}

bool Detector::fenced(const View& view, const Stamp& stamp, bool global) {
  if (global)
    return every_side_knows(
        view, stamp, [](const OwnEpochs& o) { return o.fenced_global; },
        [](const Knowledge& k) -> const Clock& { return k.fenced_global; });
  return every_side_knows(
      view, stamp, [](const OwnEpochs& o) { return o.fenced_shared; },
      [](const Knowledge& k) -> const Clock& { return k.fenced_shared; });
}

void Detector::report(FindingKind kind, std::string what, const std::string& memory, const Stamp& first,
                      const Stamp& second) {
  if (findings_.size() >= size_t(max_findings_)) return;
  if (!reported_.insert({kind, first.site, first.op, second.site, second.op}).second) return;
  Finding finding;
  finding.kind = kind;
  finding.what = std::move(what);
  finding.memory = memory;
  finding.first = names_.actor(first.component(), first.op, first.writes(), first.site);
  finding.second = names_.actor(second.component(), second.op, second.writes(), second.site);
  names_.compose(finding);
  findings_.push_back(std::move(finding));
}

bool Detector::atomics_agree(const Stamp& a, const Stamp& b) const {
  if (!a.atomic() || !b.atomic()) return false;
  if (a.cta == b.cta) return true;
  const MemoryScope needed =
      names_.ctas[a.cta].cluster == names_.ctas[b.cta].cluster ? MemoryScope::cluster : MemoryScope::gpu;
  return a.scope() >= needed && b.scope() >= needed;
}

void Detector::after_write(const Stamp& write, const Access& access, const Shadow& shadow, uint64_t offset) {
  const bool global = shadow.place().kind == MemoryPlace::Kind::global;
  if (write.same_agent(last_known_) && write.epoch <= last_known_.epoch && write.flags == last_known_.flags) return;
  if (atomics_agree(write, access.stamp)) return;
  const bool is_ordered = ordered(*access.view, write);
  const bool is_visible = is_ordered && visible(*access.view, write);
  const bool same_proxy = write.async_proxy() || !access.stamp.async_proxy();
  if (is_visible && (same_proxy || fenced(*access.view, write, global))) {
    last_known_ = write;
    return;
  }
  MemoryPlace place = shadow.place();
  place.offset += offset;
  const FindingKind kind =
      !is_ordered   ? (write.atomic() && access.stamp.atomic() ? FindingKind::scope_too_small : FindingKind::race)
      : !is_visible ? FindingKind::scope_too_small
                    : FindingKind::missing_proxy_fence;
  report(kind, access.stamp.writes() ? "write after write" : "read after write", names_.memory(place), write,
         access.stamp);
}

void Detector::after_read(const Stamp& read, const Access& access, const Shadow& shadow, uint64_t offset) {
  if (atomics_agree(read, access.stamp) || ordered(*access.view, read)) return;
  MemoryPlace place = shadow.place();
  place.offset += offset;
  report(FindingKind::race, "write after read", names_.memory(place), read, access.stamp);
}

void Detector::keep(ShadowNode& node, const Stamp& stamp, uint8_t mask) {
  if (!node.more) {
    if (free_more_.empty()) {
      node.more = uint32_t(more_.size());
      more_.emplace_back();
    } else {
      node.more = free_more_.back();
      free_more_.pop_back();
    }
  }
  more_[node.more].items.push_back({stamp, mask});
  more_[node.more].writes += stamp.writes();
}

void Detector::free_more(ShadowNode& node) {
  if (!node.more) return;
  more_[node.more].items.clear();
  more_[node.more].writes = 0;
  more_[node.more].tidy_at = More::kTidyAt;
  free_more_.push_back(node.more);
  node.more = 0;
}

// The further accesses of a node: judged, and dropped where the new one makes them needless.
void Detector::touch_more(ShadowNode& node, uint8_t mask, const Access& access, const Shadow& shadow, uint64_t offset) {
  More& more = more_[node.more];
  const bool write = access.stamp.writes();
  if (!write && more.writes == 0 && more.items.size() < more.tidy_at) return;
  std::erase_if(more.items, [&](const MaskedStamp& m) {
    if (m.mask & mask) {
      if (m.stamp.writes())
        after_write(m.stamp, access, shadow, offset);
      else if (write)
        after_read(m.stamp, access, shadow, offset);
    }
    if (m.mask & ~mask) return false;
    // A write stands for all that happens before it, a read for earlier reads of its kind.
    if (m.stamp.writes() != write && !write) return false;
    return m.stamp.same_agent(access.stamp) || ordered(*access.view, m.stamp) || (write && !access.stamp.atomic());
  });
  more.writes = uint32_t(std::ranges::count_if(more.items, [](const MaskedStamp& m) { return m.stamp.writes(); }));
  more.tidy_at = std::max(More::kTidyAt, 2 * more.items.size());
  if (more.items.empty()) free_more(node);
}

void Detector::record_write(ShadowNode& node, uint8_t mask, const Access& access) {
  const bool covers = (node.write_mask & ~mask) == 0;
  const bool atomic_pair = node.write.atomic() && access.stamp.atomic() && !node.write.same_agent(access.stamp) &&
                           !ordered(*access.view, node.write);
  if (node.write.present() && (!covers || atomic_pair)) keep(node, node.write, node.write_mask);
  node.write = access.stamp;
  node.write_mask = mask;
  if (node.read.present() && (node.read_mask & ~mask) == 0 && !access.stamp.atomic())
    node.read = {}, node.read_mask = 0;
}

void Detector::record_read(ShadowNode& node, uint8_t mask, const Access& access) {
  const bool covers = (node.read_mask & ~mask) == 0;
  if (node.read.present() && !(covers && (node.read.same_agent(access.stamp) || ordered(*access.view, node.read))))
    keep(node, node.read, node.read_mask);
  node.read = access.stamp;
  node.read_mask = mask;
}

void Detector::touch(ShadowNode& node, uint8_t mask, const Access& access, const Shadow& shadow, uint64_t offset) {
  ++checks_;
  if (node.write_mask & mask) after_write(node.write, access, shadow, offset);
  const bool write = access.stamp.writes();
  if (write && (node.read_mask & mask)) after_read(node.read, access, shadow, offset);
  if (node.more) touch_more(node, mask, access, shadow, offset);
  if (write)
    record_write(node, mask, access);
  else
    record_read(node, mask, access);
}

void Detector::split(Granule& granule) {
  if (free_cells_.empty()) {
    granule.cells = uint32_t(cells_.size());
    cells_.push_back(std::make_unique<Cells>());
  } else {
    granule.cells = free_cells_.back();
    free_cells_.pop_back();
  }
  for (ShadowNode& node : cells_[granule.cells]->nodes) {
    node = granule.node;
    node.more = 0;
    if (granule.node.more)
      for (const MaskedStamp m : std::vector(more_[granule.node.more].items)) keep(node, m.stamp, m.mask);
  }
  free_more(granule.node);
  granule.node = {};
}

// After a write of the whole granule only that write is left in each cell.
void Detector::rejoin(Granule& granule, const Access& access) {
  Cells& cells = *cells_[granule.cells];
  for (const ShadowNode& node : cells.nodes)
    if (node.more || node.read.present() || node.write_mask != kWholeCell || !node.write.same_agent(access.stamp))
      return;
  granule.node = cells.nodes[0];
  free_cells_.push_back(granule.cells);
  granule.cells = 0;
}

// Bytes [first, last) of the granule at `base`.
void Detector::touch_cells(Granule& granule, uint32_t first, uint32_t last, const Access& access, const Shadow& shadow,
                           uint64_t base) {
  if (!granule.cells) split(granule);
  for (uint32_t cell = first / 4; cell * 4 < last; ++cell) {
    const uint32_t begin = std::max(first, cell * 4) - cell * 4, end = std::min(last, cell * 4 + 4) - cell * 4;
    const uint8_t mask = uint8_t(((1u << end) - 1) & ~((1u << begin) - 1));
    touch(cells_[granule.cells]->nodes[cell], mask, access, shadow, base + cell * 4 + begin);
  }
}

void Detector::access(Shadow& shadow, uint64_t offset, uint64_t bytes, const Access& access) {
  constexpr uint64_t kBytes = Shadow::kGranuleBytes;
  last_known_ = {};
  const uint64_t end = offset + bytes;
  for (uint64_t at = offset; at < end;) {
    const uint64_t base = at / kBytes * kBytes, next = std::min(end, base + kBytes);
    Granule& granule = shadow.granule(base / kBytes);
    const bool whole = at == base && next == base + kBytes;
    if (whole && !granule.cells) {
      touch(granule.node, kWholeCell, access, shadow, base);
    } else {
      touch_cells(granule, uint32_t(at - base), uint32_t(next - base), access, shadow, base);
      if (whole && access.stamp.writes()) rejoin(granule, access);
    }
    at = next;
  }
}

void Detector::clear(Shadow& shadow) {
  shadow.for_each([this](Granule& granule) {
    if (granule.cells) {
      for (ShadowNode& node : cells_[granule.cells]->nodes) free_more(node);
      free_cells_.push_back(granule.cells);
    }
    free_more(granule.node);
    granule = {};
  });
}

}  // namespace gemmsmith::simulator
