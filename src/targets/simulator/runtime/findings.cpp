#include "targets/simulator/runtime/findings.h"

#include <algorithm>
#include <charconv>

#include "support/text.h"
#include "targets/simulator/runtime/names.h"

namespace gemmsmith::simulator {

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::livelock:
      return "livelock";
    case FindingKind::race:
      return "race";
    case FindingKind::missing_proxy_fence:
      return "missing fence.proxy.async";
    case FindingKind::scope_too_small:
      return "scope too small";
    case FindingKind::use_before_init:
      return "mbarrier used before its init";
    case FindingKind::missing_init_fence:
      return "missing fence.mbarrier_init";
    case FindingKind::unordered_start:
      return "CTA may not have started";
    case FindingKind::unordered_exit:
      return "CTA exits too early";
    case FindingKind::out_of_bounds:
      return "out of bounds";
    case FindingKind::read_only:
      return "write to read-only memory";
    case FindingKind::misaligned:
      return "misaligned";
    case FindingKind::barrier_misuse:
      return "barrier misuse";
    case FindingKind::divergence:
      return "divergence";
    case FindingKind::missing_wgmma_fence:
      return "missing wgmma.fence";
    case FindingKind::accumulator_in_flight:
      return "accumulator in flight";
    case FindingKind::invalid_operand:
      return "invalid operand";
    case FindingKind::stack_overflow:
      return "stack overflow";
    case FindingKind::trap:
      return "trap";
  }
  return "";
}

std::string_view name_of(Op op) {
  static constexpr std::string_view kNames[] = {"ld",
                                                "st",
                                                "ld (ordered)",
                                                "st (ordered)",
                                                "atom",
                                                "ldmatrix",
                                                "stmatrix",
                                                "TMA load",
                                                "TMA store",
                                                "TMA reduce",
                                                "bulk load",
                                                "bulk store",
                                                "bulk copy",
                                                "bulk reduce",
                                                "bulk reduce to cluster",
                                                "cp.async",
                                                "st.async",
                                                "red.async",
                                                "wgmma",
                                                "mbarrier.init",
                                                "mbarrier.inval",
                                                "mbarrier.arrive",
                                                "mbarrier wait",
                                                "access"};
  return kNames[size_t(op)];
}

std::string text_of(const Site& site) {
  if (site.file.empty()) return site.label;
  return concat(site.label, site.label.empty() ? "" : " at ", site.file, ":", site.line);
}

std::string hex(uint64_t value) {
  char digits[20];
  return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

std::string text_of(const ThreadName& t) {
  std::string text = concat("CTA (", t.cta[0], ",", t.cta[1], ",", t.cta[2], ") thread ", t.thread, " (warp ",
                            t.thread / 32, ", lane ", t.thread % 32, ")");
  return t.launch == 0 ? text : concat("launch ", t.launch, " ", text);
}

std::string Names::site(int site, int launch) const {
  if (site < 0) return "the end of the kernel";
  const auto sites = launches_[launch]->sites;
  return size_t(site) < sites.size() ? text_of(sites[site]) : concat("site ", site);
}

std::string Names::region(uint32_t offset) const {
  for (const NamedRegion& region : launch_->regions)
    if (offset >= region.offset && offset < region.offset + region.bytes)
      return offset == region.offset ? region.name : concat(region.name, " + ", hex(offset - region.offset));
  return "shared + " + hex(offset);
}

std::string Names::memory(const MemoryPlace& place) const {
  if (place.kind == MemoryPlace::Kind::global) {
    const GlobalBuffer& buffer = launch_->buffers[place.buffer];
    return concat(buffer.name, " + ", hex(place.offset), " (global memory)");
  }
  const CtaRecord& cta = ctas[place.cta];
  return concat(region(uint32_t(place.offset)), " (shared + ", hex(place.offset), " of CTA (", cta.position[0], ",",
                cta.position[1], ",", cta.position[2], "))");
}

ThreadName Names::thread(uint32_t cta, uint32_t thread) const {
  const CtaRecord& record = ctas[cta];
  return {record.launch, {record.position[0], record.position[1], record.position[2]}, int(thread)};
}

Actor Names::actor(Component component, Op op, bool writes, int site) const {
  const CtaRecord& cta = ctas[component.cta];
  const bool queue = component.column >= cta.threads;
  const uint32_t thread_index = queue ? cta.queues[component.column - cta.threads].issuer : component.column;
  return {thread(component.cta, thread_index), std::string(name_of(op)), queue, writes, site};
}

namespace {

std::string actor_line(const Names& names, const Actor& actor, std::string_view role) {
  return concat("\n  ", role, actor.operation, " in ", names.site(actor.site, actor.thread.launch), ", ",
                actor.asynchronous ? "issued by " : "by ", text_of(actor.thread));
}

void add_waiting(const Names& names, const Waiting& w, std::string& text) {
  text += concat("\n  ", text_of(w.first));
  if (w.count > 1) text += concat(" and ", w.count - 1, " more");
  text += concat(": ", w.operation, " in ", names.site(w.site));
  if (!w.barrier.empty()) text += concat(", waits for ", w.barrier);
  if (!w.state.empty()) text += concat(", ", w.state);
  for (const BarrierEvent& e : w.events)
    text += concat("\n    earlier: ", e.what, " in ", names.site(e.who.site), ", ", text_of(e.who.thread), " -> phase ",
                   e.phase, ", ", e.pending, " pending, tx-count ", e.tx_count);
}

std::string_view explanation(FindingKind kind) {
  switch (kind) {
    case FindingKind::race:
      return "nothing orders the first before the second";
    case FindingKind::missing_proxy_fence:
      return "they are ordered, but no fence.proxy.async lies between: the async proxy may not see the first";
    case FindingKind::scope_too_small:
      return "they are ordered by a release or acquire whose scope does not reach from one thread to the other";
    default:
      return "";
  }
}

}  // namespace

void Names::compose(Finding& f) const {
  f.text = std::string(name_of(f.kind));
  if (!f.what.empty()) f.text += concat(": ", f.what);
  if (!f.memory.empty()) f.text += concat(f.what.empty() ? ": " : ", ", f.memory);
  if (f.first) f.text += actor_line(*this, *f.first, f.first->writes ? "first, writes: " : "first, reads: ");
  if (f.second)
    f.text += actor_line(*this, *f.second,
                         !f.first           ? "in "
                         : f.second->writes ? "second, writes: "
                                            : "second, reads: ");
  for (const Waiting& w : f.waiting) add_waiting(*this, w, f.text);
  if (f.first && f.second && !explanation(f.kind).empty()) f.text += concat("\n  ", explanation(f.kind));
}

}  // namespace gemmsmith::simulator
