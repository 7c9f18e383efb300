// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ) for very few rows (or, swapped, columns) of D, on CUDA cores: memory sets the pace,
// and every byte of the large operand is read once. A warp multiplies whole rows of it, 32 times 16 bytes at a time with
// several loads in flight, by the few rows of the other, which the caches keep. Where rows are few, warps share them
// along K.
#include <algorithm>
#include <cmath>

#include "dsl/hopper.h"
#include "dsl/warp.h"
#include "templates/hopper_gemm.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

constexpr int kMaxFew = 8;
constexpr int kLanes = 32;  // of a warp

struct Config {
  int few = 1;      // rows of the small operand
  int rows = 2;     // of the large one for each warp at a time
  int unroll = 4;   // loads of each row in flight
  int warps = 8;    // of a CTA
  int split_k = 1;  // warps that share a row
  int load_bytes = 16;
  int small_bytes = 16;  // of a load of the small operand along K; 0: element by element, with any strides
  int swap = 0;          // A is the large operand
  template <class F>
  void fields(F&& f) {
    f("few", few), f("rows", rows), f("unroll", unroll), f("warps", warps), f("split_k", split_k);
    f("load_bytes", load_bytes), f("small_bytes", small_bytes), f("swap", swap);
  }
};

std::vector<Tensor> rows_of_matrix(const Tensor& t, const Int& first, int count) {
  std::vector<Tensor> out;  // rows that do not exist are read as the last, and not stored
  for (int r = 0; r < count; ++r) out.push_back(t.slice(0, min(first + r, t.extent(0) - 1)));
  return out;
}

Vec lanes_of(const Vec& v, int first, int count) {
  std::vector<int> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(first + i);
  return permute(v, v, lanes);
}

// `count` elements along K: as one load, or one by one.
Vec load_chunk(const Tensor& row, const Int& k, int count, bool whole, CacheHint hint) {
  const Kind element = row.element();
  if (whole && count * bytes(element) >= 4) return op::load_global(row.address({k}), element, count, hint);
  std::vector<Vec> parts;
  const int step = whole ? count : 1;
  for (int i = 0; i < count; i += step) parts.push_back(op::load(row.address({k + i}), element, step, {}));
  return whole ? parts[0] : join(parts);
}

// The sums of one thread, of rows x few dot products, a few lanes each: enough of them to hide the latency of an FMA.
class Dots {
 public:
  Dots(const Config& c, Kind sum, int chunk)
      : rows_(c.rows),
        few_(c.few),
        lanes_(std::clamp(8 / (c.rows * c.few), 1, chunk)),
        kind_(sum),
        sums_(c.rows, c.few, zero(sum, lanes_)) {}

  void add(const std::vector<Vec>& large, const std::vector<Vec>& small) {
    for (int r = 0; r < rows_; ++r)
      for (int j = 0; j < few_; ++j)
        for (int i = 0; i < large[size_t(r)].lanes; i += lanes_) {
          Vec x = convert(lanes_of(large[size_t(r)], i, lanes_), kind_),
              y = convert(lanes_of(small[size_t(j)], i, lanes_), kind_);
          sums_(r, j) = fma(x, y, sums_(r, j));
        }
  }
  // One element of each row, in the first lane.
  void add_element(const std::vector<Vec>& large, const std::vector<Vec>& small) {
    for (int r = 0; r < rows_; ++r)
      for (int j = 0; j < few_; ++j) {
        const Vec product = convert(large[size_t(r)], kind_) * convert(small[size_t(j)], kind_), before = sums_(r, j);
        std::vector<Vec> lanes{extract(before, 0) + product};
        for (int i = 1; i < lanes_; ++i) lanes.push_back(extract(before, i));
        sums_(r, j) = join(lanes);
      }
  }
  // Number r * few + j.
  std::vector<Vec> numbers() const {
    std::vector<Vec> out;
    for (int r = 0; r < rows_; ++r)
      for (int j = 0; j < few_; ++j) out.push_back(reduce_add(sums_(r, j)));
    return out;
  }

 private:
  int rows_, few_, lanes_;
  Kind kind_;
  Vars<Vec> sums_;
};

// All of K for one thread: chunks `thread`, `thread` + `threads`, ..., and what is left of K behind the last whole chunk.
void multiply(Dots& dots, const Config& c, const std::vector<Tensor>& large, const std::vector<Tensor>& small,
              const Int& thread, int threads) {
  const int chunk = c.load_bytes / bytes(large[0].element());
  const Int k = large[0].extent(0), chunks = k / chunk;
  const auto add = [&](const Int& first, int count) {  // loads first
    std::vector<std::vector<Vec>> wide(static_cast<size_t>(count)), narrow(static_cast<size_t>(count));
    for (int u = 0; u < count; ++u)
      for (const Tensor& row : large)
        wide[size_t(u)].push_back(load_chunk(row, (first + u * threads) * chunk, chunk, true, CacheHint::evict_first));
    for (int u = 0; u < count; ++u)
      for (const Tensor& row : small)
        narrow[size_t(u)].push_back(
            load_chunk(row, (first + u * threads) * chunk, chunk, c.small_bytes != 0, CacheHint::evict_last));
    for (int u = 0; u < count; ++u) dots.add(wide[size_t(u)], narrow[size_t(u)]);
  };
  const int step = threads * c.unroll, reach = threads * (c.unroll - 1);
  Var<Int> next(thread);
  if (c.unroll > 1)
    for (Int first : range(thread, select(chunks > reach, chunks - reach, 0), step)) {
      add(first, c.unroll);
      next = first + step;
    }
  for (Int first : range(next, chunks, threads)) add(first, 1);
  const Int rest = chunks * chunk + thread;
  when(rest < k, [&] {
    const auto elements = [&](const std::vector<Tensor>& rows) {
      std::vector<Vec> out;
      for (const Tensor& row : rows) out.push_back(op::load(row.address({rest}), row.element(), 1, {}));
      return out;
    };
    dots.add_element(elements(large), elements(small));
  });
}

Tensor matrix_of(GpuBuilder& k, const MatrixArg& arg) {
  const Tensor t = k.matrix(arg);
  return arg.transposed ? t.transposed() : t;
}

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);  // a has few rows, b many
  const Tensor small = matrix_of(k, in.a), large = matrix_of(k, in.b);
  k.align(in.b.name, c.load_bytes);
  if (c.small_bytes) k.align(in.a.name, c.small_bytes);
  const GlobalOutput d = k.global_output(in.d, /*vectors=*/false);
  const int groups = c.warps / c.split_k, rows_of_cta = groups * c.rows, numbers = c.rows * c.few;
  const Kind sum = p.acc;
  k.grid(in.b.transposed ? in.b.columns : in.b.rows, rows_of_cta, in.a.transposed ? in.a.columns : in.a.rows, c.few,
         /*persistent=*/true);
  const Int parts = c.split_k > 1 ? k.allocate("partial sums", int64_t(c.warps) * numbers * 4) : Int(0);
  const Tensor partial(op::shared_pointer(parts), sum, staged(padded_tile(c.warps, numbers, 4)), Space::shared);

  k.threads(kLanes * c.warps, [&](const Cta& self) {
    const int mode = p.batched ? 1 : 0;
    const Int of_member = large.tiles(mode, rows_of_cta), members = p.batched ? large.extent(0) : Int(1);
    const Int part = self.warp % c.split_k, group = self.warp / c.split_k;
    for (Int t : range(op::block_id(), of_member * members, op::grid_size())) {
      const Int batch = p.batched ? t / of_member : Int(0), first = (p.batched ? t % of_member : t) * rows_of_cta;
      const auto member = [&](const Tensor& m) { return p.batched ? m.slice(0, batch) : m; };
      const auto store = [&](const Int& row, const Int& number, const Vec& value) {
        d.store({batch, 0, 0, 0, 0, 1}, number % c.few, row + number / c.few, value);
      };
      Dots dots(c, sum, c.load_bytes / bytes(large.element()));
      multiply(dots, c, rows_of_matrix(member(large), first + group * c.rows, c.rows),
               rows_of_matrix(member(small), 0, c.few), part * kLanes + self.lane, kLanes * c.split_k);
      const LaneSums one = lane_sums(dots.numbers(), self.lane);
      const Bool holds = one.holds & (one.first < numbers);
      if (c.split_k == 1) {
        when(holds, [&] { store(first + group * c.rows, one.first, one.values[0]); });
        continue;
      }
      when(holds, [&] { partial.store({self.warp, one.first}, one.values[0]); });
      self.sync();
      for (Int i : range(self.thread, groups * numbers, kLanes * c.warps)) {
        const Int g = i / numbers, number = i % numbers;
        Var<Vec> total(partial.load({g * c.split_k, number}));
        for (int s = 1; s < c.split_k; ++s) total = total.get() + partial.load({g * c.split_k + s, number});
        store(first + g * c.rows, number, total);
      }
      self.sync();
    }
  });
}

// What loads along K each operand allows: 16, 8, 4, ... bytes; 0: K is not contiguous.
struct Loads {
  int large, small;
};
Loads loads_of(const GemmProblem& p, bool swap) {
  const GemmClass c = class_of(p);
  const int a = c.a.major == Major::row ? aligned_bytes(p.a, Major::row, p.m, p.k, p.batch) : 0;
  const int b = c.b.major == Major::column ? aligned_bytes(p.b, Major::column, p.k, p.n, p.batch) : 0;
  return swap ? Loads{a, b} : Loads{b, a};
}

Supports fits(const GemmProblem& p, bool swap) {
  const int64_t few = swap ? p.n : p.m;
  if (few > kMaxFew)
    return Supports::no(std::string(swap ? "n" : "m") + " = " + std::to_string(few) + " > " + std::to_string(kMaxFew) +
                        ", the rows whose products fit the registers of a thread");
  if (loads_of(p, swap).large == 0) {
    const MatrixSpec& large = swap ? p.a : p.b;
    return Supports::no(
        std::string(swap ? "rows of A" : "columns of B") + " are not contiguous along k: their steps are " +
        std::to_string(swap ? large.column_stride : large.row_stride) + " elements; gemv_columns reads across them");
  }
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

int registers_of(const Config& c) { return (c.rows + c.few) * c.unroll * c.load_bytes / 4 + c.rows * c.few * 2 + 40; }

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts&) {
  const auto rule = [](const char* field, int value, const std::string& why) {
    return Supports::no(std::string(field) + " = " + std::to_string(value) + " " + why);
  };
  const auto power_of_two = [](int n, int most) { return n >= 1 && n <= most && (n & (n - 1)) == 0; };
  if (c.swap != 0 && c.swap != 1) return rule("swap", c.swap, "is not 0 or 1");
  if (const Supports fit = fits(p, c.swap); !fit) return fit;
  const int64_t few = c.swap ? p.n : p.m;
  const int element = element_bytes(p);
  if (c.few < std::max<int64_t>(few, 1) || c.few > kMaxFew)
    return rule("few", c.few,
                "is not from " + std::to_string(std::max<int64_t>(few, 1)) + ", the rows that there are, to " +
                    std::to_string(kMaxFew));
  if (!power_of_two(c.rows, 8)) return rule("rows", c.rows, "is not 1, 2, 4 or 8");
  if (c.rows * c.few > kLanes)
    return Supports::no(std::to_string(c.rows) + " x " + std::to_string(c.few) +
                        " sums are more than 32, one for each thread of a warp");
  if (!power_of_two(c.unroll, 8)) return rule("unroll", c.unroll, "is not 1, 2, 4 or 8");
  if (!power_of_two(c.warps, 16)) return rule("warps", c.warps, "is not 1, 2, 4, 8 or 16");
  if (!power_of_two(c.split_k, c.warps))
    return rule("split_k", c.split_k, "is not a power of two up to the " + std::to_string(c.warps) + " warps of a CTA");
  const Loads loads = loads_of(p, c.swap);
  if (!power_of_two(c.load_bytes, 16) || c.load_bytes < element || c.load_bytes > loads.large)
    return rule("load_bytes", c.load_bytes,
                "is not from " + std::to_string(element) + " to " + std::to_string(loads.large) +
                    ", what the strides of the large operand are multiples of");
  if (c.small_bytes != 0 && (c.small_bytes != c.load_bytes || loads.small < c.small_bytes))
    return rule("small_bytes", c.small_bytes,
                "is neither 0 nor load_bytes = " + std::to_string(c.load_bytes) +
                    " on strides that are multiples of it; those of the small operand allow " +
                    std::to_string(loads.small));
  const int registers = registers_of(c);
  if (registers > 65536 / (kLanes * c.warps) || registers > 255)
    return Supports::no("about " + std::to_string(registers) + " registers do not fit a thread of " +
                        std::to_string(c.warps) + " warps; fewer rows or a smaller unroll");
  return {};
}

double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  const double k = double(std::max<int64_t>(p.k, 1)), many = double(std::max<int64_t>(c.swap ? p.m : p.n, 1));
  const double element = element_bytes(p), products = many * k * double(p.batch);
  Reading r;
  r.bytes = products * element;
  r.ctas = std::ceil(many / (double(c.warps) / c.split_k * c.rows)) * double(p.batch);
  r.threads = kLanes * c.warps;
  r.registers = registers_of(c);
  const double loads_of_row = k * element / c.load_bytes / (kLanes * c.split_k);
  r.bytes_in_flight = c.rows * std::min(double(c.unroll), std::max(loads_of_row, 0.25)) * c.load_bytes;
  r.operations = products * (c.few + 2.0 + (c.small_bytes ? 2.0 : 4.0) * c.few / c.rows);
  r.round_us = c.split_k > 1 ? 0.2 : 0.1;
  return predict_reading_us(r, device);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts&) {
  std::vector<Config> out;
  for (int swap : {0, 1}) {
    if (!fits(p, swap)) continue;
    const Loads loads = loads_of(p, swap);
    Config c;
    c.swap = swap;
    c.few = int(std::max<int64_t>(swap ? p.n : p.m, 1));
    c.load_bytes = loads.large;
    c.small_bytes = loads.small >= loads.large ? loads.large : 0;
    for (int rows : {1, 2, 4, 8})
      for (int unroll : {1, 2, 4, 8})
        for (int warps : {4, 8, 16})
          for (int split : {1, 2, 4, 8}) {
            c.rows = rows, c.unroll = unroll, c.warps = warps, c.split_k = split;
            out.push_back(c);
          }
  }
  return out;
}

}  // namespace

KernelTemplate gemv_rows() {
  return make_template<Config>("gemv_rows", "sm_90a", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
