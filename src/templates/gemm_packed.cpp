// D[m,n] = A[m,k] * B[k,n] for any size: the packed and blocked GEMM of Goto and van de Geijn ("Anatomy of High-Performance Matrix
// Multiplication", 2008). Each core has a share of D. It packs a block of B into panels of nr columns and blocks of A into panels of
// mr rows, converting elements on the way, and multiplies panel by panel into a register tile.
#include "templates/cpu_model.h"
#include "templates/gemm_operands.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct PackedConfig {
  int mr = 8, nr = 32;      // register tile
  int mc = 192, nc = 1024;  // blocks of A for L2 and of B for L3; mr divides mc, nr divides nc
  int kc = 256;             // depth of both
  int mb = 768;             // rows whose sums are kept between blocks of k, where D cannot hold them; mc divides it
  int prefetch = 16;        // steps of B's panel ahead; 0: none
  int split_rows = 0;       // cores share the rows of D, not its columns
  int dot = 0;              // dot products of bf16 pairs or byte quads instead of widening while packing
  int swap = 0;             // computes D^T = B * A^T: for a D whose columns are contiguous
  template <class F>
  void fields(F&& f) {
    f("mr", mr), f("nr", nr), f("mc", mc), f("nc", nc), f("kc", kc), f("mb", mb);
    f("prefetch", prefetch), f("split_rows", split_rows), f("dot", dot), f("swap", swap);
  }
};

// What is multiplied and added. One step along k takes `group` elements of a row, as one lane of `step`.
struct Arithmetic {
  Kind packed, sum, step;
  int group;
};
Arithmetic arithmetic(const PackedConfig& c, const GemmClass& p) {
  if (!c.dot) return {p.acc, p.acc, p.acc, 1};
  if (p.a.type == DataType::i8) return {Kind::i8, Kind::i32, Kind::i32, 4};
  return {Kind::bf16, Kind::f32, Kind::i32, 2};
}

void pack_panels(const Arithmetic& math, const Tensor& block, const Tensor& to, int panel, int lanes, bool is_a) {
  if (math.group == 1) return pack(block, to, panel, lanes);
  if (math.group == 2) return pack_pairs(block, to, panel, lanes);
  pack_quads(block, to, panel, lanes, is_a);  // vpdpbusd takes A unsigned: 128 is added to it
}

// acc = the product of one panel of A and one of B, `steps` deep.
void multiply(const Arithmetic& math, const PackedConfig& c, const Tensor& a, const Tensor& b, Int steps,
              RegisterTile& acc) {
  const int lanes = acc.lanes(), vectors = acc.vectors();
  Vars<Vec> excess(1, vectors, zero(math.sum, lanes));  // of bytes: 128 * sum of B, because 128 was added to A
  for (Int kk : range(steps)) {
    const Tensor a_k = a.slice(1, kk), b_k = b.slice(1, kk);
    std::vector<Vec> b_row;
    for (int v = 0; v < vectors; ++v) b_row.push_back(b_k.load({v * lanes}, lanes));
    if (c.prefetch)
      for (int v = 0; v < vectors; ++v) b.prefetch({v * lanes, kk + c.prefetch});
    for (int r = 0; r < c.mr; ++r) {
      const Vec a_r = broadcast(a_k.load({r}), lanes);
      for (int v = 0; v < vectors; ++v) {
        const Vec& b_v = b_row[size_t(v)];
        acc(r, v) = math.group == 1   ? fma(a_r, b_v, acc(r, v))
                    : math.group == 2 ? dot_bf16(acc(r, v), a_r, b_v)
                                      : dot_i8(acc(r, v), a_r, b_v);
      }
    }
    if (math.group == 4)
      for (int v = 0; v < vectors; ++v)
        excess(0, v) = dot_i8(excess(0, v), constant(Kind::i32, lanes, int32_t(0x80808080)), b_row[size_t(v)]);
  }
  if (math.group == 4)
    for (int r = 0; r < c.mr; ++r)
      for (int v = 0; v < vectors; ++v) acc(r, v) = acc(r, v) - excess(0, v);
}

void stage(KernelBuilder& k, const PackedConfig& c, const GemmClass& p) {
  const Arithmetic math = arithmetic(c, p);
  const int lanes = k.lanes(math.sum);
  const GemmOperands operands = gemm_operands(k, p, c.swap);
  const bool plain = operands.d.is_plain();

  each_part(k, operands, p, {c.split_rows ? c.mr : c.nr, c.split_rows != 0}, [&](Int core, const GemmOperands& g) {
    const int packed_bytes = bytes(math.packed), sum_bytes = bytes(math.sum);
    const Tensor a_panels = k.scratch(math.packed, panels(c.mc, c.kc, c.mr, packed_bytes, math.group), core);
    const Tensor b_panels = k.scratch(math.packed, panels(c.nc, c.kc, c.nr, packed_bytes, math.group), core);
    const Tensor edge = k.scratch(math.sum, padded_tile(c.mr, c.nr, sum_bytes), core);
    // Sums between blocks of k stay in D where it can hold them, else in a block of their own.
    const Tensor sums = plain ? edge : k.scratch(math.sum, padded_tile(c.mb, c.nc, sum_bytes), core);
    const Int k_blocks = max(g.b.tiles(1, c.kc), 1);  // one for k = 0, which writes what the epilogue makes of zeros
    const Int row_block = plain ? g.d.extent(0) : Int(c.mb);

    for (Int ib : range(plain ? Int(1) : g.d.tiles(0, row_block)))
      for (Int jc : range(g.d.tiles(1, c.nc)))
        for (Int pc : range(k_blocks)) {
          const Tensor b_block = g.b.tile({c.nc, c.kc}, {jc, pc});
          pack_panels(math, b_block, b_panels, c.nr, lanes, false);
          const Tensor a_rows = g.a.tile({row_block, all}, {ib, 0});
          const Output d_rows = g.d.tile({row_block, c.nc}, {ib, jc});
          for (Int ic : range(d_rows.tiles(0, c.mc))) {
            const Output d_block = d_rows.tile({c.mc, all}, {ic, 0});
            pack_panels(math, a_rows.tile({c.mc, c.kc}, {ic, pc}), a_panels, c.mr, lanes, true);
            for (Int j : range(d_block.tiles(1, c.nr)))
              for (Int i : range(d_block.tiles(0, c.mr))) {
                const Output d_tile = d_block.tile({c.mr, c.nr}, {i, j});
                if (c.prefetch && plain)
                  for (int r = 0; r < c.mr; ++r)
                    for (int n = 0; n < c.nr; n += lanes) d_tile.d().prefetch({r, n});
                RegisterTile acc(c.mr, c.nr, math.sum, lanes, edge);
                multiply(math, c, a_panels.recast(math.step).tile({c.mr, all}, {i, 0}),
                         b_panels.recast(math.step).tile({c.nr, all}, {j, 0}), ceil_div(b_block.extent(1), math.group),
                         acc);
                const Bool only = k_blocks == 1;  // then one tile of sums, warm in L1, serves all
                const Tensor partial =
                    plain ? d_tile.d()
                          : sums.tile({c.mr, c.nr}, {select(only, 0, ic * (c.mc / c.mr) + i), select(only, 0, j)});
                when(pc == 0, [&] { acc.store(partial); }, [&] { acc.accumulate(partial); });
                if (!plain) when(pc == k_blocks - 1, [&] { finish(d_tile, partial, c.nr, lanes); });
              }
          }
        }
  });
}

Supports supports(const GemmProblem&, const DeviceFacts&) { return {}; }

Supports legal(const PackedConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const int lanes = device.vector_bytes / 4, registers = device.vector_bytes == 64 ? 32 : 16;
  const auto number = [](const char* name, int64_t value) { return std::string(name) + " = " + std::to_string(value); };
  if (c.nr <= 0 || c.nr % lanes)
    return Supports::no(number("nr", c.nr) + " is not a multiple of " + std::to_string(lanes) +
                        ", the lanes of a vector");
  if (c.mr <= 0 || c.mc % c.mr) return Supports::no(number("mc", c.mc) + " is not a multiple of mr");
  if (c.nc <= 0 || c.nc % c.nr) return Supports::no(number("nc", c.nc) + " is not a multiple of nr");
  if (c.mb <= 0 || c.mb % c.mc) return Supports::no(number("mb", c.mb) + " is not a multiple of mc");
  if (c.kc <= 0 || c.kc % 4) return Supports::no(number("kc", c.kc) + " is not a multiple of 4");
  const int used = (c.mr + 1 + (c.dot && p.a.type == DataType::i8)) * (c.nr / lanes) + 1;
  if (used > registers)
    return Supports::no("a register tile of " + std::to_string(c.mr) + "x" + std::to_string(c.nr) + " needs " +
                        std::to_string(used) + " registers of " + std::to_string(registers));
  if (c.dot && !can_dot(p.a.type, p.b.type, device))
    return Supports::no("dot = 1 needs bf16 and avx512_bf16, or i8 and avx512_vnni");
  const int64_t element = c.dot ? bytes_of(p.a.type) : 4;
  const int64_t a_bytes = int64_t(c.mc) * c.kc * element, b_bytes = int64_t(c.nc) * c.kc * element * device.threads;
  if (device.l2_bytes && a_bytes > device.l2_bytes)
    return Supports::no("packed block of A: " + std::to_string(a_bytes) + " bytes > " +
                        std::to_string(device.l2_bytes) + ", the L2 cache");
  if (device.last_level_bytes && b_bytes > device.last_level_bytes)
    return Supports::no("packed blocks of B on all cores: " + std::to_string(b_bytes) + " bytes > " +
                        std::to_string(device.last_level_bytes) + ", the last-level cache");
  return {};
}

std::vector<PackedConfig> space(const GemmProblem& p, const DeviceFacts& device) {
  const int lanes = device.vector_bytes / 4;
  const bool swap = class_of(p).d.major == Major::column;
  const int64_t m = swap ? p.n : p.m, n = swap ? p.m : p.n;
  std::vector<PackedConfig> out;
  const bool wide = device.vector_bytes == 64;
  const std::vector<std::pair<int, int>> tiles =
      wide ? std::vector<std::pair<int, int>>{{8, 2}, {12, 2}, {14, 2}, {6, 4}, {8, 3}, {9, 3}}
           : std::vector<std::pair<int, int>>{{6, 2}, {4, 3}, {4, 2}};
  for (const auto& [mr, vectors] : tiles)
    for (int dot : {0, 1}) {
      if (dot && !can_dot(p.a.type, p.b.type, device)) continue;
      for (int kc : {256, 384, 512, 768, 1024})
        for (int split_rows : {0, 1})
          for (int nc : {256, 1024, 2048, 4096}) {
            if (kc > 256 && kc / 2 >= p.k) continue;                          // deeper than there is
            if (nc > 256 && nc / 2 >= n) continue;                            // wider than there is
            if (split_rows && (device.threads == 1 || m < 2 * mr)) continue;  // nothing to share
            PackedConfig c;
            c.mr = mr, c.nr = vectors * lanes, c.kc = kc, c.dot = dot, c.swap = swap, c.split_rows = split_rows;
            const int64_t element = dot ? bytes_of(p.a.type) : 4;
            const int64_t fit = std::max<int64_t>(device.l2_bytes / 2 / (kc * element), mr);  // rows of A in half of L2
            const int64_t need = (m + mr - 1) / mr * mr;
            c.mc = int(std::min(fit / mr * mr, std::min<int64_t>(need, 384 / mr * mr)));
            c.mc = std::max(c.mc, mr);
            c.nc = nc / c.nr * c.nr;
            c.mb = int(std::max<int64_t>(1, std::min<int64_t>(768 / c.mc, (need + c.mc - 1) / c.mc)) * c.mc);
            out.push_back(c);
          }
    }
  return out;
}

double predict_us(const PackedConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const CpuModel model(device);
  const double m = double(c.swap ? p.n : p.m), n = double(c.swap ? p.m : p.n), k = double(p.k),
               batch = double(std::max<int64_t>(p.batch, 1));
  const double cores = device.threads, lanes = device.vector_bytes / 4.0, vectors = c.nr / lanes;
  // The multiply: padded to register tiles, limited by loads (mr broadcasts and the row of B) where they outweigh the FMAs.
  const double row_parts = c.split_rows ? std::max(1.0, cores / batch) : 1,
               column_parts = c.split_rows ? 1 : std::max(1.0, cores / batch);
  const double my_m = round_up_to(m / row_parts, c.mr), my_n = round_up_to(n / column_parts, c.nr);
  const double jobs_each = std::ceil(batch * row_parts * column_parts / cores);
  const double peak = model.gflops(c.dot ? p.a.type : p.acc) / cores * 1e3;  // flops per microsecond and core
  const double loads = (c.mr + vectors) / (c.mr * vectors);
  double us = 2 * my_m * my_n * k / (peak * 0.95) * std::max(1.0, loads * 1.05) * (1 + 6.0 / c.mr / vectors / 4);
  // Packing: B once (by each core that shares rows), A once for every block of columns; a transposing pack costs twice.
  const double b_rate = model.pack_bytes_per_us(p.b.type, class_of(p).b.major == (c.swap ? Major::row : Major::column));
  const double a_rate = model.pack_bytes_per_us(p.a.type, class_of(p).a.major == Major::row);
  const double row_blocks = class_of(p).is_plain() ? 1 : std::ceil(my_m / c.mb);
  us += my_n * k * bytes_of(p.b.type) / b_rate * row_blocks;
  us += my_m * k * bytes_of(p.a.type) / a_rate * std::ceil(my_n / c.nc);
  // Partial sums come and go once for every block of k.
  us += my_m * my_n * 8 * std::ceil(k / c.kc) / model.l2_bytes_per_us();
  return us * jobs_each + model.launch_us();
}

}  // namespace

KernelTemplate gemm_packed() {
  return make_template<PackedConfig>("gemm_packed", "cpu", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
