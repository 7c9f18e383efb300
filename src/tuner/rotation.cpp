#include "tuner/rotation.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

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

}  // namespace

Status Rotation::prepare(const GemmProblem& problem, const GemmArguments& arguments, int64_t copies, bool shared,
                         int threads) {
  arguments_.clear();
  next_ = 0;
  if (shared) {
    arena_ = {};
    arguments_.push_back(arguments);
    return Done{};
  }
  const SetLayout set(problem, arguments);
  while (arena_.size_bytes() < copies * set.bytes) {
    arena_ = {};  // before the new one, or both would be there at once
    auto memory = AlignedBuffer::allocate(copies * set.bytes, {kAlignmentBytes, 0});
    if (memory.ok()) {
      arena_ = *std::move(memory);
      touch(arena_.data(), arena_.size_bytes(), threads);
    } else if (copies == 1) {
      return std::move(memory).error().note("for a copy of the operands; a lower --max-memory does without");
    } else {
      copies /= 2;
    }
  }
  for (int64_t i = 0; i < copies; ++i) arguments_.push_back(set.copy(arena_.data() + i * set.bytes));
  return Done{};
}

Result<double> Rotation::sample_us(const Clock& clock, Kernel& kernel, int repeats) {
  GS_ASSERT(ready() && repeats > 0, "prepare() comes first, and a sample has a call");
  const double begin = clock.seconds();
  for (int i = 0; i < repeats; ++i) {
    GS_CHECK(kernel.run(arguments_[next_]));
    next_ = next_ + 1 == arguments_.size() ? 0 : next_ + 1;
  }
  return (clock.seconds() - begin) * 1e6 / repeats;
}

}  // namespace gemmsmith
