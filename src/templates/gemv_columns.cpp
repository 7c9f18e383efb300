// D[m,n] = epilogue(A[m,k] · B[k,n]) for very few rows of D (or, swapped, columns) where the large operand is contiguous
// across K: rows of B. A CTA has a few columns and all of K: a few lanes of every warp load a row of these columns, 16
// bytes each, the other lanes the rows that follow; sums meet by shuffles and, across warps, in shared memory. Narrow
// columns make enough CTAs for the whole GPU, and segments of 64 bytes are still whole sectors.
#include <algorithm>
#include <cmath>

#include "dsl/hopper.h"
#include "dsl/warp.h"
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

constexpr int kMaxFew = 8;
constexpr int kLanes = 32;  // of a warp

struct Config {
  int few = 1;           // rows of the small operand
  int column_lanes = 4;  // that load neighbouring columns; the other lanes of a warp have other rows of K
  int unroll = 4;        // loads in flight
  int warps = 16;        // of a CTA, which share K
  int load_bytes = 16;
  int swap = 0;  // A is the large operand
  template <class F>
  void fields(F&& f) {
    f("few", few), f("column_lanes", column_lanes), f("unroll", unroll), f("warps", warps), f("load_bytes", load_bytes);
    f("swap", swap);
  }
  int threads() const { return kLanes * warps; }
  int rows_at_once() const { return threads() / column_lanes; }  // of K, by a CTA
};

// The sums of one thread: `few` rows of as many columns as a load has.
class Sums {
 public:
  Sums(const Config& c, Kind sum, int columns) : few_(c.few), kind_(sum), sums_(c.few, 1, zero(sum, columns)) {}

  void add(const Vec& large, const std::vector<Vec>& small) {
    const Vec row = convert(large, kind_);
    for (int j = 0; j < few_; ++j)
      sums_(j, 0) = fma(row, broadcast(convert(small[size_t(j)], kind_), row.lanes), sums_(j, 0));
  }
  // Number j * columns + column.
  std::vector<Vec> numbers() const {
    std::vector<Vec> out;
    for (int j = 0; j < few_; ++j) {
      const Vec row = sums_(j, 0);
      for (int i = 0; i < row.lanes; ++i) out.push_back(extract(row, i));
    }
    return out;
  }

 private:
  int few_;
  Kind kind_;
  Vars<Vec> sums_;
};

// Rows of K first, first + step, ... of the columns from `column` on. Columns that do not exist are read as the last.
void multiply(Sums& sums, const Config& c, const Tensor& large, const std::vector<Tensor>& small, const Int& column,
              int columns, const Int& first, int step) {
  const Kind element = large.element();
  const Int many = large.extent(0), k = large.extent(1);
  const auto rows = [&](bool whole) {
    const auto load = [&](const Int& kk) {
      if (whole && columns * bytes(element) >= 4)
        return op::load_global(large.address({column, kk}), element, columns, CacheHint::evict_first);
      std::vector<Vec> parts;
      for (int i = 0; i < columns; ++i)
        parts.push_back(op::load(large.address({min(column + i, many - 1), kk}), element, 1, {}));
      return join(parts);
    };
    const auto add = [&](const Int& row, int count) {  // loads first
      std::vector<Vec> wide;
      std::vector<std::vector<Vec>> narrow(static_cast<size_t>(count));
      for (int u = 0; u < count; ++u) wide.push_back(load(row + u * step));
      for (int u = 0; u < count; ++u)
        for (const Tensor& x : small)
          narrow[size_t(u)].push_back(op::load(x.address({row + u * step}), element, 1, {}));
      for (int u = 0; u < count; ++u) sums.add(wide[size_t(u)], narrow[size_t(u)]);
    };
    const int reach = step * (c.unroll - 1);
    Var<Int> next(first);
    if (c.unroll > 1)
      for (Int row : range(first, select(k > reach, k - reach, 0), step * c.unroll)) {
        add(row, c.unroll);
        next = row + step * c.unroll;
      }
    for (Int row : range(next, k, step)) add(row, 1);
  };
  when(column + columns <= many, [&] { rows(true); }, [&] { rows(false); });
}

Tensor matrix_of(GpuBuilder& k, const MatrixArg& arg) {
  const Tensor t = k.matrix(arg);
  return arg.transposed ? t.transposed() : t;
}

int power_of_two_from(int n) {
  int width = 1;
  while (width < n) width *= 2;
  return width;
}

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);  // a has few rows, b many
  const Tensor small = matrix_of(k, in.a), large = matrix_of(k, in.b);
  k.align(in.b.name, c.load_bytes);
  const GlobalOutput d = k.global_output(in.d, /*vectors=*/false);
  const int columns = c.load_bytes / bytes(large.element()), columns_of_cta = columns * c.column_lanes;
  const int numbers = power_of_two_from(c.few * columns);
  k.grid(in.b.transposed ? in.b.columns : in.b.rows, columns_of_cta, in.a.transposed ? in.a.columns : in.a.rows, c.few,
         /*persistent=*/true);
  const Int parts = k.allocate("partial sums", int64_t(c.warps) * numbers * c.column_lanes * 4);
  const Tensor partial(op::shared_pointer(parts), p.acc, staged(padded_tile(c.warps, numbers * c.column_lanes, 4)),
                       Space::shared);

  k.threads(c.threads(), [&](const Cta& self) {
    const int mode = p.batched ? 1 : 0;
    const Int of_member = large.tiles(mode, columns_of_cta), members = p.batched ? large.extent(0) : Int(1);
    const Int column_lane = self.lane % c.column_lanes, row = self.thread / c.column_lanes;
    for (Int t : range(op::block_id(), of_member * members, op::grid_size())) {
      const Int batch = p.batched ? t / of_member : Int(0), first = (p.batched ? t % of_member : t) * columns_of_cta;
      const Tensor x = p.batched ? small.slice(0, batch) : small;
      std::vector<Tensor> rows;  // those that do not exist are read as the last, and not stored
      for (int j = 0; j < c.few; ++j) rows.push_back(x.slice(0, min(j, x.extent(0) - 1)));
      Sums sums(c, p.acc, columns);
      multiply(sums, c, p.batched ? large.slice(0, batch) : large, rows, first + column_lane * columns, columns, row,
               c.rows_at_once());

      const LaneSums own = c.column_lanes < kLanes ? lane_sums(sums.numbers(), self.lane, kLanes / 2, c.column_lanes)
                                                   : LaneSums{sums.numbers(), 0, true};
      when(own.holds, [&] {
        for (size_t i = 0; i < own.values.size(); ++i)
          partial.store({self.warp, (own.first + int(i)) * c.column_lanes + column_lane}, own.values[i]);
      });
      self.sync();
      for (Int i : range(self.thread, c.few * columns_of_cta, c.threads())) {
        const Int j = i / columns_of_cta, column = i % columns_of_cta;
        const Int at = (j * columns + column % columns) * c.column_lanes + column / columns;
        Var<Vec> total(partial.load({0, at}));
        for (int w = 1; w < c.warps; ++w) total = total.get() + partial.load({w, at});
        d.store({batch, 0, 0, 0, 0, 1}, j, first + column, total);
      }
      self.sync();
    }
  });
}

// Of the large operand: 16, 8, 4, ... bytes.
int largest_load(const GemmProblem& p, bool swap) {
  return swap ? aligned_bytes(p.a, Major::column, p.m, p.k, p.batch)
              : aligned_bytes(p.b, Major::row, p.k, p.n, p.batch);
}

Supports fits(const GemmProblem& p, bool swap) {
  const int64_t few = swap ? p.n : p.m;
  if (few > kMaxFew)
    return Supports::no(std::string(swap ? "n" : "m") + " = " + std::to_string(few) + " > " + std::to_string(kMaxFew) +
                        ", the rows whose products fit the registers of a thread");
  const GemmClass c = class_of(p);
  if (p.k == 0) return Supports::no("k = 0 leaves nothing to read; gemv_rows does the rest");
  if (swap ? c.a.major != Major::column : c.b.major != Major::row)
    return Supports::no(std::string(swap ? "A is not column-major: its rows" : "B is not row-major: its columns") +
                        " have steps of " + std::to_string(swap ? p.a.row_stride : p.b.column_stride) + " elements");
  return {};
}

Supports supports(const GemmProblem& p, const DeviceFacts&) {
  const bool half = p.a.type == DataType::f16 || p.a.type == DataType::bf16, f32 = p.a.type == DataType::f32;
  if (p.a.type != p.b.type || !(half || f32 || p.a.type == DataType::i8))
    return Supports::no("A is " + std::string(name_of(p.a.type)) + " and B " + std::string(name_of(p.b.type)) +
                        "; both have to be f32, f16, bf16 or i8");
  if (p.acc != (p.a.type == DataType::i8 ? DataType::i32 : DataType::f32))
    return Supports::no("sums are formed in " + std::string(p.a.type == DataType::i8 ? "i32" : "f32") + ", not in " +
                        std::string(name_of(p.acc)));
  if (p.d.type == DataType::f64) return Supports::no("D of f64 has no store");
  const Supports direct = fits(p, false), swapped = fits(p, true);
  if (direct || swapped) return {};
  return Supports::no(direct.reason + "; swapped: " + swapped.reason);
}

int registers_of(const Config& c, int element) {
  return c.few * c.load_bytes / element + c.unroll * (c.load_bytes / 4 + c.few) + 2 * c.load_bytes / element + 40;
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts&) {
  const auto rule = [](const char* field, int value, const std::string& why) {
    return Supports::no(std::string(field) + " = " + std::to_string(value) + " " + why);
  };
  const auto power_of_two = [](int n, int most) { return n >= 1 && n <= most && (n & (n - 1)) == 0; };
  if (c.swap != 0 && c.swap != 1) return rule("swap", c.swap, "is not 0 or 1");
  if (const Supports fit = fits(p, c.swap); !fit) return fit;
  const int64_t few = std::max<int64_t>(c.swap ? p.n : p.m, 1);
  const int element = element_bytes(p), largest = largest_load(p, c.swap);
  if (c.few < few || c.few > kMaxFew)
    return rule("few", c.few,
                "is not from " + std::to_string(few) + ", the rows that there are, to " + std::to_string(kMaxFew));
  if (!power_of_two(c.column_lanes, kLanes)) return rule("column_lanes", c.column_lanes, "is not 1, 2, 4, 8, 16 or 32");
  if (!power_of_two(c.unroll, 8)) return rule("unroll", c.unroll, "is not 1, 2, 4 or 8");
  if (!power_of_two(c.warps, 16)) return rule("warps", c.warps, "is not 1, 2, 4, 8 or 16");
  if (!power_of_two(c.load_bytes, 16) || c.load_bytes < element || c.load_bytes > largest)
    return rule("load_bytes", c.load_bytes,
                "is not from " + std::to_string(element) + " to " + std::to_string(largest) +
                    ", what the strides of the large operand are multiples of");
  if (const int registers = registers_of(c, element); registers > std::min(255, 65536 / c.threads()))
    return Supports::no("about " + std::to_string(registers) + " registers do not fit a thread of " +
                        std::to_string(c.warps) + " warps; fewer warps or a smaller unroll");
  return fits_shared(int64_t(c.warps) * power_of_two_from(c.few * c.load_bytes / element) * c.column_lanes * 4);
}

double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  const double k = double(std::max<int64_t>(p.k, 1)), many = double(std::max<int64_t>(c.swap ? p.m : p.n, 1));
  const double element = element_bytes(p), products = many * k * double(p.batch), columns = c.load_bytes / element;
  Reading r;
  r.bytes = products * element * std::max(1.0, 32.0 / (c.column_lanes * c.load_bytes));  // sectors of 32 bytes
  r.ctas = std::ceil(many / (columns * c.column_lanes)) * double(p.batch);
  r.threads = c.threads();
  r.registers = registers_of(c, int(element));
  r.bytes_in_flight = std::min(double(c.unroll), std::max(k / c.rows_at_once(), 0.25)) * c.load_bytes;
  r.operations = products * (c.few + 2.0 + 4.0 * c.few / columns);
  r.round_us = 0.3;
  return predict_reading_us(r, device);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts&) {
  std::vector<Config> out;
  for (int swap : {0, 1}) {
    if (!fits(p, swap)) continue;
    Config c;
    c.swap = swap;
    c.few = int(std::max<int64_t>(swap ? p.n : p.m, 1));
    c.load_bytes = largest_load(p, swap);
    for (int lanes : {2, 4, 8, 16, 32})
      for (int unroll : {1, 2, 4, 8})
        for (int warps : {4, 8, 16}) {
          c.column_lanes = lanes, c.unroll = unroll, c.warps = warps;
          out.push_back(c);
        }
  }
  return out;
}

}  // namespace

KernelTemplate gemv_columns() {
  return make_template<Config>("gemv_columns", "sm_90a", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
