// D[m,n] = A[m,k] * B[k,n] for few rows of A and a B whose rows are contiguous, at the speed at which B can be read. Each core
// takes blocks of its columns of B, `unroll` rows at a time, and adds to sums that stay in L1. Nothing is packed; elements are
// widened as they are loaded.
#include "templates/cpu_model.h"
#include "templates/gemm_operands.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct StreamingConfig {
  int mr = 1;      // rows of A in registers: all of them
  int nr = 64;     // columns of a register tile
  int nb = 1024;   // columns of a block, nr divides it
  int unroll = 8;  // rows of B for one visit of the sums
  int swap = 0;    // computes D^T = B * A^T: few columns of B, an A whose columns are contiguous
  template <class F>
  void fields(F&& f) {
    f("mr", mr), f("nr", nr), f("nb", nb), f("unroll", unroll), f("swap", swap);
  }
};

constexpr int kMaxRows = 12;

void stage(KernelBuilder& k, const StreamingConfig& c, const GemmClass& p) {
  const Kind sum = p.acc;
  const int lanes = k.lanes(sum), vectors = c.nr / lanes;
  const GemmOperands operands = gemm_operands(k, p, c.swap);

  each_part(k, operands, p, {c.nr}, [&](Int core, const GemmOperands& g) {
    const Tensor sums = k.scratch(sum, padded_tile(c.mr, c.nb, bytes(sum)), core);
    for (Int jb : range(g.d.tiles(1, c.nb))) {
      const Tensor b_block = g.b.tile({c.nb, all}, {jb, 0});
      for (Int step : range(max(g.b.tiles(1, c.unroll), 1)))  // one for k = 0, which leaves zeros
        for (Int j : range(b_block.tiles(0, c.nr)))
          full_or_edge(b_block.tile({c.nr, c.unroll}, {j, step}), {c.nr, all}, [&](const Tensor& b) {
            const Tensor out = sums.tile({c.mr, c.nr}, {0, j}), a = g.a.tile({all, c.unroll}, {0, step});
            Vars<Vec> acc(c.mr, vectors, zero(sum, lanes));
            when(step != 0, [&] {
              for (int r = 0; r < c.mr; ++r)
                for (int v = 0; v < vectors; ++v) acc(r, v) = out.load({r, v * lanes}, lanes);
            });
            for (Int kk : range(b.extent(1))) {
              std::vector<Vec> b_row;
              for (int v = 0; v < vectors; ++v) b_row.push_back(convert(b.slice(1, kk).load({v * lanes}, lanes), sum));
              for (int r = 0; r < c.mr; ++r) {
                const Int row = min(r, a.extent(0) - 1);  // one that does not exist is read as the last and not stored
                const Vec a_r = broadcast(convert(a.slice(1, kk).slice(0, row).load({}), sum), lanes);
                for (int v = 0; v < vectors; ++v) acc(r, v) = fma(a_r, b_row[size_t(v)], acc(r, v));
              }
            }
            for (int r = 0; r < c.mr; ++r)
              for (int v = 0; v < vectors; ++v) out.store({r, v * lanes}, acc(r, v));
          });
      const Output d_block = g.d.tile({all, c.nb}, {0, jb});
      for (Int j : range(d_block.tiles(1, c.nr)))
        finish(d_block.tile({all, c.nr}, {0, j}), sums.tile({c.mr, c.nr}, {0, j}), c.nr, lanes);
    }
  });
}

// Whether the problem, or its transpose, has few rows and streams along contiguous elements.
Supports fits(const GemmProblem& p, bool swap) {
  const GemmClass c = class_of(p);
  const int64_t rows = swap ? p.n : p.m;
  const char* extent = swap ? "n" : "m";
  if (rows > kMaxRows)
    return Supports::no(std::string(extent) + " = " + std::to_string(rows) + " > " + std::to_string(kMaxRows) +
                        ", the rows that fit registers");
  if ((swap ? c.a.major : c.b.major) != (swap ? Major::column : Major::row))
    return Supports::no(swap ? "columns of A are not contiguous: row_stride = " + std::to_string(p.a.row_stride)
                             : "rows of B are not contiguous: column_stride = " + std::to_string(p.b.column_stride));
  return {};
}

Supports supports(const GemmProblem& p, const DeviceFacts&) {
  const Supports direct = fits(p, false), swapped = fits(p, true);
  if (direct || swapped) return {};
  return Supports::no(direct.reason + "; transposed: " + swapped.reason);
}

Supports legal(const StreamingConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const int lanes = device.vector_bytes / 4, registers = device.vector_bytes == 64 ? 32 : 16;
  if (const Supports fit = fits(p, c.swap); !fit) return fit;
  const int64_t rows = c.swap ? p.n : p.m;
  if (c.mr < rows)
    return Supports::no("mr = " + std::to_string(c.mr) + " < " + std::to_string(rows) + ", the rows that there are");
  if (c.nr <= 0 || c.nr % lanes)
    return Supports::no("nr = " + std::to_string(c.nr) + " is not a multiple of " + std::to_string(lanes) +
                        ", the lanes of a vector");
  if (c.nb <= 0 || c.nb % c.nr) return Supports::no("nb = " + std::to_string(c.nb) + " is not a multiple of nr");
  if (c.unroll <= 0) return Supports::no("unroll = " + std::to_string(c.unroll) + " is not positive");
  const int used = (c.mr + 1) * (c.nr / lanes) + 1;
  if (used > registers)
    return Supports::no("a register tile of " + std::to_string(c.mr) + "x" + std::to_string(c.nr) + " needs " +
                        std::to_string(used) + " registers of " + std::to_string(registers));
  return {};
}

std::vector<StreamingConfig> space(const GemmProblem& p, const DeviceFacts& device) {
  const int lanes = device.vector_bytes / 4;
  std::vector<StreamingConfig> out;
  for (int swap : {0, 1}) {
    if (!fits(p, swap)) continue;
    const int rows = int(std::max<int64_t>(1, swap ? p.n : p.m));
    for (int vectors : {1, 2, 4, 8})
      for (int nb : {512, 1024, 4096})
        for (int unroll : {4, 8, 16, 32}) out.push_back({rows, vectors * lanes, nb, unroll, swap});
  }
  return out;
}

double predict_us(const StreamingConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const CpuModel model(device);
  const double n = double(c.swap ? p.m : p.n), k = double(p.k), batch = double(std::max<int64_t>(p.batch, 1)),
               cores = device.threads;
  const double weight_bytes = n * k * bytes_of(c.swap ? p.a.type : p.b.type) * batch;
  const double vectors = c.nr / (device.vector_bytes / 4.0);
  // The sums come and go once for every `unroll` rows; short register tiles wait for the latency of the FMA; short blocks break the
  // stream of B's rows.
  const double sums = n * k / c.unroll * c.mr * 8 * batch / cores / (2 * model.l2_bytes_per_us());
  const double compute =
      2 * n * k * c.mr * batch / (model.gflops(p.acc) * 1e3) * std::max(1.0, 8 / (vectors * c.mr)) * 1.2;
  const double read = weight_bytes / model.read_bytes_per_us() * (1 + 64.0 / c.nb);
  return std::max(read, compute + sums) + 0.3 * std::min(read, compute + sums) + model.launch_us();
}

}  // namespace

KernelTemplate gemm_streaming() {
  return make_template<StreamingConfig>("gemm_streaming", "cpu", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
