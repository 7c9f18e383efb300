#include "templates/hopper_gemm.h"

#include <algorithm>
#include <cmath>

namespace gemmsmith {
namespace {

constexpr int64_t kTmaAlignment = 16;

std::string number(int64_t n) { return std::to_string(n); }

// Whether TMA can read or write a matrix of this shape.
Supports tma_takes(const char* name, const MatrixSpec& m, int64_t rows, int64_t columns, int64_t batch) {
  if (rows == 0 || columns == 0) return {};
  const int64_t element = bytes_of(m.type);
  const bool by_rows = m.column_stride == 1 || columns <= 1, by_columns = m.row_stride == 1 || rows <= 1;
  if (!by_rows && !by_columns)
    return Supports::no(std::string(name) + " has steps of " + number(m.row_stride) + " and " +
                        number(m.column_stride) + " elements; TMA needs one mode to be contiguous");
  const int64_t outer = by_rows && !(by_columns && columns <= 1) ? m.row_stride : m.column_stride;
  const int64_t outer_extent = by_rows && !(by_columns && columns <= 1) ? rows : columns;
  if (outer_extent > 1 && (outer <= 0 || outer * element % kTmaAlignment != 0))
    return Supports::no(std::string(name) + " has a leading dimension of " + number(outer) + " elements, " +
                        number(outer * element) + " bytes; TMA needs a positive multiple of 16");
  if (batch > 1 && (m.batch_stride <= 0 || m.batch_stride * element % kTmaAlignment != 0))
    return Supports::no(std::string(name) + " has a batch stride of " + number(m.batch_stride) + " elements, " +
                        number(m.batch_stride * element) + " bytes; TMA needs a positive multiple of 16");
  return {};
}

MatrixArg matrix_of(const char* name, const char* rows, const char* columns, const OperandClass& c, bool batched) {
  return {name, rows, columns, c.major, c.type, batched};
}
MatrixArg transposed(MatrixArg m) {
  m.transposed = true;
  return m;
}

}  // namespace

int element_bytes(const GemmProblem& p) { return bytes_of(p.a.type); }

int aligned_bytes(const MatrixSpec& m, Major contiguous, int64_t rows, int64_t columns, int64_t batch) {
  if (contiguous == Major::none) return 0;
  if (rows == 0 || columns == 0) return 16;  // there are no runs
  const bool by_rows = contiguous == Major::row;
  const int64_t element = bytes_of(m.type), across = by_rows ? m.row_stride : m.column_stride,
                runs = by_rows ? rows : columns;
  int64_t bytes = 16;
  while (bytes > element &&
         ((runs > 1 && across * element % bytes != 0) || (batch > 1 && m.batch_stride * element % bytes != 0)))
    bytes /= 2;
  return int(bytes);
}

HopperOperands hopper_operands(const GemmClass& c, bool swap) {
  const MatrixArg a = matrix_of("a", "m", "k", c.a, c.batched), b = matrix_of("b", "k", "n", c.b, c.batched);
  HopperOperands o;
  o.a = swap ? transposed(b) : a;
  o.b = swap ? a : transposed(b);
  o.d.d = matrix_of("d", "m", "n", c.d, c.batched);
  o.d.c = matrix_of(kOperandC, "m", "n", c.c, c.batched);
  o.d.acc = c.acc;
  o.d.alpha = c.scaled;
  o.d.beta = c.reads_c;
  o.d.epilogue = c.epilogue;
  for (const InputSpec& input : c.inputs) o.d.inputs.push_back({input.name, input.index, input.type});
  o.d.d.transposed = swap;
  return o;
}

Supports has_vectors(const GemmProblem& p) {
  const int64_t lanes = 16 / bytes_of(p.d.type);
  const bool by_rows = p.d.column_stride == 1;
  const int64_t extent = by_rows ? p.n : p.m;
  if (extent % lanes != 0)
    return Supports::no(std::string(by_rows ? "n = " : "m = ") + number(extent) + " is not a multiple of " +
                        number(lanes) + ", a vector of 16 bytes of D");
  const int64_t leading = by_rows ? p.d.row_stride : p.d.column_stride, runs = by_rows ? p.m : p.n;
  if ((runs > 1 && leading % lanes != 0) || (p.batch > 1 && p.d.batch_stride % lanes != 0))
    return Supports::no("D has steps of " + number(leading) + " elements" +
                        (p.batch > 1 ? " and, in the batch, " + number(p.d.batch_stride) : std::string()) +
                        ", not multiples of " + number(lanes) + ", a vector of 16 bytes");
  if (p.reads_c()) {
    const int64_t inner = by_rows ? p.c.column_stride : p.c.row_stride,
                  outer = by_rows ? p.c.row_stride : p.c.column_stride;
    if (inner != 1 || outer % lanes != 0 || (p.batch > 1 && p.c.batch_stride % lanes != 0))
      return Supports::no("C is not aligned to vectors of " + number(lanes) + " elements along D's contiguous mode");
  }
  if (!by_rows)
    for (const InputSpec& input : p.inputs)
      if (input.index == InputIndex::full)
        return Supports::no("input " + input.name + " is row-major where D is column-major");
  return {};
}

Supports hopper_supports(const GemmProblem& p, const DeviceFacts&) {
  if (p.a.type != p.b.type)
    return Supports::no("A is " + std::string(name_of(p.a.type)) + " and B " + std::string(name_of(p.b.type)) +
                        "; wgmma multiplies equal types");
  const bool half = p.a.type == DataType::f16 || p.a.type == DataType::bf16;
  if (!half && p.a.type != DataType::i8)
    return Supports::no(std::string(name_of(p.a.type)) +
                        " is not multiplied exactly by tensor cores; f16, bf16 and i8 are");
  if (half ? p.acc != DataType::f32 : p.acc != DataType::i32)
    return Supports::no("sums of " + std::string(name_of(p.a.type)) + " products in " + std::string(name_of(p.acc)) +
                        " are not those of wgmma");
  if (p.d.type != DataType::f32 && p.d.type != DataType::f16 && p.d.type != DataType::bf16 &&
      p.d.type != DataType::i32 && p.d.type != DataType::i8)
    return Supports::no("D of " + std::string(name_of(p.d.type)) + " has no store");
  for (const Supports& answer : {tma_takes("A", p.a, p.m, p.k, p.batch), tma_takes("B", p.b, p.k, p.n, p.batch)})
    if (!answer) return answer;
  if (!half) {
    const GemmClass c = class_of(p);
    if (c.a.major != Major::row || c.b.major != Major::column)
      return Supports::no("8-bit operands have to be K-major for wgmma: A row-major and B column-major");
  }
  return {};
}

Supports tma_stores(const GemmProblem& p) {
  if (const Supports answer = tma_takes("D", p.d, p.m, p.n, p.batch); !answer) return answer;
  const bool by_rows = p.d.column_stride == 1;
  const int64_t extent = by_rows ? p.n : p.m, unit = kTmaAlignment / bytes_of(p.d.type);
  const int64_t outer = by_rows ? p.m : p.n;
  if (extent % unit == 0 || outer == 0) return {};
  // Measured on an H200: tests/golden, tma_store_edge_*. The element behind a row's end is the gap, or the next row.
  return Supports::no(std::string(by_rows ? "n = " : "m = ") + number(extent) + " is not a multiple of " +
                      number(unit) + ": TMA stores write whole 16 bytes, and so past the end of D's " +
                      (by_rows ? "rows" : "columns"));
}

bool rows_are_contiguous(const HopperConfig& c, const GemmProblem& p) {
  const GemmClass operands = class_of(p);
  return c.swap ? operands.b.major == Major::row : operands.a.major == Major::column;
}

Supports hopper_legal(const HopperConfig& c, const GemmProblem& p, int consumers) {
  const int step = 32 / element_bytes(p), unit = 64 * consumers;
  const auto rule = [](const std::string& what, const std::string& why) { return Supports::no(what + " " + why); };
  if (c.block_m <= 0 || c.block_m % unit != 0)
    return rule("block_m = " + number(c.block_m),
                "is not a multiple of " + number(unit) + ", 64 rows of wgmma for each of " + number(consumers) +
                    " consumers; near it: " + number(std::max(c.block_m / unit, 1) * unit));
  const int n_unit = p.a.type == DataType::i8 && c.block_n > 24 ? 16 : 8;
  if (c.block_n < 8 || c.block_n > 256 || c.block_n % n_unit != 0)
    return rule("block_n = " + number(c.block_n),
                "is not a multiple of " + number(n_unit) + " from 8 to 256, the n of wgmma");
  if (c.block_k <= 0 || c.block_k % step != 0 || c.block_k > 256)
    return rule("block_k = " + number(c.block_k),
                "is not a multiple of " + number(step) + " up to 256, the k of wgmma");
  if (c.num_stages < 1 || c.num_stages > 16) return rule("num_stages = " + number(c.num_stages), "is not 1 to 16");
  if (c.swap != 0 && c.swap != 1) return rule("swap = " + number(c.swap), "is not 0 or 1");
  if (c.rows_loaded != 0) {
    const int64_t rows = c.swap ? p.n : p.m;
    if (c.rows_loaded % 8 != 0 || c.rows_loaded < rows || c.rows_loaded > c.block_m)
      return rule(
          "rows_loaded = " + number(c.rows_loaded),
          "is not a multiple of 8 from " + number(rows) + ", the rows there are, to block_m = " + number(c.block_m));
    if (rows_are_contiguous(c, p))
      return rule("rows_loaded = " + number(c.rows_loaded),
                  "is of an operand whose rows lie side by side: a box is as wide as its swizzle");
  }
  if (c.l2_promotion != 0 && c.l2_promotion != 64 && c.l2_promotion != 128 && c.l2_promotion != 256)
    return rule("l2_promotion = " + number(c.l2_promotion), "is not 0, 64, 128 or 256");
  if (c.vectors)
    if (const Supports answer = has_vectors(p); !answer) return Supports::no("vectors = 1: " + answer.reason);
  return {};
}

double predict_gemm_us(const TileCost& t, const GemmProblem& p, const DeviceFacts& device) {
  const double m = double(std::max<int64_t>(p.m, 1)), n = double(std::max<int64_t>(p.n, 1));
  const double k = double(std::max<int64_t>(p.k, 1)) / t.splits, batch = double(p.batch);
  const double tiles = std::ceil(m / t.tile_rows) * std::ceil(n / t.tile_columns) * batch * t.splits;
  const double waves = std::ceil(tiles / t.tiles_at_once);
  const double units = std::max(device.cores, 1);
  const double peak = device.peak_bf16_gflops > 0 ? device.peak_bf16_gflops : 7000.0 * units;  // of all units
  const double flops_per_us = peak * 1e3 / units * t.mma_efficiency;                           // of one
  const double element = double(bytes_of(p.a.type));
  const double mma_us = 2 * t.tile_rows * t.tile_columns * k / flops_per_us;
  const double memory_bytes_per_us = (device.read_gbytes_per_s > 0 ? device.read_gbytes_per_s : 4000.0) * 1e3;
  const double l2_bytes_per_us = memory_bytes_per_us * 1.3;
  const double loaded = (t.tile_rows + t.tile_columns) * k * element * std::min(tiles, double(t.tiles_at_once));
  const double once = ((m + n) * double(p.k) * element + m * n * double(bytes_of(p.d.type))) * batch;
  const double wave_us = std::max(mma_us, loaded / l2_bytes_per_us) + t.epilogue_us;
  constexpr double kStartUs = 3;
  return kStartUs + std::max(waves * wave_us, once / memory_bytes_per_us);
}

double predict_reading_us(const Reading& r, const DeviceFacts& device) {
  constexpr double kRegisters = 65536, kThreads = 2048, kLanes = 128;  // of an SM
  constexpr double kLatencyUs = 0.7, kCyclesPerUs = 1.7e3, kStartUs = 3;
  const double sms = std::max(device.cores, 1);
  const double memory_bytes_per_us = (device.read_gbytes_per_s > 0 ? device.read_gbytes_per_s : 4000.0) * 1e3;
  const double resident =
      std::max(std::floor(std::min(kRegisters / (double(r.registers) * r.threads), kThreads / r.threads)), 1.0);
  const double at_once = std::min(std::max(r.ctas, 1.0), resident * sms);
  const double read_us = r.bytes / std::min(memory_bytes_per_us, at_once * r.threads * r.bytes_in_flight / kLatencyUs);
  const double math_us = r.operations / (std::min(std::max(r.ctas, 1.0), sms) * kLanes * kCyclesPerUs);
  return kStartUs + std::max(read_us, math_us) + std::ceil(r.ctas / at_once) * r.round_us;
}

}  // namespace gemmsmith
