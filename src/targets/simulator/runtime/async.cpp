#include "targets/simulator/runtime/async.h"

#include "support/text.h"

namespace gemmsmith::simulator {

namespace {

const InOrder& part(const Groups& groups, bool reads) { return (reads ? groups.reads : groups.writes)->order; }

}  // namespace

void commit_group(Groups& groups) { groups.ends.push_back(groups.writes ? groups.writes->order.issued : 0); }

void complete_group_part(Engine& engine, Thread& thread, Groups& groups, Blocked waiting, bool reads, uint32_t number) {
  (reads ? groups.reads : groups.writes)->order.complete(number);
  if (thread.blocked == waiting && part(groups, groups.wants_reads).prefix >= groups.wanted) engine.wake(thread);
}

void wait_group(Engine& engine, Groups& groups, Blocked why, int pending, bool reads, int site, const char* operation) {
  if (!groups.writes || int(groups.ends.size()) <= pending) return;
  groups.wanted = groups.ends[groups.ends.size() - 1 - size_t(pending)];
  groups.wants_reads = reads;
  groups.ends.erase(groups.ends.begin(), groups.ends.end() - 1 - pending);  // what is before has been waited for
  if (part(groups, reads).prefix < groups.wanted) engine.block(why, site, operation);
  if (!engine.racing() || groups.wanted == 0) return;
  Thread& thread = engine.current();
  if (groups.reads) learn(engine.clocks(), thread.knowledge, {thread.cta->number, groups.reads->column}, groups.wanted);
  if (!reads) learn(engine.clocks(), thread.knowledge, {thread.cta->number, groups.writes->column}, groups.wanted);
}

Completion start(Engine& engine, Thread& issuer, uint64_t key) {
  Completion c;
  c.queue = &engine.queue(*issuer.cta, key, issuer);
  c.number = ++c.queue->order.issued;
  if (engine.racing()) {
    c.contribution = engine.contribution(issuer);
    engine.tick(issuer);
  }
  return c;
}

Destinations destinations(Engine& e, const Place& to, const Place& barrier, int multicast, int site,
                          std::string_view operation) {
  const Cluster& cluster = *e.current().cta->cluster;
  if (multicast < 0) {
    if (barrier.cta != to.cta)
      e.fail(FindingKind::invalid_operand,
             concat("the mbarrier is in CTA ", barrier.cta->rank, " of the cluster, the destination in ", to.cta->rank),
             site, operation);
    return {1u << to.cta->rank};
  }
  if (multicast == 0 || uint32_t(multicast) >> cluster.ctas.size() != 0)
    e.fail(FindingKind::invalid_operand,
           concat("the multicast mask ", hex(uint32_t(multicast)), " names no CTA, or one beyond the cluster's ",
                  cluster.ctas.size()),
           site, operation);
  return {uint32_t(multicast)};
}

void announce_copy(Engine& e, Thread& thread, const Place& to, uint64_t bytes, const Place& barrier,
                   const Destinations& where, const View& view, const Stamp& write) {
  for (const auto& cta : thread.cta->cluster->ctas) {
    if (!(where.ranks >> cta->rank & 1)) continue;
    if (cta->exited())
      e.fail(FindingKind::unordered_exit, concat("CTA ", cta->rank, " of the cluster, a destination, has ended"),
             write.site, name_of(write.op));
    e.check_started(thread, *cta, write.op, write.site);
    check_mbarrier_use(e, {Place::Kind::shared, cta.get(), 0, barrier.offset}, view, write, true);
    e.access({Place::Kind::shared, cta.get(), 0, to.offset}, bytes, {&view, write});
    e.add_guest(*cta, write, "an operation that writes its shared memory");
  }
}

}  // namespace gemmsmith::simulator
