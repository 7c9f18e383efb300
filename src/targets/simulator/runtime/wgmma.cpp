#include "targets/simulator/runtime/wgmma.h"

#include <algorithm>
#include <bit>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/async.h"
#include "targets/simulator/runtime/collective.h"
#include "targets/simulator/runtime/tensor_core.h"

namespace gemmsmith::simulator {

namespace {

constexpr const char* kWgmma = "wgmma";
constexpr int kRegistersOfA = 4;  // of a thread, for one instruction

// Tokens: what stands in the registers of accumulator `slot` while it is in flight. Of floats a quiet NaN, whose 22 free bits hold slot and
// register; of integers a pattern with the same bits. No slot is 0: that would be the canonical NaN.
constexpr uint32_t kFloatToken = 0x7fc00000u, kIntegerToken = 0x5ac00000u, kTokenBits = 0x3fffffu;
constexpr int kRegisterBits = 10;
uint32_t token(bool is_integer, size_t slot, int reg) {
  return (is_integer ? kIntegerToken : kFloatToken) | uint32_t(slot + 1) << kRegisterBits | uint32_t(reg);
}
// The slot that bits could be the first token of, or none: ~0.
size_t slot_of(bool is_integer, uint32_t bits) {
  if ((bits & ~kTokenBits) != (is_integer ? kIntegerToken : kFloatToken)) return ~size_t(0);
  return size_t((bits & kTokenBits) >> kRegisterBits) - 1;
}

uint32_t bits_of(const void* registers, int reg) {
  uint32_t bits;
  std::memcpy(&bits, static_cast<const char*>(registers) + 4 * reg, 4);
  return bits;
}
void set_bits(void* registers, int reg, uint32_t bits) {
  std::memcpy(static_cast<char*>(registers) + 4 * reg, &bits, 4);
}

int count_tokens(const void* registers, const Accumulator& a, size_t slot) {
  int count = 0;
  for (int r = 0; r < a.registers(); ++r) count += bits_of(registers, r) == token(a.is_integer, slot, r);
  return count;
}

// Where register `reg` of a thread lies in an accumulator's values: D fragments of the PTX ISA.
struct Fragment {
  explicit Fragment(uint32_t thread_of_group)
      : row(int(thread_of_group / 32 * 16 + thread_of_group % 32 / 4)), column(int(thread_of_group % 4 * 2)) {}
  int row, column;
  size_t index(const Accumulator& a, int reg) const {
    const int per_step = a.n / 2, step = reg / per_step, r = reg % per_step;
    const int c = r / 4 * 8 + column + (r & 1), at = row + (r & 2 ? 8 : 0);
    return (size_t(step) * size_t(a.n) + size_t(c)) * kInstructionRows + size_t(at);
  }
};

struct Operands {
  int block;
  void* accumulators;
  const void* a_registers;
  uint64_t descriptor_a, descriptor_b;
  bool scale_d;
};

class WgmmaBlockOperation : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  const WgmmaBlock* block = nullptr;
  const WgmmaPlan* plan = nullptr;
  Warpgroup* group = nullptr;
  Accumulator* accumulator = nullptr;
  const char* shared = nullptr;
  uint32_t number = 0;
  bool scale_d = false;
  std::vector<uint32_t> a_registers;  // [thread][m step][k step][4]

  bool step(Engine& e) override {
    const int k = k_elements(*block), n = block->n;
    static thread_local std::vector<float> a, b;
    a.resize(size_t(k) * kInstructionRows);
    b.resize(size_t(k) * size_t(n));
    decode_b({block->type_b, block->mn_major_b, block->negate_b, plan->b}, shared, n, k, b.data());
    for (int m = 0; m < accumulator->m_steps; ++m) {
      if (block->a_in_registers)
        gather_a(m, k, a.data());
      else
        decode_a({block->type_a, block->mn_major_a, block->negate_a, plan->a[size_t(m)]}, shared, k, a.data());
      float* d = accumulator->values.data() + size_t(m) * size_t(n) * kInstructionRows;
      multiply({a.data(), b.data(), d, n, k, scale_d, is_integer(block->type_a), block->saturate});
    }
    e.counters().wgmma_instructions += accumulator->m_steps * int(block->b_k_steps.size());
    group->queue->order.complete(number);
    const uint32_t first = issuer.index / kWarpgroupThreads * kWarpgroupThreads;
    for (uint32_t t = first; t < first + kWarpgroupThreads; ++t) {
      Thread& thread = issuer.cta->threads[t];
      if (thread.blocked == Blocked::wgmma_group && thread.wanted <= group->queue->order.prefix) e.wake(thread);
    }
    return true;
  }

 private:
  // A fragments of the PTX ISA: four registers, each 4 bytes of one row; the second and fourth are eight rows further.
  void gather_a(int m, int k, float* out) const {
    const int bytes = bytes_of(block->type_a), per_register = 4 / bytes, k_steps = int(block->b_k_steps.size());
    const int m_steps = accumulator->m_steps, step_k = k / k_steps;
    for (int t = 0; t < kWarpgroupThreads; ++t)
      for (int s = 0; s < k_steps; ++s)
        for (int reg = 0; reg < kRegistersOfA; ++reg) {
          const uint32_t bits =
              a_registers[((size_t(t) * size_t(m_steps) + size_t(m)) * size_t(k_steps) + size_t(s)) * kRegistersOfA +
                          size_t(reg)];
          const int row = t / 32 * 16 + t % 32 / 4 + (reg & 1 ? 8 : 0);
          for (int i = 0; i < per_register; ++i) {
            const int at = s * step_k + t % 4 * per_register + i + (reg & 2 ? 4 * per_register : 0);
            float value = element_as_float(block->type_a, &bits, i);
            if (is_integer(block->type_a))
              value = std::bit_cast<float>(int32_t(value));
            else if (block->negate_a)
              value = -value;
            out[at * kInstructionRows + row] = value;
          }
        }
  }
};

// Fills a plan; the text says what is wrong with a descriptor.
std::string make_plan(const Engine& e, const WgmmaBlock& b, const Operands& o, WgmmaPlan& plan) {
  const uint32_t limit = e.launch().shared_bytes;
  std::string wrong = operand_chunks(o.descriptor_b, b.b_k_steps, 0, b.mn_major_b, b.n, limit, plan.b);
  std::vector<uint32_t> all = plan.b;
  for (const int64_t step : b.a_m_steps) {
    if (b.a_in_registers || !wrong.empty()) break;
    auto& chunks = plan.a.emplace_back();
    wrong = operand_chunks(o.descriptor_a, b.a_k_steps, step, b.mn_major_a, kInstructionRows, limit, chunks);
    all.insert(all.end(), chunks.begin(), chunks.end());
  }
  plan.reads = ranges_of(std::move(all));
  return wrong;
}

const WgmmaPlan& plan_of(Engine& e, const Operands& o, int site) {
  const WgmmaBlock& b = e.launch().wgmma_blocks[size_t(o.block)];
  const auto [found, fresh] =
      e.wgmma_plans.try_emplace({o.block, b.a_in_registers ? 0 : o.descriptor_a, o.descriptor_b});
  if (!fresh) return found->second;
  std::string wrong = make_plan(e, b, o, found->second);
  if (!wrong.empty()) e.fail(FindingKind::invalid_operand, std::move(wrong), site, kWgmma);
  return found->second;
}

void check_equal(Engine& e, const Rendezvous& all, int site) {
  const Operands& first = *static_cast<Operands*>(all.threads[0]->operands);
  for (const Thread* t : all.threads) {
    const Operands& o = *static_cast<Operands*>(t->operands);
    const char* what = o.block != first.block                 ? "the instruction"
                       : o.descriptor_a != first.descriptor_a ? "the descriptor of A"
                       : o.descriptor_b != first.descriptor_b ? "the descriptor of B"
                       : o.scale_d != first.scale_d           ? "scale-d"
                                                              : nullptr;
    if (what) {
      std::string text =
          concat(what, " differs from that of ", text_of(e.names().thread(t->cta->number, all.threads[0]->index)));
      e.fail(FindingKind::divergence, std::move(text), site, kWgmma, "", t);
    }
  }
}

// The accumulator whose tokens all threads hold, or a new one.
size_t accumulator_of(Engine& e, Warpgroup& group, const Rendezvous& all, const WgmmaBlock& b, bool& fresh, int site) {
  const bool integer = is_integer(b.type_a);
  const Operands& first = *static_cast<Operands*>(all.threads[0]->operands);
  const size_t slot = slot_of(integer, bits_of(first.accumulators, 0));
  int holders = 0;
  const auto known = [&] {
    return slot < group.accumulators.size() && group.accumulators[slot]->in_use &&
           group.accumulators[slot]->is_integer == integer;
  };
  if (known()) {
    const Accumulator& a = *group.accumulators[slot];
    if (a.n != b.n || a.m_steps != int(b.a_m_steps.size()))
      e.fail(FindingKind::accumulator_in_flight, "the accumulator registers are in flight for a wgmma of another shape",
             site, kWgmma);
    for (const Thread* t : all.threads) {
      const int tokens = count_tokens(static_cast<Operands*>(t->operands)->accumulators, a, slot);
      if (tokens != 0 && tokens != a.registers())
        e.fail(FindingKind::accumulator_in_flight,
               concat(a.registers() - tokens, " of ", a.registers(),
                      " accumulator registers were written while a wgmma was in flight"),
               site, kWgmma, "", t);
      holders += tokens != 0;
    }
    if (holders != 0 && holders != kWarpgroupThreads)
      e.fail(FindingKind::divergence,
             concat("only ", holders, " of 128 threads pass the accumulator that is in flight"), site, kWgmma);
  }
  fresh = holders == 0;
  if (!fresh) return slot;
  size_t free = 0;
  while (free < group.accumulators.size() && group.accumulators[free]->in_use) ++free;
  if (free == group.accumulators.size()) group.accumulators.push_back(std::make_unique<Accumulator>());
  Accumulator& a = *group.accumulators[free];
  a.in_use = true;
  a.is_integer = integer;
  a.n = b.n;
  a.m_steps = int(b.a_m_steps.size());
  a.delivered = 0;
  a.values.resize(size_t(a.m_steps) * size_t(a.n) * kInstructionRows);
  return free;
}

void check_fences(Engine& e, const Rendezvous& all, const WgmmaBlock& b, bool fresh, int site) {
  for (Thread* t : all.threads) {
    const bool accumulators = fresh && !t->wgmma.fenced, operand = b.a_in_registers && !t->wgmma.fenced_since_block;
    t->wgmma.fenced_since_block = false;
    if (!accumulators && !operand) continue;
    Finding finding;
    finding.kind = FindingKind::missing_wgmma_fence;
    finding.what = accumulators
                       ? "accumulator registers may have been accessed since the last wgmma.fence of the thread"
                       : "registers of A were loaded after the last wgmma.fence of the thread";
    finding.second = e.names().actor(e.component(*t), Op::wgmma, false, site);
    e.names().compose(finding);
    if (!e.seen(finding)) e.add(std::move(finding));
  }
}

// What each of the four warps knows, as a whole.
struct WarpgroupView {
  View view;
  Knowledge knowledge[4];
  WarpgroupView(Engine& e, Cta& cta, uint32_t first) {
    view.count = 4;
    for (uint32_t w = 0; w < 4; ++w) {
      const uint32_t begin = first + w * kWarpThreads;
      knowledge[w] = cta.threads[begin].knowledge;
      const Thread* previous = &cta.threads[begin];
      for (uint32_t t = begin + 1; t < begin + kWarpThreads; previous = &cta.threads[t++]) {
        const Knowledge& k = cta.threads[t].knowledge;
        const bool same = k.ordered == previous->knowledge.ordered && k.visible == previous->knowledge.visible &&
                          k.fenced_shared == previous->knowledge.fenced_shared;
        if (!same) knowledge[w] = join(e.clocks(), knowledge[w], k);
      }
      view.sides[w] = {&knowledge[w], &cta.own[begin], cta.number, begin, begin + kWarpThreads};
    }
  }
  WarpgroupView(const WarpgroupView&) = delete;
};

void announce_reads(Engine& e, Thread& thread, const Queue& queue, uint32_t number, const WgmmaPlan& plan, int site) {
  if (!e.racing()) return;
  Cta& cta = *thread.cta;
  const uint32_t first = thread.index / kWarpgroupThreads * kWarpgroupThreads;
  const WarpgroupView known(e, cta, first);
  const Stamp read = e.stamp(cta, queue, number, Op::wgmma, Stamp::kAsyncProxy, site);
  for (const SharedRange& r : plan.reads)
    e.access({Place::Kind::shared, &cta, 0, r.begin}, r.end - r.begin, {&known.view, read});
  e.add_guest(cta, read, "a wgmma that reads its shared memory");
  for (uint32_t t = first; t < first + kWarpgroupThreads; ++t) ++cta.own[t].epoch;
}

// The last of the warpgroup has come: everything that needs all of them.
void issue_block(Engine& e, Rendezvous& all, const Operands& o, int site) {
  Thread& thread = e.current();
  check_equal(e, all, site);
  const WgmmaBlock& b = e.launch().wgmma_blocks[size_t(o.block)];
  const uint32_t index = thread.index / kWarpgroupThreads;
  Warpgroup& group = thread.cta->warpgroups[index];
  Thread& first = thread.cta->threads[index * kWarpgroupThreads];
  if (!group.queue) group.queue = &e.queue(*thread.cta, queue_key(QueueKind::wgmma, index), first);
  bool fresh = false;
  const size_t slot = accumulator_of(e, group, all, b, fresh, site);
  check_fences(e, all, b, fresh, site);
  Accumulator& a = *group.accumulators[slot];
  const WgmmaPlan& plan = plan_of(e, o, site);
  auto operation = std::make_unique<WgmmaBlockOperation>(first, Op::wgmma, site);
  operation->block = &b;
  operation->plan = &plan;
  operation->group = &group;
  operation->accumulator = &a;
  operation->shared = thread.cta->shared;
  operation->scale_d = o.scale_d;
  operation->in_order_with = &group;
  operation->touches = 1u << thread.cta->rank;
  operation->number = a.last_block = ++group.queue->order.issued;
  const size_t a_registers = b.a_in_registers ? b.a_m_steps.size() * b.b_k_steps.size() * kRegistersOfA : 0;
  operation->a_registers.resize(a_registers * kWarpgroupThreads);
  for (const Thread* t : all.threads) {
    const auto& mine = *static_cast<Operands*>(t->operands);
    const uint32_t in_group = t->index % kWarpgroupThreads;
    if (a_registers)
      std::memcpy(operation->a_registers.data() + in_group * a_registers, mine.a_registers, a_registers * 4);
    if (!fresh) continue;
    const Fragment fragment(in_group);
    for (int r = 0; r < a.registers(); ++r) {
      if (o.scale_d) a.values[fragment.index(a, r)] = std::bit_cast<float>(bits_of(mine.accumulators, r));
      set_bits(mine.accumulators, r, token(a.is_integer, slot, r));
    }
  }
  announce_reads(e, thread, *group.queue, operation->number, plan, site);
  e.issue(std::move(operation));
}

// Puts values where tokens of finished accumulators are.
void deliver(Engine& e, Thread& thread, void* registers, int count, int site) {
  Warpgroup& group = thread.cta->warpgroups[thread.index / kWarpgroupThreads];
  for (int at = 0; at < count;) {
    const uint32_t bits = bits_of(registers, at);
    char* here = static_cast<char*>(registers) + 4 * at++;
    const bool integer = slot_of(false, bits) == ~size_t(0);
    const size_t slot = slot_of(integer, bits);
    if (slot >= group.accumulators.size() || !group.accumulators[slot]->in_use || bits != token(integer, slot, 0))
      continue;
    Accumulator& a = *group.accumulators[slot];
    if (a.is_integer != integer || at - 1 + a.registers() > count) continue;
    if (const int tokens = count_tokens(here, a, slot); tokens != a.registers())
      e.fail(FindingKind::accumulator_in_flight,
             concat(a.registers() - tokens, " of ", a.registers(),
                    " accumulator registers were written while a wgmma was in flight"),
             site, "wgmma.wait_group");
    at += a.registers() - 1;
    if (a.last_block > thread.wgmma.waited) continue;  // still in flight for this thread
    const Fragment fragment(thread.index % kWarpgroupThreads);
    for (int r = 0; r < a.registers(); ++r) set_bits(here, r, std::bit_cast<uint32_t>(a.values[fragment.index(a, r)]));
    thread.wgmma.fenced = false;
    if (++a.delivered == kWarpgroupThreads) a.in_use = false;
  }
}

}  // namespace

}  // namespace gemmsmith::simulator

using namespace gemmsmith::simulator;
using gemmsmith::concat;

void sim_wgmma_fence(int32_t) {
  WgmmaThread& w = running().current().wgmma;
  w.fenced = w.fenced_since_block = true;
}

void sim_wgmma_block(int32_t site, int32_t block, void* accumulators, const void* a_registers, int64_t descriptor_a,
                     int64_t descriptor_b, int32_t scale_d) {
  Engine& e = running();
  if (block < 0 || size_t(block) >= e.launch().wgmma_blocks.size())
    e.fail(FindingKind::invalid_operand, concat("the launch has no wgmma block ", block), site, kWgmma);
  Operands mine{block, accumulators, a_registers, uint64_t(descriptor_a), uint64_t(descriptor_b), scale_d != 0};
  e.current().operands = &mine;
  Rendezvous* all = meet_warpgroup(e, kWgmma, site);
  if (!all) return;
  issue_block(e, *all, mine, site);
  end_warpgroup(e, *all);
}

void sim_wgmma_commit_group(int32_t) {
  Thread& thread = running().current();
  const Queue* queue = thread.cta->warpgroups[thread.index / kWarpgroupThreads].queue;
  thread.wgmma.group_ends.push_back(queue ? queue->order.issued : 0);
}

void sim_wgmma_wait_group(int32_t site, int32_t pending, void* accumulators, int32_t count) {
  Engine& e = running();
  Thread& thread = e.current();
  WgmmaThread& w = thread.wgmma;
  if (int(w.group_ends.size()) > pending) {
    thread.wanted = w.group_ends[w.group_ends.size() - 1 - size_t(pending)];
    w.group_ends.erase(w.group_ends.begin(), w.group_ends.end() - 1 - pending);
    const Queue* queue = thread.cta->warpgroups[thread.index / kWarpgroupThreads].queue;
    if (queue && queue->order.prefix < thread.wanted) e.block(Blocked::wgmma_group, site, "wgmma.wait_group");
    w.waited = std::max(w.waited, thread.wanted);
    if (queue && e.racing() && thread.wanted)
      learn(e.clocks(), thread.knowledge, {thread.cta->number, queue->column}, thread.wanted);
  }
  if (accumulators) deliver(e, thread, accumulators, count, site);
}
