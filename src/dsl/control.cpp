// Control flow: variables, loops, branches, parallel loops.
//
// A loop records its body into a detached block with an argument for every scalar of every live Var. What was not
// assigned is replaced by its initial value when the loop is closed; only then is the scf.for made, with exactly the
// values it has to carry. Branches merge what either has assigned in the same way.
#include <algorithm>

#include "dsl/recorder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gemmsmith {

using namespace mlir;

VarBase::VarBase(std::vector<Scalar> initial) : values_(std::move(initial)) { recording().vars.push_back(this); }
VarBase::~VarBase() {
  if (has_recording()) std::erase(recording().vars, this);
}

Recording::Values Recording::values() const {
  Values out;
  for (const VarBase* var : vars) out.push_back(var->values_);
  return out;
}

// Vars live and die as a stack does, so those that were alive before have to be in front still.
bool Recording::still_alive(const std::vector<VarBase*>& some) const {
  return some.size() <= vars.size() && std::equal(some.begin(), some.end(), vars.begin());
}

// Loops.

Scalar Recording::open_loop(bool parallel) {
  Block* body = open_block(parallel);
  Scalar index = wrap(Kind::index, 1, body->addArgument(parallel ? i64 : index_type, loc));
  Frame frame{body, vars, values()};
  if (parallel) {
    in_parallel = true;
    if (index_type != i64) index = pure_to<arith::TruncIOp>(Kind::index, 1, Value(body->getArgument(0)));
  } else {
    for (VarBase* var : vars)
      for (Scalar& x : var->values_) x = wrap(x.kind, x.lanes, body->addArgument(type_of(x), loc));
  }
  loops.push_back(std::move(frame));
  return index;
}

bool Recording::loop_can_close(const Frame& frame, const Where& at) {
  if (open.back().block != frame.body)
    fail(at, {"", "the body of this loop", "was left with a loop or branch inside it open", "", {}});
  if (!still_alive(frame.vars)) fail(at, {"", "a Var made before this loop", "was destroyed inside it", "", {}});
  return !error;
}

void Recording::close_loop(Int lo, Int hi, Int step, const Where& at) {
  const Frame frame = std::move(loops.back());
  loops.pop_back();
  if (!loop_can_close(frame, at)) return;
  SmallVector<Value> next;
  SmallVector<Scalar> initial;
  SmallVector<Scalar*> carried;
  llvm::BitVector drop(frame.body->getNumArguments());
  std::vector<std::pair<BlockArgument, Scalar>> unassigned;
  unsigned argument = 1;
  for (size_t v = 0; v < frame.vars.size(); ++v)
    for (size_t i = 0; i < frame.before[v].size(); ++i, ++argument) {
      Scalar& now = frame.vars[v]->values_[i];
      BlockArgument arg = frame.body->getArgument(argument);
      if (now.value == Value(arg).getAsOpaquePointer()) {
        unassigned.emplace_back(arg, frame.before[v][i]);
        now = frame.before[v][i];
        drop.set(argument);
        continue;
      }
      initial.push_back(frame.before[v][i]);
      next.push_back(get(now));
      carried.push_back(&now);
    }
  if (error) return;
  scf::YieldOp::create(b, loc, next);
  close_block();
  // Constants are unique in their function: outside of the body only if that is no function of its own, which no loop
  // is.
  for (auto& [arg, before] : unassigned)
    if (!arg.use_empty()) arg.replaceAllUsesWith(get(before));
  SmallVector<Value> first;
  for (const Scalar& x : initial) first.push_back(get(x));
  Value bounds[3] = {get(lo), get(hi), get(step)};
  if (error) return;
  frame.body->eraseArguments(drop);
  auto loop = scf::ForOp::create(b, loc, bounds[0], bounds[1], bounds[2], first);
  loop.getBody()->erase();
  attach(frame.body, loop.getRegion());
  for (auto [x, result] : llvm::zip(carried, loop.getResults())) *x = wrap(x->kind, x->lanes, result);
}

// The body becomes a function of its own that the run time calls for every index. Values from outside reach it in an
// array on the caller's stack.
void Recording::close_parallel(Int count, const Where& at) {
  const Frame frame = std::move(loops.back());
  loops.pop_back();
  in_parallel = false;
  if (!loop_can_close(frame, at)) return;
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  for (size_t v = 0; v < frame.vars.size(); ++v) frame.vars[v]->values_ = frame.before[v];

  const auto inside = [&](Block* block) {
    while (block && block != frame.body) block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr;
    return block == frame.body;
  };
  llvm::SetVector<Value> captured;
  frame.body->walk([&](Operation* op) {
    for (Value v : op->getOperands())
      if (!inside(v.getParentBlock())) captured.insert(v);
  });
  // Slots of 8 bytes; an element type's alignment is all that is promised.
  std::vector<int32_t> slots;
  int32_t size = 0;
  for (Value v : captured) {
    const auto vector = dyn_cast<VectorType>(v.getType());
    const int64_t bits = vector ? vector.getNumElements() * std::max(vector.getElementTypeBitWidth(), 1u) : 64;
    slots.push_back(size);
    size += int32_t((bits + 63) / 64);
  }

  close_block();
  OpBuilder before_function(function);
  const std::string name = function.getName().str() + ".part" + std::to_string(parts++);
  const auto none = LLVM::LLVMVoidType::get(b.getContext());
  auto part = LLVM::LLVMFuncOp::create(before_function, loc, name, LLVM::LLVMFunctionType::get(none, {pointer, i64}));
  attach(frame.body, part.getBody());
  Value array = frame.body->insertArgument(0u, pointer, loc);

  const unsigned alignment = 8;
  Value words = constant(Kind::i64, 1, std::max(size, 1), 0);
  OpBuilder frame_start(b.getContext());  // of the caller: an alloca inside a loop would grow the stack with every pass
  frame_start.setInsertionPointAfter(words.getDefiningOp());
  Value outer = LLVM::AllocaOp::create(frame_start, loc, pointer, i64, words, alignment);
  OpBuilder entry(b.getContext());
  entry.setInsertionPointToStart(frame.body);
  for (auto [slot, v] : llvm::zip(slots, captured)) {
    const LLVM::GEPArg index[] = {slot};
    LLVM::StoreOp::create(b, loc, v, LLVM::GEPOp::create(b, loc, pointer, i64, outer, index).getResult(), alignment);
    Value from = LLVM::GEPOp::create(entry, loc, pointer, i64, array, index);
    Value inner = LLVM::LoadOp::create(entry, loc, v.getType(), from, alignment);
    Value(v).replaceUsesWithIf(inner, [&](OpOperand& use) { return inside(use.getOwner()->getBlock()); });
  }
  auto run = declare("gs_parallel_for", {pointer, pointer, i64});
  Value address = LLVM::AddressOfOp::create(b, loc, part);
  LLVM::CallOp::create(b, loc, run, ValueRange{address, outer, get(Offset(count))});
  ++stores;
}

void Range::open() {
  open_ = true;
  index_ = Scalar{Kind::index, 1, nullptr, 0, 0};
  Recording& r = recording();
  if (parallel_ && r.in_parallel)
    r.fail(at_,
           {"", "a parallel loop", "stands inside another one, whose parts have the cores already", "range()", {}});
  if (step_.constant() == 0) r.fail(at_, {"", "a loop with a step of 0", "does not end", "a step of 1 or more", {}});
  if (r.error) return;
  Recording::AtLine at(r, at_);
  index_ = r.open_loop(parallel_);
}

void Range::close() {
  open_ = false;
  Recording& r = recording();
  if (r.error) return;
  Recording::AtLine at(r, at_);
  if (parallel_)
    r.close_parallel(hi_, at_);
  else
    r.close_loop(lo_, hi_, step_, at_);
}

Range::~Range() {
  if (open_ && has_recording())
    recording().fail(
        at_, {"", "the body of this loop", "was left by break or return, which a kernel cannot do", "when()", {}});
}

// Branches.

void Recording::branch(const Bool& condition, const std::function<void()>& then, const std::function<void()>& otherwise,
                       bool isolated) {
  const std::vector<VarBase*> alive = vars;
  const Values before = values();
  Values after[2];
  Block* blocks[2];
  const Where at = where;
  const Location at_loc = loc;
  for (int i : {0, 1}) {
    blocks[i] = open_block(false);
    if (isolated) roles.push_back(open.size() - 1);
    if (const auto& body = i ? otherwise : then) body();
    if (!error && open.back().block != blocks[i])
      fail(at, {"", "a branch", "was left with a loop inside it open", "", {}});
    if (!error && !still_alive(alive))
      fail(at, {"", "a Var made before this branch", "was destroyed inside it", "", {}});
    if (isolated) roles.pop_back();
    if (error) return;
    after[i] = isolated ? before : values();
    after[i].resize(alive.size());
    for (size_t v = 0; v < alive.size(); ++v)
      for (size_t j = 0; j < before[v].size(); ++j)
        if (!same(before[v][j], after[i][v][j])) get(after[i][v][j]);  // is it a value that may leave this branch?
    for (size_t v = 0; v < alive.size(); ++v) alive[v]->values_ = before[v];
    if (i == 0) close_block();
  }
  where = at, loc = at_loc;
  // Values of the first branch belong to a block that is closed, so they are taken as they are.
  const auto yielded = [&](int i, const Scalar& x) {
    return x.value ? Value::getFromOpaquePointer(x.value) : constant(x.kind, x.lanes, x.integer, x.real);
  };
  SmallVector<Type> types;
  SmallVector<Value> yields[2];
  SmallVector<Scalar*> merged;
  for (size_t v = 0; v < alive.size(); ++v)
    for (size_t j = 0; j < before[v].size(); ++j) {
      Scalar& x = alive[v]->values_[j];
      if (same(after[0][v][j], after[1][v][j])) {
        x = after[0][v][j];
        continue;
      }
      types.push_back(type_of(x));
      for (int i : {0, 1}) yields[i].push_back(yielded(i, after[i][v][j]));
      merged.push_back(&x);
    }
  close_block();
  Value test = get(condition);
  if (error) return;
  const bool has_else = otherwise || !types.empty();
  auto op = scf::IfOp::create(b, loc, types, test, has_else);
  for (int i : {0, 1}) {
    if (i && !has_else) {
      discard(blocks[1]);
      continue;
    }
    Region& region = i ? op.getElseRegion() : op.getThenRegion();
    region.getBlocks().clear();
    attach(blocks[i], region);
    OpBuilder end = OpBuilder::atBlockEnd(blocks[i]);
    scf::YieldOp::create(end, loc, yields[i]);
  }
  for (auto [x, result] : llvm::zip(merged, op.getResults())) *x = wrap(x->kind, x->lanes, result);
}

void when(BoolArg condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (auto known = condition.v.constant(); known && !op::failed()) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  Recording& r = recording();
  if (r.error) {  // nothing is recorded any more, but the C++ around may depend on what the bodies do
    then();
    if (otherwise) otherwise();
    return;
  }
  Recording::AtLine at(r, condition.at);
  r.branch(condition.v, then, otherwise);
}

}  // namespace gemmsmith
