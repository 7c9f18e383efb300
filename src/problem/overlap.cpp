#include "problem/overlap.h"

#include <algorithm>
#include <utility>

#include "problem/spec.h"

namespace gemmsmith {
namespace {

bool is_empty(const GemmProblem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

const void* pointer(const GemmArguments& args, size_t argument) {
  const void* matrices[] = {args.a, args.b, args.c};
  if (argument < 3) return matrices[argument];
  return argument - 3 < args.inputs.size() ? args.inputs[argument - 3] : nullptr;
}

}  // namespace

OverlapCheck::OverlapCheck(const GemmProblem& p) : batch_(p.batch) {
  if (is_empty(p)) return;
  d_ = span("d", p.d, p.m, p.n, 0);
  if (p.alpha != 0 && p.k > 0) {
    add("a", p.a, p.m, p.k, 0);
    add("b", p.b, p.k, p.n, 1);
  }
  if (p.reads_c()) add("c", p.c, p.m, p.n, 2);
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const InputSpec& input = p.inputs[i];
    // As one row of all its elements, for any member of the batch.
    add(input.name, {input.type, 0, 1, 0}, 1, elements_of(input, p), 3 + i);
  }
}

OverlapCheck::Operand OverlapCheck::span(std::string name, const MatrixSpec& spec, int64_t rows, int64_t columns,
                                         size_t argument) const {
  Operand operand{std::move(name), spec, rows, columns, 0, 0, argument};
  const ElementSpan elements = span_of({operand.name[0], &spec, rows, columns}, batch_);
  if (elements.empty()) return operand;
  operand.low = elements.low * bytes_of(spec.type);
  operand.high = (elements.high + 1) * bytes_of(spec.type);
  return operand;
}

void OverlapCheck::add(std::string name, const MatrixSpec& spec, int64_t rows, int64_t columns, size_t argument) {
  Operand operand = span(std::move(name), spec, rows, columns, argument);
  if (operand.low < operand.high) reads_.push_back(std::move(operand));
}

Status OverlapCheck::check(const GemmArguments& args) const {
  const auto written = reinterpret_cast<uintptr_t>(args.d);
  for (const Operand& operand : reads_) {
    const void* read = pointer(args, operand.argument);
    const auto from = reinterpret_cast<uintptr_t>(read);
    if (from + uintptr_t(operand.low) >= written + uintptr_t(d_.high) ||
        written + uintptr_t(d_.low) >= from + uintptr_t(operand.high))
      continue;
    if (share_elements(operand, read, args.d))
      return Error{"gemm",
                   "d",
                   "shares memory with " + operand.name + ", which is read while d is written",
                   "give d memory of its own",
                   {}};
  }
  return Done{};
}

// Sorted; contiguous elements are one piece.
std::vector<OverlapCheck::Piece> OverlapCheck::pieces(const Operand& o, const void* origin) const {
  struct Mode {
    int64_t extent, stride;
  };
  const int64_t bytes = bytes_of(o.spec.type);
  Mode modes[] = {{o.spec.batch_stride == 0 ? 1 : batch_, o.spec.batch_stride * bytes},
                  {o.rows, o.spec.row_stride * bytes},
                  {o.columns, o.spec.column_stride * bytes}};
  auto at = reinterpret_cast<uintptr_t>(origin);
  for (Mode& mode : modes) {  // from the lowest address upwards; a stride of 0 is one element again and again
    if (mode.stride == 0) mode.extent = std::min<int64_t>(mode.extent, 1);
    if (mode.stride < 0) at += uintptr_t((mode.extent - 1) * mode.stride);
    mode.stride = std::abs(mode.stride);
    if (mode.extent == 1) mode.stride = 0;
  }
  std::sort(std::begin(modes), std::end(modes), [](const Mode& x, const Mode& y) { return x.stride < y.stride; });
  int64_t run = bytes;
  for (Mode& mode : modes)
    if (mode.extent > 1 && mode.stride <= run) {
      run += (mode.extent - 1) * mode.stride;
      mode = {1, 0};
    }
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < modes[2].extent; ++i)
    for (int64_t j = 0; j < modes[1].extent; ++j)
      for (int64_t k = 0; k < modes[0].extent; ++k) {
        const uintptr_t begin = at + uintptr_t(i * modes[2].stride + j * modes[1].stride + k * modes[0].stride);
        pieces.push_back({begin, begin + uintptr_t(run)});
      }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& x, const Piece& y) { return x.begin < y.begin; });
  return pieces;
}

bool OverlapCheck::share_elements(const Operand& operand, const void* read, const void* written) const {
  const std::vector<Piece> reads = pieces(operand, read), writes = pieces(d_, written);
  // Pieces of one operand may overlap each other: the furthest end so far is what counts.
  uintptr_t read_end = 0, write_end = 0;
  for (size_t r = 0, w = 0; r < reads.size() || w < writes.size();) {
    const bool read_next = w == writes.size() || (r < reads.size() && reads[r].begin < writes[w].begin);
    const Piece& next = read_next ? reads[r++] : writes[w++];
    if (next.begin < (read_next ? write_end : read_end)) return true;
    uintptr_t& end = read_next ? read_end : write_end;
    end = std::max(end, next.end);
  }
  return false;
}

}  // namespace gemmsmith
