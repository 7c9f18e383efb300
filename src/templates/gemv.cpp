// D[m,n] = A[m,k] * B[k,n] for few rows of A and a B whose columns are contiguous (a weight stored n x k), at the speed at which B
// can be read: dot products along k, nr columns of B side by side, each summed up in a vector and across it at the end.
#include "templates/cpu_model.h"
#include "templates/gemm_operands.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct GemvConfig {
  int mr = 1;      // rows of A: all of them
  int nr = 4;      // columns of B side by side
  int unroll = 2;  // vectors of k a step
  int block = 64;  // columns whose sums are collected before the epilogue goes over them; nr divides it
  int dot = 0;     // dot products of bf16 pairs or byte quads instead of widening
  int swap = 0;    // computes D^T = B * A^T: few columns of B, an A whose rows are contiguous
  template <class F>
  void fields(F&& f) {
    f("mr", mr), f("nr", nr), f("unroll", unroll), f("block", block), f("dot", dot), f("swap", swap);
  }
};

constexpr int kMaxRows = 12;
constexpr int kMaxUnroll = 16;

// Sums of mr x nr dot products over vectors of `wide` elements of k.
class DotTile {
 public:
  DotTile(const GemvConfig& c, Kind sum, int lanes, int group)
      : c_(c),
        sum_(sum),
        lanes_(lanes),
        wide_(lanes * group),
        group_(group),
        sums_(c.mr, c.nr, zero(sum, lanes)),
        excess_(1, c.nr, zero(sum, lanes)) {}

  // One vector of k, at `index` vectors, from the rows of both operands.
  void step(const std::vector<Tensor>& a, const std::vector<Tensor>& b, int vector) {
    std::vector<Vec> a_k;
    for (const Tensor& row : a) a_k.push_back(operand(row, vector, true));
    for (int j = 0; j < c_.nr; ++j) {
      const Vec b_k = operand(b[size_t(j)], vector, false);
      for (int r = 0; r < c_.mr; ++r) {
        const Vec& a_r = a_k[size_t(r)];
        sums_(r, j) = group_ == 1   ? fma(a_r, b_k, sums_(r, j))
                      : group_ == 2 ? dot_bf16(sums_(r, j), a_r, b_k)
                                    : dot_i8(sums_(r, j), a_r, b_k);
      }
      if (group_ == 4) excess_(0, j) = dot_i8(excess_(0, j), constant(Kind::i32, lanes_, int32_t(0x80808080)), b_k);
    }
  }

  void store(const Tensor& to, Int column) {
    for (int r = 0; r < c_.mr; ++r) {
      std::vector<Vec> row;
      for (int j = 0; j < c_.nr; ++j) {
        const Vec total = group_ == 4 ? Vec(sums_(r, j)) - Vec(excess_(0, j)) : Vec(sums_(r, j));
        row.push_back(reduce_add(total));
      }
      to.tile({c_.mr, c_.nr}, {0, column}).store({r, 0}, join(row));
    }
  }

 private:
  Vec operand(const Tensor& row, int vector, bool is_a) const {
    const Vec x = row.load({vector * wide_}, wide_);
    if (group_ == 1) return convert(x, sum_);
    if (group_ == 4 && is_a)
      return bitwise_xor(x, constant(Kind::i8, wide_, -128));  // signed to unsigned: 128 is added
    return x;
  }
  const GemvConfig& c_;
  Kind sum_;
  int lanes_, wide_, group_;
  Vars<Vec> sums_, excess_;
};

void stage(KernelBuilder& k, const GemvConfig& c, const GemmClass& p) {
  const Kind sum = p.acc;
  const int lanes = k.lanes(sum), group = c.dot ? bytes(sum) / bytes_of(p.a.type) : 1, wide = lanes * group;
  const GemmOperands operands = gemm_operands(k, p, c.swap);

  each_part(k, operands, p, {c.nr}, [&](Int core, const GemmOperands& g) {
    const Tensor sums = k.scratch(sum, padded_tile(c.mr, c.block, bytes(sum)), core);
    const Int steps = g.b.extent(1) / (wide * c.unroll);  // complete ones; then single, masked vectors
    for (Int jb : range(g.d.tiles(1, c.block))) {
      const Tensor b_block = g.b.tile({c.block, all}, {jb, 0});
      for (Int j : range(b_block.tiles(0, c.nr))) {
        // Rows that do not exist are read as the last one and not stored.
        const auto rows = [](const Tensor& t, Int first, int n) {
          std::vector<Tensor> out;
          for (int r = 0; r < n; ++r) out.push_back(t.slice(0, min(first + r, t.extent(0) - 1)));
          return out;
        };
        const std::vector<Tensor> a = rows(g.a, 0, c.mr), b = rows(b_block, j * c.nr, c.nr);
        const auto part = [](const std::vector<Tensor>& all_rows, int size, Int index) {
          std::vector<Tensor> out;
          for (const Tensor& t : all_rows) out.push_back(t.tile({size}, {index}));
          return out;
        };
        const auto complete = [](std::vector<Tensor> all_rows, int size) {
          std::vector<Tensor> out;
          for (const Tensor& t : all_rows) out.push_back(t.exactly({size}));
          return out;
        };
        DotTile tile(c, sum, lanes, group);
        for (Int s : range(steps))
          for (int u = 0; u < c.unroll; ++u)
            tile.step(complete(part(a, wide * c.unroll, s), wide * c.unroll),
                      complete(part(b, wide * c.unroll, s), wide * c.unroll), u);
        for (Int s : range(steps * c.unroll, g.b.tiles(1, wide))) tile.step(part(a, wide, s), part(b, wide, s), 0);
        tile.store(sums, j);
      }
      const Output d_block = g.d.tile({all, c.block}, {0, jb});
      for (Int v : range(d_block.tiles(1, lanes)))
        finish(d_block.tile({all, lanes}, {0, v}), sums.tile({c.mr, lanes}, {0, v}), lanes, lanes);
    }
  });
}

// Whether the problem, or its transpose, has few rows and both operands are contiguous along k.
Supports fits(const GemmProblem& p, bool swap) {
  const GemmClass c = class_of(p);
  const int64_t rows = swap ? p.n : p.m;
  if (rows > kMaxRows)
    return Supports::no(std::string(swap ? "n" : "m") + " = " + std::to_string(rows) + " > " +
                        std::to_string(kMaxRows) + ", the rows that fit registers");
  if (c.a.major != Major::row)
    return Supports::no("rows of A are not contiguous: column_stride = " + std::to_string(p.a.column_stride));
  if (c.b.major != Major::column)
    return Supports::no("columns of B are not contiguous: row_stride = " + std::to_string(p.b.row_stride));
  return {};
}

Supports supports(const GemmProblem& p, const DeviceFacts&) {
  const Supports direct = fits(p, false), swapped = fits(p, true);
  if (direct || swapped) return {};
  return Supports::no(direct.reason + "; transposed: " + swapped.reason);
}

Supports legal(const GemvConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const int registers = device.vector_bytes == 64 ? 32 : 16;
  if (const Supports fit = fits(p, c.swap); !fit) return fit;
  const int64_t rows = c.swap ? p.n : p.m;
  if (c.mr < rows)
    return Supports::no("mr = " + std::to_string(c.mr) + " < " + std::to_string(rows) + ", the rows that there are");
  if (c.nr <= 0 || c.nr & (c.nr - 1)) return Supports::no("nr = " + std::to_string(c.nr) + " is not a power of two");
  if (c.block <= 0 || c.block % c.nr || c.block % (device.vector_bytes / 4))
    return Supports::no("block = " + std::to_string(c.block) + " is not a multiple of nr and of a vector's lanes");
  if (c.unroll <= 0 || c.unroll > kMaxUnroll)
    return Supports::no("unroll = " + std::to_string(c.unroll) + " is not from 1 to " + std::to_string(kMaxUnroll) +
                        ", four times the largest that is tried: the code and the time to compile it grow with it");
  const int used = c.mr * c.nr + c.mr + 1 + (c.dot && p.a.type == DataType::i8 ? c.nr + 1 : 0);
  if (used > registers)
    return Supports::no(std::to_string(c.mr) + "x" + std::to_string(c.nr) + " sums need " + std::to_string(used) +
                        " registers of " + std::to_string(registers));
  if (c.dot && !can_dot(p.a.type, p.b.type, device))
    return Supports::no("dot = 1 needs bf16 and avx512_bf16, or i8 and avx512_vnni");
  return {};
}

std::vector<GemvConfig> space(const GemmProblem& p, const DeviceFacts& device) {
  std::vector<GemvConfig> out;
  for (int swap : {0, 1}) {
    if (!fits(p, swap)) continue;
    const int rows = int(std::max<int64_t>(1, swap ? p.n : p.m));
    for (int dot : {0, 1}) {
      if (dot && !can_dot(p.a.type, p.b.type, device)) continue;
      for (int nr : {1, 2, 4, 8, 16})
        for (int unroll : {1, 2, 4}) out.push_back({rows, nr, unroll, 64, dot, swap});
    }
  }
  return out;
}

double predict_us(const GemvConfig& c, const GemmProblem& p, const DeviceFacts& device) {
  const CpuModel model(device);
  const DataType type = c.swap ? p.a.type : p.b.type;
  const double n = double(c.swap ? p.m : p.n), k = double(p.k), batch = double(std::max<int64_t>(p.batch, 1));
  const double lanes = device.vector_bytes / 4.0 * (c.dot ? 4.0 / bytes_of(type) : 1);
  // Few sums wait for the latency of the FMA; loads and conversions of A are shared by nr columns; then sums across vectors.
  const double waits = std::max(1.0, 8.0 / (c.mr * c.nr));
  const double loads = (1.0 + double(c.mr) / c.nr) * (c.dot || bytes_of(type) == 4 ? 1 : 2) / (2.0 * c.mr);
  const double compute =
      2 * n * k * c.mr * batch / (model.gflops(c.dot ? type : p.acc) * 1e3) * std::max({waits, loads, 1.0});
  const double across = n * batch * c.mr * 8 / (device.threads * 3e3) +
                        n * batch * (1.0 + k / lanes / c.unroll / c.nr) / (device.threads * 3e3);
  const double read = n * k * bytes_of(type) * batch / model.read_bytes_per_us();
  return std::max(read, compute + across) + 0.3 * std::min(read, compute + across) + model.launch_us();
}

}  // namespace

KernelTemplate gemv() { return make_template<GemvConfig>("gemv", "cpu", supports, space, legal, predict_us, stage); }

}  // namespace gemmsmith
