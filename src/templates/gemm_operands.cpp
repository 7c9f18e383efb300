#include "templates/gemm_operands.h"

namespace gemmsmith {

GemmOperands gemm_operands(KernelBuilder& k, const GemmClass& c, bool swapped, Where at) {
  const Tensor a = k.matrix({"a", "m", "k", c.a.major, c.a.type, c.batched}, at);
  const Tensor b = k.matrix({"b", "k", "n", c.b.major, c.b.type, c.batched}, at);
  OutputArg out;
  out.d = {"d", "m", "n", c.d.major, c.d.type, c.batched};
  out.c = {kOperandC, "m", "n", c.c.major, c.c.type, c.batched};
  out.acc = c.acc;
  out.alpha = c.scaled;
  out.beta = c.reads_c;
  out.epilogue = c.epilogue;
  for (const InputSpec& input : c.inputs) out.inputs.push_back({input.name, input.index, input.type});
  const Output d = k.output(out, at);
  const Int members = c.batched ? k.extent("batch") : Int(1);
  const Tensor n_by_k = b.transposed(at);
  if (swapped) return {n_by_k, a, d.transposed(at), members};
  return {a, n_by_k, d, members};
}

namespace {

GemmOperands member(const GemmOperands& g, const GemmClass& c, Int index, Where at) {
  if (!c.batched) return g;
  return {g.a.slice(0, index, at), g.b.slice(0, index, at), g.d.slice(0, index, at), 1};
}

// Sizes of parts, and how many there are.
struct Parts {
  Int rows, columns;  // of D in a part
  Int of_member, jobs, cores;
};
Parts share_out(KernelBuilder& k, const GemmOperands& g, const GemmClass& c, const Share& share, Where at) {
  const Scope scope("each_part", at);
  const int m = c.batched ? 1 : 0, n = m + 1;
  const Int ways = ceil_div(k.cores(), g.members);  // parts of one member
  const auto part_of = [&](Int extent) { return max(round_up(ceil_div(extent, ways), share.unit), share.unit); };
  const Int rows = share.split_rows ? part_of(g.d.extent(m)) : g.d.extent(m);
  const Int columns = share.split_rows ? g.d.extent(n) : part_of(g.d.extent(n));
  const Int parts = share.split_rows ? g.d.tiles(m, rows) : g.d.tiles(n, columns);
  const Int jobs = g.members * parts;
  return {rows, columns, parts, jobs, min(k.cores(), jobs)};
}

}  // namespace

void each_part(KernelBuilder& k, const GemmOperands& g, const GemmClass& c, const Share& share, const PartBody& body,
               Where at) {
  const Parts parts = share_out(k, g, c, share, at);
  for (Int core : parallel(parts.cores, at))
    for (Int job : range(core, parts.jobs, parts.cores, at)) {
      const GemmOperands one = member(g, c, Int(Arg<Int>(job, at) / parts.of_member), at);
      const Int part = Arg<Int>(job, at) % parts.of_member, row = share.split_rows ? part : 0,
                column = share.split_rows ? 0 : part;
      body(core, {one.a.tile({parts.rows, all}, {row, 0}, at), one.b.tile({parts.columns, all}, {column, 0}, at),
                  one.d.tile({parts.rows, parts.columns}, {row, column}, at), 1});
    }
}

void finish(const Output& d, const Tensor& sums, int columns, int lanes, Where at) {
  const Scope scope("finish", at);
  for (Int r : range(d.extent(0)))
    for (int n = 0; n < columns; n += lanes) d.slice(0, r).store({n}, sums.slice(0, r).load({n}, lanes));
}

}  // namespace gemmsmith
