#include "dsl/accumulator.h"

#include "dsl/hopper.h"

namespace gemmsmith {
namespace {

constexpr int kInstructionRows = 64;  // of every wgmma

// The rows of one consumer, and the steps from consumer to consumer.
std::optional<Divided<int64_t>> share_of_rows(const TmaInput& a, int parts, const Where& at) {
  if (a.rows() % (kInstructionRows * parts) != 0) {
    const int unit = kInstructionRows * parts;
    op::fail(at, "a tile of " + std::to_string(a.rows()) + " rows",
             "is not a multiple of " + std::to_string(unit) + ", the 64 rows of one wgmma in each of " +
                 std::to_string(parts) + " consumers",
             "near it: " + (a.rows() > unit ? std::to_string(a.rows() / unit * unit) + ", " : "") +
                 std::to_string((a.rows() / unit + 1) * unit));
    return {};
  }
  auto divided = divide(a.layout().modes[0], a.rows() / parts);
  if (divided.ok()) return *divided;
  op::fail(at, std::move(divided).error());
  return {};
}

std::vector<Scalar> registers_of(const TmaInput& a, const TmaInput& b, int parts) {
  const int instructions = std::max(a.rows() / parts / kInstructionRows, 1);
  return op::undefined(op::accumulator_of(a.element()), instructions * (b.rows() / 2));
}

}  // namespace

Accumulator::Accumulator(const Consumer& self, Ring& ring, const TmaInput& a, const TmaInput& b, Where at)
    : ring_(ring),
      a_(&a),
      b_(&b),
      columns_(b.rows()),
      sums_(registers_of(a, b, self.parts)),
      made_in_(op::current_block()),
      reading_(kNone) {
  const Scope scope("accumulator", at);
  usable_ = prepare(self, at);
}

bool Accumulator::prepare(const Consumer& self, const Where& at) {
  const TmaInput &a = *a_, &b = *b_;
  const auto refuse = [&](Error error, const char* operand) {
    op::fail(at, std::move(error).note(operand));
    return false;
  };
  const auto mine = share_of_rows(a, self.parts, at);
  if (!mine) return false;
  Layout rows = a.layout();
  rows.modes = Mode{mine->tile, a.layout().modes[1]};
  auto layout_a = wgmma_operand(rows, kInstructionRows);
  auto layout_b = wgmma_operand(b.layout(), b.rows());
  if (!layout_a.ok()) return refuse(std::move(layout_a).error(), "as operand A");
  if (!layout_b.ok()) return refuse(std::move(layout_b).error(), "as operand B");
  if (b.rows() % 8 != 0 || b.rows() > 256)
    return refuse({"",
                   "a tile of " + std::to_string(b.rows()) + " columns",
                   "is not the n of a wgmma",
                   "a multiple of 8 up to 256",
                   {}},
                  "as operand B");
  const auto fp8 = [](Kind kind) { return kind == Kind::e4m3 || kind == Kind::e5m2; };
  if (a.element() != b.element() && !(fp8(a.element()) && fp8(b.element())))
    return refuse({"",
                   "operands of " + print(a.element()) + " and " + print(b.element()),
                   "are not multiplied by a wgmma",
                   "equal types, or two of 8-bit floats",
                   {}},
                  "in an accumulator");
  if (a.element() == Kind::i8 && b.rows() > 24 && b.rows() % 16 != 0)
    return refuse({"",
                   "a tile of " + std::to_string(b.rows()) + " columns",
                   "is not the n of a wgmma of i8",
                   "8, 16, 24, or a multiple of 16 up to 256",
                   {}},
                  "as operand B");
  if (a.columns() != b.columns())
    return refuse({"",
                   "tiles of " + std::to_string(a.columns()) + " and " + std::to_string(b.columns()) + " along K",
                   "do not multiply",
                   {},
                   {}},
                  "in an accumulator");
  layout_a_ = *layout_a, layout_b_ = *layout_b;
  // Of each stage: every consumer, or the one whose turn it is. Each gives it back to every CTA that filled it.
  ring_.readers_ = ring_.alternating_ > 1 ? 1 : self.count;
  op::hoist([&] {
    const BasicMode<Int> steps =
        transform(mine->tiles, [](const Leaf& l) { return BasicLeaf<Int>{l.extent, l.stride}; });
    const Scalar from = op::advance(op::shared_pointer(ring_.buffers_[ring_.slot_of(a, at)]), offset(steps, self.part));
    first_a_ = op::descriptor(op::as_int(from), layout_a_.descriptor);
    first_b_ = op::descriptor(ring_.buffers_[ring_.slot_of(b, at)], layout_b_.descriptor);
    releases_.emplace(self.thread < ring_.arrivals_);  // one thread for each CTA that has to hear of it
    if (ring_.arrivals_ > 1) remote_empty_ = op::map_to_rank(ring_.empty(0), select(*releases_, self.thread, 0));
  });
  return true;
}

void Accumulator::release(const Int& stage) const {
  when(*releases_, [&] {
    if (remote_empty_)
      op::mbarrier_arrive_remote(op::advance(*remote_empty_, stage << 3), MemoryScope::cta);
    else
      op::mbarrier_arrive(ring_.empty(stage));
  });
}

void Accumulator::mma(const Ring::Operand& a, const Ring::Operand& b, Where at) {
  const Scope scope("mma", at);
  if (waited_)
    return op::fail(at, "mma after wait()", "has no accumulator: it has become a Fragment",
                    "a new one for the next tile");
  if (a.input != a_ || b.input != b_)
    return op::fail(at, "mma of \"" + a.input->name() + "\" and \"" + b.input->name() + "\"",
                    "is not of the inputs, in order, that the accumulator was made for",
                    "\"" + a_->name() + "\" and \"" + b_->name() + "\"");
  if (!usable_) return;
  if (!ring_.unread_ || ring_.taken_in_ != op::current_block())
    return op::fail(at, "mma of a stage",
                    ring_.unread_ ? "in another loop or branch than takes it would give it back too often, or never"
                                  : "that was multiplied before would give it back twice",
                    "one mma for each stage, next to ring.take()");
  ring_.unread_.reset();
  const Bool accumulate = reading_ != kNone;
  const auto at_stage = [](const op::Descriptor& first, const Ring::Operand& x) {
    return op::advance(first, x.stage, x.input->tile_bytes());
  };
  sums_.values() = op::wgmma_block(sums_.values(), at_stage(*first_a_, a), {}, at_stage(*first_b_, b), accumulate,
                                   columns_, {a_->element(), b_->element()}, layout_a_, layout_b_);
  op::wgmma_wait(1);  // the group before has read its stage
  const Int before = reading_;
  when(accumulate, [&] { release(before); });
  reading_ = a.stage;
}

Fragment Accumulator::wait(Where at) && {
  const Scope scope("wait", at);
  if (waited_) op::fail(at, "wait() twice on one accumulator", "has nothing left to wait for");
  if (made_in_ != op::current_block())
    op::fail(at, "wait() in another loop or branch than the accumulator was made in",
             "would go on with the sums of the tile before, or run without them", "an accumulator for each tile");
  waited_ = true;
  Fragment f{sums_.values(), int(layout_a_.mn_steps.size()), columns_, op::accumulator_of(a_->element())};
  if (!usable_ || op::failed()) return f;
  f.values = op::wgmma_wait_all(sums_.values());
  release(reading_);  // there is one: every tile has a k-block, of zeros if K is 0
  return f;
}

}  // namespace gemmsmith
