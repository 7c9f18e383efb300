#include "tuner/host_bench.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// Of operands of a few bytes, copies that fill a cache would be millions, each with its alignment and its arguments.
constexpr int64_t kMaxCopies = 4096;
constexpr int64_t kAlignmentBytes = 64;  // what allocators give to large blocks, so kernels see nothing better here

// An operand in memory: where a set keeps it, and how to point into it.
struct Piece {
  const char* from = nullptr;  // lowest address
  int64_t bytes = 0;
  int64_t origin_bytes = 0;  // of element (0,0) from there
  int64_t at = 0;            // offset in a set
};

struct SetLayout {
  Piece a, b, c, d;
  std::vector<Piece> inputs;
  int64_t bytes = 0;

  SetLayout(const GemmProblem& p, const GemmArguments& args) {
    a = matrix(operand_a(p), p.batch, args.a);
    b = matrix(operand_b(p), p.batch, args.b);
    if (p.reads_c()) c = matrix(operand_c(p), p.batch, args.c);
    d = matrix(operand_d(p), p.batch, args.d);
    for (size_t i = 0; i < p.inputs.size(); ++i)
      inputs.push_back(place(args.inputs[i], elements_of(p.inputs[i], p) * bytes_of(p.inputs[i].type), 0));
  }

  // Copies a set to `to`. D is touched, so that no kernel pays for its pages.
  GemmArguments copy(char* to) const {
    GemmArguments args;
    args.a = copy(a, to);
    args.b = copy(b, to);
    args.c = copy(c, to);
    for (const Piece& input : inputs) args.inputs.push_back(copy(input, to));
    std::memset(to + d.at, 0, size_t(d.bytes));
    args.d = to + d.at + d.origin_bytes;
    return args;
  }

 private:
  Piece matrix(const MatrixOperand& o, int64_t batch, const void* origin) {
    const ElementSpan span = span_of(o, batch);
    if (span.empty()) return place(origin, 0, 0);
    const int64_t element = bytes_of(o.spec->type);
    return place(static_cast<const char*>(origin) + span.low * element, span.elements() * element, -span.low * element);
  }
  Piece place(const void* from, int64_t size, int64_t origin) {
    const Piece piece{static_cast<const char*>(from), size, origin, bytes};
    bytes += (size + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    return piece;
  }
  static const char* copy(const Piece& piece, char* to) {
    if (piece.bytes > 0) std::memcpy(to + piece.at, piece.from, size_t(piece.bytes));
    return to + piece.at + piece.origin_bytes;
  }
};

// Has the system give all pages of new memory, with several threads: one thread alone may take a second a GB in a
// virtual machine.
void touch(char* memory, int64_t bytes, int threads) {
  constexpr int64_t kPageBytes = 4096, kChunkBytes = int64_t(8) << 20;
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t at = next.fetch_add(kChunkBytes); at < bytes; at = next.fetch_add(kChunkBytes))
      for (int64_t i = at; i < std::min(bytes, at + kChunkBytes); i += kPageBytes)
        static_cast<volatile char*>(memory)[i] = 0;
  };
  std::vector<std::jthread> helpers;
  for (int64_t i = 1; i < std::min<int64_t>(threads, bytes / kChunkBytes); ++i) helpers.emplace_back(work);
  work();
}

std::string describe(const RotationPlan& plan, int64_t operand_bytes, int64_t last_level_bytes) {
  const std::string copies = concat(plan.copies, plan.copies == 1 ? " copy, " : " copies, ",
                                    print_bytes(double(plan.copies) * double(operand_bytes)));
  if (last_level_bytes == 0) return concat("operands in ", copies, "; size of the last-level cache not known");
  if (plan.cold) return concat("operands cold: ", copies);
  return concat("operands partly warm: ", copies, ", less than four times the last-level cache of ",
                print_bytes(double(last_level_bytes)),
                plan.copies == kMaxCopies ? " because the problem is tiny" : " because memory is limited");
}

}  // namespace

Result<RotationPlan> plan_rotation(int64_t operand_bytes, int64_t last_level_bytes, int64_t limit_bytes) {
  if (operand_bytes > limit_bytes)
    return Error{"memory",
                 concat("operands of ", print_bytes(double(operand_bytes))),
                 concat("are more than the limit of ", print_bytes(double(limit_bytes))),
                 "raise max_memory_bytes",
                 {}};
  RotationPlan plan;
  if (operand_bytes == 0) return plan;
  const int64_t wanted = std::max<int64_t>(1, (4 * last_level_bytes + operand_bytes - 1) / operand_bytes);
  const int64_t room = limit_bytes / operand_bytes - 1;
  plan.shared = room == 0;
  plan.copies = std::max<int64_t>(1, std::min({wanted, room, kMaxCopies}));
  plan.cold = plan.copies >= wanted;
  return plan;
}

Status HostBench::prepare(const GemmProblem& problem, const DeviceFacts& device, const BenchOptions& options) {
  rotation_.clear();
  expected_.reset();  // it points into the gate's operands
  gate_.reset();
  conditions_.clear();
  problem_ = problem;

  int64_t limit = options.max_memory_bytes;
  if (device.memory_bytes > 0) limit = std::min(limit, device.memory_bytes / 2);
  const int64_t bytes = operand_bytes(problem_);
  GS_TRY(RotationPlan plan, plan_rotation(bytes, device.last_level_bytes, limit));
  if (!options.rotate) plan = {.copies = 1, .shared = true, .cold = false};
  GS_TRY(gate_, Operands::create(problem_, options.seed));
  GS_CHECK(make_rotation(plan, device.threads));
  gate_seed_ = options.seed;
  conditions_ = describe(plan, bytes, device.last_level_bytes);
  return Done{};
}

Status HostBench::make_rotation(const RotationPlan& plan, int threads) {
  next_ = 0;
  shared_ = plan.shared;
  if (shared_) {
    arena_ = {};
    rotation_.push_back(gate_->arguments());
    return Done{};
  }
  const SetLayout set(problem_, gate_->arguments());
  if (arena_.size_bytes() < plan.copies * set.bytes) {
    arena_ = {};  // before the new one, or both would be there at once
    GS_TRY(arena_, AlignedBuffer::allocate(plan.copies * set.bytes, {kAlignmentBytes, 0}));
    touch(arena_.data(), arena_.size_bytes(), threads);
  }
  for (int64_t i = 0; i < plan.copies; ++i) rotation_.push_back(set.copy(arena_.data() + i * set.bytes));
  return Done{};
}

Result<double> HostBench::sample_us(Kernel& kernel, int repeats) {
  GS_ASSERT(!rotation_.empty() && repeats > 0, "prepare() comes first, and a sample has a call");
  const double begin = clock_.seconds();
  for (int i = 0; i < repeats; ++i) {
    GS_CHECK(kernel.run(rotation_[next_]));
    next_ = next_ + 1 == rotation_.size() ? 0 : next_ + 1;
  }
  return (clock_.seconds() - begin) * 1e6 / repeats;
}

// Operands of the gate filled by `seed` and what is right for them.
void HostBench::prepare_gate(uint64_t seed) {
  if (seed != gate_seed_) {
    expected_.reset();
    gate_->fill(seed);
    gate_seed_ = seed;
  }
  if (!expected_) expected_.emplace(problem_, gate_->arguments(), CheckOptions{.seed = seed});
  gate_->poison_output();
}

// Guard bands that were overwritten stay so, and who knows what lies beyond: the next kernel gets new memory.
Status HostBench::renew_gate() {
  expected_.reset();
  gate_.reset();
  GS_TRY(gate_, Operands::create(problem_, gate_seed_));
  if (shared_) rotation_ = {gate_->arguments()};
  return Done{};
}

Result<Accuracy> HostBench::check(Kernel& kernel, uint64_t seed) {
  GS_ASSERT(gate_, "prepare() comes first");
  prepare_gate(seed);
  const void* d = gate_->arguments().d;
  GS_CHECK(kernel.run(gate_->arguments()));
  Accuracy accuracy = expected_->compare(d);
  if (std::optional<std::string> damage = gate_->damage()) {
    accuracy.passed = false;
    accuracy.failure = *std::move(damage);
    GS_CHECK(renew_gate());
  }
  return accuracy;
}

}  // namespace gemmsmith
