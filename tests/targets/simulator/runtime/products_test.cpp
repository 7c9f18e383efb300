// wgmma, mma.sync, ldmatrix and stmatrix against plain products: every type, shape, major and swizzle.
#include <cmath>
#include <cstring>

#include "support/half.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

// A matrix of small numbers that all types hold exactly, so that every order of summation gives the same.
struct Matrix {
  MmaType type;
  int rows, columns;
  std::vector<uint8_t> data;  // row by row

  Matrix(MmaType type, int rows, int columns, uint32_t seed) : type(type), rows(rows), columns(columns) {
    data.resize(size_t(rows * columns * bytes_of(type)));
    uint32_t state = seed;
    for (int i = 0; i < rows * columns; ++i) {
      state = state * 1664525u + 1013904223u;
      const int value = type == MmaType::u8 ? int(state >> 28) : int(state >> 28) - 8;
      set(i, value);
    }
  }
  void set(int i, int value) {
    uint8_t* to = data.data() + i * bytes_of(type);
    const auto f = float(value);
    switch (type) {
      case MmaType::f16:
        store_element(DataType::f16, to, 0, f);
        return;
      case MmaType::bf16:
        store_element(DataType::bf16, to, 0, f);
        return;
      case MmaType::tf32:
        std::memcpy(to, &f, 4);
        return;
      case MmaType::e4m3:
        *to = e4m3_from_float(f);
        return;
      case MmaType::e5m2:
        *to = e5m2_from_float(f);
        return;
      default:
        *to = uint8_t(value);
    }
  }
  const uint8_t* at(int row, int column) const { return data.data() + (row * columns + column) * bytes_of(type); }
  double number(int row, int column) const { return element_as_float(type, at(row, column), 0); }
};

// Puts the tile into shared memory as TMA would: K-major rows of `width` bytes (swizzled), or MN-major; gives the descriptor.
struct Placed {
  uint64_t descriptor;
  std::vector<int64_t> k_steps;  // of 32 bytes of k
};

uint64_t swizzle(uint64_t offset, int width) {
  const uint64_t mask = width == 128 ? 7 : width == 64 ? 3 : width == 32 ? 1 : 0;
  return offset ^ ((offset >> 7 & mask) << 4);
}

// K-major: slabs of `width` bytes of k (16 without swizzle), each all rows, one below the other.
Placed place_k_major(const Matrix& m, char* base, uint32_t offset, int width) {
  const int element = bytes_of(m.type), row_bytes = m.columns * element, slab = width ? width : 16;
  for (int r = 0; r < m.rows; ++r)
    for (int byte = 0; byte < row_bytes; ++byte) {
      const uint64_t linear = uint64_t(byte / slab) * uint64_t(m.rows * slab) + uint64_t(r * slab + byte % slab);
      base[swizzle(offset + linear, width)] = char(m.data[size_t(r * row_bytes + byte)]);
    }
  Placed p;
  p.descriptor = descriptor(base + offset, width, uint32_t(m.rows * slab), uint32_t(8 * slab));
  for (int k = 0; k < row_bytes; k += 32) p.k_steps.push_back(int64_t(k / slab) * m.rows * slab + k % slab);
  return p;
}

// MN-major, 16 bits: columns of k, `width` bytes of MN together (16 without swizzle), eight k a core.
Placed place_mn_major(const Matrix& m, char* base, uint32_t offset, int width) {
  const int slab = width ? width : 16, per_slab = slab / 2;  // of MN
  for (int r = 0; r < m.rows; ++r)
    for (int k = 0; k < m.columns; ++k) {
      const uint64_t linear =
          uint64_t(r / per_slab) * uint64_t(m.columns * slab) + uint64_t(k * slab + r % per_slab * 2);
      std::memcpy(base + swizzle(offset + linear, width), m.at(r, k), 2);
    }
  Placed p;
  const auto slab_stride = uint32_t(m.columns * slab), core = uint32_t(8 * slab);
  p.descriptor =
      width ? descriptor(base + offset, width, slab_stride, core) : descriptor(base + offset, 0, core, slab_stride);
  for (int k = 0; k < m.columns; k += 16) p.k_steps.push_back(int64_t(k) * slab);
  return p;
}

struct WgmmaCase {
  MmaType a, b;
  int m_steps, n, k;  // k in elements
  bool mn_a = false, mn_b = false, registers = false, negate_a = false, negate_b = false;
  int width_a = 128, width_b = 128;
  bool scale_d = false, saturate = false;
};

void check_wgmma(const WgmmaCase& c) {
  const Matrix a(c.a, 64 * c.m_steps, c.k, 1), b(c.b, c.n, c.k, 2);
  Bench bench;
  bench.launch.block.x = 128;
  bench.site("mma", 1);
  const uint32_t at = bench.region("A", uint32_t(a.data.size()), 1024),
                 bt = bench.region("B", uint32_t(b.data.size()), 1024);
  const int count = c.m_steps * c.n / 2;
  std::vector<float> d(size_t(64 * c.m_steps * c.n));
  // Descriptors depend on the window only in its low bits: steps are known before the launch.
  std::vector<char> scratch(bench.launch.shared_bytes);
  const Placed plan_a =
      c.mn_a ? place_mn_major(a, scratch.data(), at, c.width_a) : place_k_major(a, scratch.data(), at, c.width_a);
  const Placed plan_b =
      c.mn_b ? place_mn_major(b, scratch.data(), bt, c.width_b) : place_k_major(b, scratch.data(), bt, c.width_b);
  WgmmaBlock block{.n = c.n,
                   .type_a = c.a,
                   .type_b = c.b,
                   .mn_major_a = c.mn_a,
                   .mn_major_b = c.mn_b,
                   .negate_a = c.negate_a,
                   .negate_b = c.negate_b,
                   .saturate = c.saturate,
                   .a_in_registers = c.registers};
  // A's m64 tiles lie 64 rows below each other in every slab.
  for (int m = 0; m < c.m_steps; ++m)
    block.a_m_steps.push_back(c.mn_a ? int64_t(m) * 64 / ((c.width_a ? c.width_a : 16) / 2) * c.k *
                                           (c.width_a ? c.width_a : 16)
                                     : int64_t(m) * 64 * (c.width_a ? c.width_a : 16));
  block.a_k_steps = plan_a.k_steps;
  block.b_k_steps = plan_b.k_steps;
  bench.blocks = {block};
  const bool integer = is_integer(c.a);
  const auto kernel = [&] {
    const int t = tid(), row = t / 32 * 16 + t % 32 / 4;
    if (t == 0) {
      if (c.mn_a)
        place_mn_major(a, shared(0), at, c.width_a);
      else
        place_k_major(a, shared(0), at, c.width_a);
      if (c.mn_b)
        place_mn_major(b, shared(0), bt, c.width_b);
      else
        place_k_major(b, shared(0), bt, c.width_b);
    }
    sim_barrier_sync(0, 0, -1);
    const int per = 4 / bytes_of(c.a), k_steps = int(plan_b.k_steps.size());
    std::vector<uint32_t> registers(size_t(c.m_steps * k_steps * 4));
    for (int m = 0; m < c.m_steps; ++m)
      for (int s = 0; s < k_steps; ++s)
        for (int reg = 0; reg < 4; ++reg)
          for (int i = 0; i < per; ++i)
            std::memcpy(reinterpret_cast<char*>(&registers[size_t((m * k_steps + s) * 4 + reg)]) + i * bytes_of(c.a),
                        a.at(m * 64 + row + (reg & 1) * 8, s * 8 * per + t % 4 * per + i + (reg >> 1) * 4 * per),
                        size_t(bytes_of(c.a)));
    float acc[256];
    for (int i = 0; i < count; ++i) acc[i] = integer ? std::bit_cast<float>(1000 + i) : float(i);
    const uint64_t da = descriptor(shared(at), c.width_a, 0, 0) | (plan_a.descriptor & 0x3fffffff0000u);
    const uint64_t db = descriptor(shared(bt), c.width_b, 0, 0) | (plan_b.descriptor & 0x3fffffff0000u);
    sim_wgmma_fence(0);
    sim_wgmma_block(0, 0, acc, c.registers ? registers.data() : nullptr, int64_t(da), int64_t(db), c.scale_d);
    sim_wgmma_commit_group(0);
    sim_wgmma_wait_group(0, 0, acc, count);
    for (int r = 0; r < count; ++r) {
      const int m = r / (c.n / 2), i = r % (c.n / 2);
      d[size_t((m * 64 + row + (i & 2 ? 8 : 0)) * c.n + i / 4 * 8 + t % 4 * 2 + (i & 1))] = acc[r];
    }
  };
  const LaunchResult result = bench.run(kernel);
  ASSERT_EQ(result.text(), "");
  const double sign = (c.negate_a ? -1 : 1) * (c.negate_b ? -1 : 1);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < c.n; ++j) {
      double sum = 0;
      for (int k = 0; k < c.k; ++k) sum += sign * a.number(i, k) * b.number(j, k);
      const int in_tile = i % 64, reg = i / 64 * (c.n / 2) + j / 8 * 4 + (in_tile % 16 / 8) * 2 + j % 2;
      if (c.scale_d) sum += integer ? 1000 + reg : reg;
      const float got = d[size_t(i * c.n + j)];
      ASSERT_EQ(integer ? double(std::bit_cast<int32_t>(got)) : double(got), sum)
          << "row " << i << " column " << j << " of types " << int(c.a) << "," << int(c.b) << " n " << c.n << " widths "
          << c.width_a << "," << c.width_b << " mn " << c.mn_a << c.mn_b << " registers " << c.registers;
    }
}

TEST(SimulatorProducts, WgmmaOfEveryType) {
  using enum MmaType;
  for (const auto& [a, b] : {std::pair{f16, f16},
                             {bf16, bf16},
                             {tf32, tf32},
                             {e4m3, e4m3},
                             {e5m2, e5m2},
                             {e4m3, e5m2},
                             {e5m2, e4m3},
                             {s8, s8},
                             {u8, u8},
                             {s8, u8},
                             {u8, s8}})
    for (const bool registers : {false, true})
      for (const bool scale_d : {false, true})
        check_wgmma({.a = a,
                     .b = b,
                     .m_steps = 2,
                     .n = 32,
                     .k = 128 / bytes_of(a),
                     .registers = registers,
                     .scale_d = scale_d});
}

TEST(SimulatorProducts, WgmmaOfEveryLegalN) {
  for (int n = 8; n <= 256; n += 8)
    check_wgmma({.a = MmaType::bf16, .b = MmaType::bf16, .m_steps = 1, .n = n, .k = 16, .width_a = 32, .width_b = 32});
  for (const int n : {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256})
    check_wgmma({.a = MmaType::s8, .b = MmaType::s8, .m_steps = 1, .n = n, .k = 32, .width_a = 32, .width_b = 32});
}

TEST(SimulatorProducts, WgmmaOfEverySwizzleAndMajor) {
  for (const MmaType type : {MmaType::bf16, MmaType::f16})
    for (const int width_a : {0, 32, 64, 128})
      for (const int width_b : {0, 32, 64, 128})
        for (const bool mn_a : {false, true})
          for (const bool mn_b : {false, true})
            check_wgmma({.a = type,
                         .b = type,
                         .m_steps = 2,
                         .n = 64,
                         .k = 64,
                         .mn_a = mn_a,
                         .mn_b = mn_b,
                         .width_a = width_a,
                         .width_b = width_b});
  for (const MmaType type : {MmaType::tf32, MmaType::e4m3, MmaType::s8})
    for (const int width : {0, 32, 64, 128})
      check_wgmma(
          {.a = type, .b = type, .m_steps = 1, .n = 16, .k = 128 / bytes_of(type), .width_a = width, .width_b = width});
}

TEST(SimulatorProducts, WgmmaNegatesOperands) {
  for (const MmaType type : {MmaType::bf16, MmaType::f16, MmaType::tf32, MmaType::e4m3})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        for (const bool registers : {false, true})
          check_wgmma({.a = type,
                       .b = type,
                       .m_steps = 1,
                       .n = 8,
                       .k = 64 / bytes_of(type),
                       .registers = registers,
                       .negate_a = a,
                       .negate_b = b,
                       .width_a = 64,
                       .width_b = 64,
                       .scale_d = true});
}

TEST(SimulatorProducts, BlocksThatDoNotExistAreRefused) {
  const auto error = [](auto change) {
    Bench bench;
    WgmmaBlock block{.n = 64, .a_m_steps = {0}, .a_k_steps = {0}, .b_k_steps = {0}};
    change(block);
    bench.blocks = {block};
    const std::function<void()> nothing = [] {};
    const auto result = Bench::simulator().run(bench.complete(nothing), {});
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& b) { b.n = 12; }),
            "wgmma block 0: n = 12 is not a multiple of 8 from 8 to 256 (of 16 above 24 for integers)");
  EXPECT_EQ(error([](auto& b) { b.type_a = b.type_b = MmaType::s8, b.n = 40; }),
            "wgmma block 0: n = 40 is not a multiple of 8 from 8 to 256 (of 16 above 24 for integers)");
  EXPECT_EQ(error([](auto& b) { b.type_a = MmaType::f16; }),
            "wgmma block 0: operands of these two types cannot be multiplied by one wgmma");
  EXPECT_EQ(error([](auto& b) { b.type_a = b.type_b = MmaType::e4m3, b.mn_major_b = true; }),
            "wgmma block 0: an MN-major operand is for f16 and bf16 only; other types are K-major");
  EXPECT_EQ(error([](auto& b) { b.a_in_registers = b.mn_major_a = true; }),
            "wgmma block 0: an MN-major A in registers does not exist");
  EXPECT_EQ(error([](auto& b) { b.type_a = b.type_b = MmaType::u8, b.negate_a = true; }),
            "wgmma block 0: a negated operand is for float types only");
  EXPECT_EQ(error([](auto& b) { b.saturate = true; }), "wgmma block 0: saturation is for integers only");
  EXPECT_EQ(error([](auto& b) { b.a_k_steps = {0, 32}; }),
            "wgmma block 0: 1 m steps, 2 k steps of A and 1 of B are not at least one each, and as many of A as of B");
}

// Accumulators are in flight until a wait covers them: NaN before, and misuse has a name.
TEST(SimulatorProducts, AccumulatorsInFlight) {
  Bench bench;
  bench.launch.block.x = 128;
  for (int line = 0; line < 10; ++line) bench.site("mma", line);
  bench.region("tiles", 65536, 1024);
  bench.blocks = {{.n = 8, .a_m_steps = {0}, .a_k_steps = {0}, .b_k_steps = {0}}};
  enum Wrong { nothing, touched, group_not_committed, no_fence_after_wait };
  std::vector<float> seen(128 * 4);
  const auto kernel = [&](Wrong wrong) {
    float acc[4];
    std::memset(shared(0) + 128 * tid(), 0, 128);
    sim_fence_proxy_async(1, 0);
    sim_barrier_sync(1, 0, -1);
    const auto d = int64_t(descriptor(shared(0), 128, 16, 1024));
    for (int k = 0; k < 2; ++k) {
      if (k == 0) sim_wgmma_fence(2);
      sim_wgmma_block(3, 0, acc, nullptr, d, d, k > 0);
      if (wrong != group_not_committed) sim_wgmma_commit_group(4);
      if (wrong == touched && tid() == 5) acc[2] = 1;
    }
    sim_wgmma_wait_group(5, 1, acc, 4);
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(std::isnan(acc[i]));  // the second block is in flight, and it is the same accumulator
    sim_wgmma_wait_group(6, 0, acc, 4);
    for (int i = 0; i < 4; ++i) seen[size_t(tid() * 4 + i)] = acc[i];
    if (wrong == no_fence_after_wait) {
      sim_wgmma_block(7, 0, acc, nullptr, d, d, 0);
      sim_wgmma_commit_group(8);
      sim_wgmma_wait_group(9, 0, acc, 4);
    }
  };
  EXPECT_EQ(bench.complaints([&] { kernel(nothing); }), "");
  for (const float x : seen) EXPECT_EQ(x, 0.0f);
  EXPECT_EQ(bench.findings([&] { kernel(touched); }),
            "accumulator in flight: 1 of 4 accumulator registers were written while a wgmma was in flight\n"
            "  in wgmma in mma at k.cpp:3, by CTA (0,0,0) thread 5 (warp 0, lane 5)");
  EXPECT_EQ(
      bench.findings([&] { kernel(no_fence_after_wait); }),
      "missing wgmma.fence: accumulator registers may have been accessed since the last wgmma.fence of the thread\n"
      "  in wgmma in mma at k.cpp:7, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
  EXPECT_EQ(bench.findings([&] { kernel(group_not_committed); }),
            "CTA exits too early: CTA (0,0,0) thread 124 (warp 3, lane 28) is the last of its CTA to end, and an "
            "operation is in flight that "
            "uses its shared memory\n"
            "  first, reads: wgmma in mma at k.cpp:3, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)");
  EXPECT_TRUE(std::isnan(seen[0]));
}

TEST(SimulatorProducts, DescriptorsBeyondSharedMemoryAndUnequalOperands) {
  Bench bench;
  bench.launch.block.x = 128;
  for (int line = 0; line < 3; ++line) bench.site("mma", line);
  bench.region("tiles", 4096, 1024);
  bench.blocks = {{.n = 64, .a_m_steps = {0}, .a_k_steps = {0}, .b_k_steps = {0}}};
  const auto kernel = [&](bool unequal) {
    float acc[32];
    const auto d = int64_t(descriptor(shared(unequal && tid() == 77 ? 1024 : 0), 128, 16, 1024));
    sim_wgmma_fence(1);
    sim_wgmma_block(2, 0, acc, nullptr, d, d, 0);
  };
  EXPECT_EQ(bench.findings([&] { kernel(false); }),
            "invalid operand: a matrix descriptor reaches beyond the 4096 bytes of shared memory\n"
            "  in wgmma in mma at k.cpp:2, by CTA (0,0,0) thread 127 (warp 3, lane 31)");
  EXPECT_EQ(bench.findings([&] { kernel(true); }),
            "divergence: the descriptor of A differs from that of CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
            "  in wgmma in mma at k.cpp:2, by CTA (0,0,0) thread 77 (warp 2, lane 13)");
}

TEST(SimulatorProducts, MmaSyncOfEveryShape) {
  using enum MmaType;
  const std::tuple<MmaShape, MmaType, int> shapes[] = {
      {MmaShape::m16n8k8_f16, f16, 8},     {MmaShape::m16n8k16_f16, f16, 16},   {MmaShape::m16n8k8_bf16, bf16, 8},
      {MmaShape::m16n8k16_bf16, bf16, 16}, {MmaShape::m16n8k4_tf32, tf32, 4},   {MmaShape::m16n8k8_tf32, tf32, 8},
      {MmaShape::m16n8k16_s8, s8, 16},     {MmaShape::m16n8k32_s8, s8, 32},     {MmaShape::m16n8k16_u8, u8, 16},
      {MmaShape::m16n8k32_u8, u8, 32},     {MmaShape::m16n8k32_e4m3, e4m3, 32}, {MmaShape::m16n8k32_e5m2, e5m2, 32}};
  for (const auto& [shape, type, k] : shapes) {
    const Matrix a(type, 16, k, 3), b(type, 8, k, 4);
    const int per = 4 / bytes_of(type), blocks = k / (4 * per);
    std::vector<float> d(16 * 8);
    Bench bench;
    bench.launch.block.x = 32;
    const bool integer = is_integer(type);
    ASSERT_EQ(bench.complaints([&, shape = shape, type = type] {
      const int lane = tid();
      uint32_t ra[8] = {}, rb[4] = {};
      float c[4];
      for (int i = 0; i < 4; ++i) c[i] = integer ? std::bit_cast<float>(i) : float(i);
      for (int block = 0; block < blocks; ++block)
        for (int i = 0; i < per; ++i) {
          const int at = block * 4 * per + lane % 4 * per + i;
          const auto put = [&](uint32_t& reg, const uint8_t* from) {
            std::memcpy(reinterpret_cast<char*>(&reg) + i * bytes_of(type), from, size_t(bytes_of(type)));
          };
          put(ra[2 * block], a.at(lane / 4, at));
          put(ra[2 * block + 1], a.at(lane / 4 + 8, at));
          put(rb[block], b.at(lane / 4, at));
        }
      sim_mma(0, int(shape), c, ra, rb, c);
      for (int i = 0; i < 4; ++i) d[size_t((lane / 4 + (i & 2 ? 8 : 0)) * 8 + lane % 4 * 2 + (i & 1))] = c[i];
    }),
              "");
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = i / 8 * 2 + j % 2;
        for (int x = 0; x < k; ++x) sum += a.number(i, x) * b.number(j, x);
        const float got = d[size_t(i * 8 + j)];
        ASSERT_EQ(integer ? double(std::bit_cast<int32_t>(got)) : double(got), sum)
            << int(shape) << " " << i << " " << j;
      }
  }
}

TEST(SimulatorProducts, LdmatrixAndStmatrixOfEveryCount) {
  for (const int count : {1, 2, 4})
    for (const bool transpose : {false, true}) {
      Bench bench;
      bench.launch.block.x = 32;
      const uint32_t in = bench.region("in", 512, 16), out = bench.region("out", 512, 16);
      std::vector<uint16_t> read(32 * 8), copied(256);
      ASSERT_EQ(bench.complaints([&] {
        const int lane = tid();
        for (int i = 0; i < 8; ++i) store<uint16_t>(0, shared(in) + 2 * (lane * 8 + i), uint16_t(lane * 8 + i));
        sim_syncwarp(0, -1);
        uint32_t registers[4] = {};
        sim_ldmatrix(0, shared(in) + 16 * lane, count, transpose, registers);
        std::memcpy(&read[size_t(lane * 8)], registers, 16);
        sim_stmatrix(0, shared(out) + 16 * lane, count, transpose, registers);
        sim_syncwarp(0, -1);
        for (int i = 0; i < 8 && lane < 8 * count; ++i)
          copied[size_t(lane * 8 + i)] = load<uint16_t>(0, shared(out) + 2 * (lane * 8 + i));
      }),
                "");
      for (int lane = 0; lane < 32; ++lane)
        for (int matrix = 0; matrix < count; ++matrix)
          for (int i = 0; i < 2; ++i) {
            const int row = transpose ? lane % 4 * 2 + i : lane / 4, column = transpose ? lane / 4 : lane % 4 * 2 + i;
            ASSERT_EQ(read[size_t(lane * 8 + matrix * 2 + i)], matrix * 64 + row * 8 + column);
          }
      for (int i = 0; i < 64 * count; ++i) ASSERT_EQ(copied[size_t(i)], i);
    }
}

}  // namespace
}  // namespace gemmsmith::simulator
