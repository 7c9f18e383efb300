// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ) of matrices that TMA cannot address: strides and offsets of any number of elements, no
// contiguous mode, any sizes. All threads of a CTA copy tiles with cp.async, in the largest pieces that are aligned, a few
// stages ahead; warps multiply with ldmatrix and mma.sync. Sums go through shared memory to stores that D's alignment
// allows. After the multistage mainloop of sm_80 in CUTLASS.
#include <algorithm>

#include "dsl/hopper.h"
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct Config {
  int block_m = 128, block_n = 128, block_k = 32;
  int num_stages = 3;
  int warps_m = 2, warps_n = 2;  // of a CTA: each has a part of the tile
  int copy_a = 4, copy_b = 4;    // bytes of a copy: 4, 8, 16, or the size of an element
  int vectors = 0;               // four elements of D never stick out, of D, C or full inputs, and are aligned
  template <class F>
  void fields(F&& f) {
    f("block_m", block_m), f("block_n", block_n), f("block_k", block_k), f("num_stages", num_stages);
    f("warps_m", warps_m), f("warps_n", warps_n), f("copy_a", copy_a), f("copy_b", copy_b), f("vectors", vectors);
  }
  int threads() const { return 32 * warps_m * warps_n; }
  int warp_rows() const { return block_m / warps_m; }
  int warp_columns() const { return block_n / warps_n; }
};

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, false);
  const TileShape block = tile(c.block_m, c.block_n);
  const AsyncInput a = k.async_input(in.a, tile(c.block_m, c.block_k), c.num_stages, c.copy_a);
  const AsyncInput b = k.async_input(in.b, tile(c.block_n, c.block_k), c.num_stages, c.copy_b);
  const Layout sums_layout = padded_tile(c.block_m, c.block_n, 4, 32);  // 32 bytes move rows to other banks
  const Int sums_at = k.allocate("sums", span_bytes(sums_layout));
  const Tensor sums(op::shared_pointer(sums_at), op::accumulator_of(a.element()), staged(sums_layout), Space::shared);
  const GlobalOutput d = k.global_output(in.d, c.vectors);
  const Tile t = k.one_tile_per_cluster(in.d, block, in.a, c.block_k, k.cluster(1)).only();

  k.threads(c.threads(), [&](const Cta& self) {
    WarpTile acc(a, b, tile(c.warp_rows(), c.warp_columns()), self.warp % c.warps_m * c.warp_rows(),
                 self.warp / c.warps_m * c.warp_columns(), self.lane);
    multistage(
        self, c.num_stages, t.first_k, t.last_k,
        [&](const Int& to, const Int& kb) {
          a.copy(self, to, t.batch, t.m * c.block_m, kb * c.block_k);
          b.copy(self, to, t.batch, t.n * c.block_n, kb * c.block_k);
        },
        [&](const Int& from) { acc.mma(from); });
    acc.store(sums);
    self.sync();

    const int lanes = c.vectors ? 4 : 1, vectors = c.block_n / lanes;  // of a row
    const bool by_columns = p.d.major == Major::column;  // neighbouring threads store neighbours in memory
    for (Int v : range(self.thread, c.block_m * vectors, c.threads())) {
      const Int row = by_columns ? v % c.block_m : v / vectors,
                column = (by_columns ? v / c.block_m : v % vectors) * lanes;
      d.store(t, t.m * c.block_m + row, t.n * c.block_n + column, sums.load({row, column}, lanes));
    }
  });
}

// The largest copy of an operand: along its contiguous mode, or single elements.
int largest_copy(const MatrixSpec& m, const OperandClass& c, bool mn_major, int64_t rows, int64_t columns,
                 int64_t batch) {
  const int element = int(bytes_of(m.type)), bytes = aligned_bytes(m, c.major, rows, columns, batch);
  const bool transposes_bytes = mn_major && element == 1;
  return bytes < 4 || transposes_bytes ? element : bytes;
}
struct Copies {
  int a, b;
};
Copies copies_of(const GemmProblem& p) {
  const GemmClass c = class_of(p);
  return {largest_copy(p.a, c.a, c.a.major == Major::column, p.m, p.k, p.batch),
          largest_copy(p.b, c.b, c.b.major == Major::row, p.k, p.n, p.batch)};
}

Supports supports(const GemmProblem& p, const DeviceFacts&) {
  const bool half = p.a.type == DataType::f16 || p.a.type == DataType::bf16;
  if (p.a.type != p.b.type || (!half && p.a.type != DataType::i8))
    return Supports::no("A is " + std::string(name_of(p.a.type)) + " and B " + std::string(name_of(p.b.type)) +
                        "; mma.sync multiplies f16, bf16 or i8 exactly, and equal types" +
                        (p.a.type == DataType::f32 ? "; f32 would be rounded to tf32" : ""));
  if (p.acc != (half ? DataType::f32 : DataType::i32))
    return Supports::no("sums of " + std::string(name_of(p.a.type)) + " products in " + std::string(name_of(p.acc)) +
                        " are not those of mma.sync");
  if (p.d.type == DataType::f64) return Supports::no("D of f64 has no store");
  return {};
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts&) {
  const auto rule = [](const char* field, int value, const std::string& why) {
    return Supports::no(std::string(field) + " = " + std::to_string(value) + " " + why);
  };
  const auto warps = [](int n) { return n == 1 || n == 2 || n == 4 || n == 8; };
  const int element = element_bytes(p), step = 32 / element;
  if (!warps(c.warps_m)) return rule("warps_m", c.warps_m, "is not 1, 2, 4 or 8");
  if (!warps(c.warps_n)) return rule("warps_n", c.warps_n, "is not 1, 2, 4 or 8");
  if (c.warps_m * c.warps_n > 16)
    return Supports::no(std::to_string(c.warps_m * c.warps_n) + " warps are more than 16, what their registers allow");
  if (c.block_m <= 0 || c.block_m > 256 || c.block_m % (16 * c.warps_m) != 0)
    return rule("block_m", c.block_m,
                "is not a multiple of " + std::to_string(16 * c.warps_m) + " up to 256, 16 rows of mma for each of " +
                    std::to_string(c.warps_m) + " warps");
  if (c.block_n <= 0 || c.block_n > 256 || c.block_n % (16 * c.warps_n) != 0)
    return rule("block_n", c.block_n,
                "is not a multiple of " + std::to_string(16 * c.warps_n) + " up to 256, 16 columns for each of " +
                    std::to_string(c.warps_n) + " warps");
  if (c.block_k <= 0 || c.block_k > 128 || c.block_k % step != 0)
    return rule("block_k", c.block_k, "is not a multiple of " + std::to_string(step) + " up to 128, the k of mma.sync");
  if (c.num_stages < 2 || c.num_stages > 8) return rule("num_stages", c.num_stages, "is not 2 to 8");
  const Copies largest = copies_of(p);
  const auto copies = [&](const char* field, int bytes, int most) {
    const bool known = bytes == element || bytes == 4 || bytes == 8 || bytes == 16;
    if (known && bytes >= element && bytes <= most) return Supports();
    return rule(field, bytes,
                "is not " + std::to_string(element) + " or one of 4, 8, 16 up to " + std::to_string(most) +
                    ", what the operand's strides are multiples of");
  };
  for (const Supports& answer : {copies("copy_a", c.copy_a, largest.a), copies("copy_b", c.copy_b, largest.b)})
    if (!answer) return answer;
  const int sums = c.warp_rows() * c.warp_columns() / 32, fragments = c.warp_rows() / 4 + c.warp_columns() / 4;
  const int addresses = (c.warp_rows() + c.warp_columns()) / 16 * (c.block_k / step),
            registers = sums + fragments + addresses + 48;
  if (registers > std::min(255, 65536 / c.threads()))
    return Supports::no(std::to_string(sums) + " sums, " + std::to_string(fragments) + " of operands and " +
                        std::to_string(addresses) +
                        " addresses do not fit the registers of a thread; smaller tiles or more warps");
  if (c.vectors != 0 && c.vectors != 1) return rule("vectors", c.vectors, "is not 0 or 1");
  if (c.vectors && class_of(p).d.major != Major::row) return rule("vectors", c.vectors, "needs a row-major D");
  if (c.vectors)
    if (const Supports answer = has_vectors(p); !answer) return Supports::no("vectors = 1: " + answer.reason);
  const auto aligned = [](int64_t bytes) { return (bytes + 1023) / 1024 * 1024; };
  return fits_shared(aligned(int64_t(c.num_stages) * c.block_m * c.block_k * element) +
                     aligned(int64_t(c.num_stages) * c.block_n * c.block_k * element) +
                     int64_t(c.block_m) * (c.block_n * 4 + 32));
}

// mma.sync reaches about 65 % of wgmma's rate on Hopper; small copies need more instructions than the tile has products.
double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  const int warps = c.warps_m * c.warps_n;
  const double copies = double(c.block_m) / c.copy_a + double(c.block_n) / c.copy_b;  // per byte of k
  const double products = double(c.block_m) * c.block_n / (16 * 8) / 32;              // mma.sync
  const double instructions = products + 12.0 * copies / 32 + double(c.block_m + c.block_n) / 16 / 32 * warps / 2;
  TileCost cost{double(c.block_m), double(c.block_n), std::max(device.cores, 1)};
  cost.mma_efficiency = 0.6 * products / instructions * std::min(1.0, warps / 4.0);
  cost.epilogue_us = double(c.block_m) * c.block_n / c.threads() / (c.vectors ? 4 : 1) * 0.01 + 0.5;
  return predict_gemm_us(cost, p, device);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts&) {
  std::vector<Config> out;
  const Copies copies = copies_of(p);
  const bool vectors = class_of(p).d.major == Major::row && has_vectors(p);
  struct Shape {
    int m, n, warps_m, warps_n;
  };
  for (const Shape& s : {Shape{128, 128, 2, 2},
                         {128, 128, 2, 4},
                         {128, 64, 2, 2},
                         {64, 128, 2, 2},
                         {64, 64, 2, 2},
                         {32, 64, 1, 2},
                         {64, 32, 2, 1},
                         {16, 64, 1, 2},
                         {64, 16, 2, 1},
                         {16, 128, 1, 4},
                         {128, 16, 4, 1}})
    for (int k_bytes : {64, 128})
      for (int stages : {2, 3, 4, 5}) {
        Config c;
        c.block_m = s.m, c.block_n = s.n, c.warps_m = s.warps_m, c.warps_n = s.warps_n;
        c.block_k = k_bytes / element_bytes(p), c.num_stages = stages, c.vectors = vectors;
        c.copy_a = copies.a, c.copy_b = copies.b;
        out.push_back(c);
      }
  return out;
}

}  // namespace

KernelTemplate gemm_unaligned() {
  return make_template<Config>("gemm_unaligned", "sm_90a", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
