// TMA, bulk copies, cp.async, st.async and reductions against plain loops.
#include <cmath>

#include "support/half.h"
#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

uint32_t random_bits(uint32_t& state) { return state = state * 1664525u + 1013904223u; }

// Where the byte at `linear` of a tile lies: in line l of 128 bytes the chunks of 16 bytes trade places in groups of swizzle / 16, chunk c
// with c xor (l modulo the group).
uint64_t swizzle_by_table(uint64_t linear, int swizzle) {
  if (swizzle == 0) return linear;
  const uint64_t line = linear / 128, chunk = linear / 16 % 8, group = uint64_t(swizzle / 16);
  return line * 128 + (chunk / group * group + (chunk % group ^ line % group)) * 16 + linear % 16;
}

struct TmaCase {
  TensorType type;
  std::vector<int64_t> extents, box, element_strides;
  std::vector<int32_t> at;
  int swizzle;
  OutOfBounds fill;
};

std::vector<TmaCase> tma_cases() {
  std::vector<TmaCase> all;
  for (const int swizzle : {0, 32, 64, 128}) {
    const int64_t row = swizzle ? swizzle / 2 : 64;
    for (const auto& at :
         std::vector<std::vector<int32_t>>{{0, 0}, {16, 3}, {-5, -2}, {40, 5}, {64, 9}, {-100, 0}, {3, 100}})
      for (const OutOfBounds fill : {OutOfBounds::zero, OutOfBounds::nan})
        all.push_back({TensorType::bf16, {64, 9}, {row, 8}, {}, at, swizzle, fill});
  }
  all.push_back({TensorType::u8, {100}, {32}, {}, {90}, 0, OutOfBounds::zero});
  all.push_back({TensorType::f32, {20, 5, 4}, {8, 3, 2}, {}, {-3, 3, 3}, 32, OutOfBounds::nan});
  all.push_back({TensorType::f64, {10, 4, 3, 2}, {4, 3, 2, 2}, {}, {7, 2, -1, 1}, 0, OutOfBounds::zero});
  all.push_back({TensorType::u16, {16, 3, 2, 3, 2}, {8, 2, 2, 2, 2}, {}, {12, 2, 0, 2, 1}, 0, OutOfBounds::zero});
  all.push_back({TensorType::f32, {40, 9}, {16, 8}, {2, 3}, {30, 2}, 0, OutOfBounds::zero});
  all.push_back({TensorType::f32, {40, 9}, {8, 8}, {2, 3}, {-3, -4}, 32, OutOfBounds::nan});
  return all;
}

struct Tensor {
  TmaCase c;
  std::vector<uint8_t> data;
  std::vector<int64_t> strides;
  TensorMap map;
  int element;

  explicit Tensor(const TmaCase& c) : c(c), element(bytes_of(c.type)) {
    int64_t bytes = (c.extents[0] * element + 15) / 16 * 16;
    for (size_t i = 1; i < c.extents.size(); ++i) {
      strides.push_back(bytes);
      bytes *= c.extents[i];
    }
    data.resize(size_t(bytes));
    uint32_t state = 7;
    for (uint8_t& x : data) x = uint8_t(random_bits(state) >> 24);
    map = tensor_map({.base = data.data(),
                      .type = c.type,
                      .extents = c.extents,
                      .strides_bytes = strides,
                      .box = c.box,
                      .element_strides = c.element_strides,
                      .swizzle_bytes = c.swizzle,
                      .fill = c.fill});
  }
  int32_t at(size_t i) const { return i < c.at.size() ? c.at[i] : 0; }
  // Visits each element of the box: its number in the box and its offset in the tensor, -1 outside. Stores end at multiples of 16 bytes.
  template <class Visit>
  void for_each(Visit visit, bool stores = false) const {
    const int64_t unit = 16 / element;
    const int64_t row_end =
        stores && c.element_strides.empty() ? (c.extents[0] + unit - 1) / unit * unit : c.extents[0];
    std::vector<int64_t> counts, x(c.box.size());
    for (size_t i = 0; i < c.box.size(); ++i) {
      const int64_t s = c.element_strides.empty() ? 1 : c.element_strides[i];
      counts.push_back((c.box[i] + s - 1) / s);
    }
    int64_t all = 1;
    for (const int64_t n : counts) all *= n;
    for (int64_t e = 0; e < all; ++e) {
      int64_t rest = e, offset = 0;
      bool inside = true;
      for (size_t i = 0; i < counts.size(); ++i) {
        const int64_t p = c.at[i] + rest % counts[i] * (c.element_strides.empty() ? 1 : c.element_strides[i]);
        rest /= counts[i];
        inside &= p >= 0 && p < (i == 0 ? row_end : c.extents[i]);
        offset += p * (i == 0 ? element : strides[i - 1]);
      }
      visit(e, inside ? offset : -1);
    }
  }
};

TEST(SimulatorCopies, TmaLoadsEveryRankSwizzleAndEdge) {
  for (const TmaCase& c : tma_cases()) {
    Tensor t(c);
    Bench bench;
    bench.launch.block.x = 32;
    bench.site("load", 1);
    const uint32_t tile = bench.region("tile", 8192, 1024), bar = bench.region("bar", 8);
    bench.buffer("tensor", t.data, false);
    std::vector<uint8_t> got;
    const auto kernel = [&] {
      if (tid() != 0) return;
      sim_mbarrier_init(0, shared(bar), 1);
      sim_fence_mbarrier_init(0);
      sim_mbarrier_arrive_expect_tx(0, shared(bar), t.map.box_bytes(), kRelease, kCta);
      sim_tma_load(0, shared(tile), &t.map, shared(bar), t.map.rank(), t.at(0), t.at(1), t.at(2), t.at(3), t.at(4), -1,
                   1);
      sim_mbarrier_wait_parity(0, shared(bar), 0, kAcquire, kCta);
      got.assign(shared(tile), shared(tile) + t.map.box_bytes());
    };
    ASSERT_EQ(bench.complaints(kernel), "");
    t.for_each([&](int64_t e, int64_t offset) {
      uint64_t value = 0, expected = 0;
      const uint64_t at = swizzle_by_table(uint64_t(e * t.element), c.swizzle);
      std::memcpy(&value, got.data() + at, size_t(t.element));
      if (offset >= 0) std::memcpy(&expected, t.data.data() + offset, size_t(t.element));
      if (offset >= 0 || c.fill == OutOfBounds::zero)
        ASSERT_EQ(value, expected) << "element " << e << " at " << t.at(0) << "," << t.at(1) << " swizzle "
                                   << c.swizzle;
      else if (t.element == 2)
        ASSERT_TRUE(std::isnan(float_from_bf16(uint16_t(value))));
      else
        ASSERT_TRUE(std::isnan(std::bit_cast<float>(uint32_t(value))));
    });
  }
}

TEST(SimulatorCopies, TmaStoresClipAndReductionsAdd) {
  for (const bool reduce : {false, true})
    for (const TmaCase& c : tma_cases()) {
      if (reduce && (c.type == TensorType::u8 || c.type == TensorType::u16)) continue;
      Tensor t(c);
      const std::vector<uint8_t> before = t.data;
      std::vector<uint8_t> tile_bytes(size_t(t.map.box_bytes()));
      uint32_t state = 3;
      for (uint8_t& x : tile_bytes) x = uint8_t(random_bits(state) >> 24);
      Bench bench;
      bench.launch.block.x = 32;
      bench.site("store", 1);
      const uint32_t tile = bench.region("tile", 8192, 1024);
      bench.buffer("tensor", t.data);
      const auto kernel = [&] {
        if (tid() != 0) return;
        std::memcpy(shared(tile), tile_bytes.data(), tile_bytes.size());
        if (reduce)
          sim_tma_reduce(0, &t.map, shared(tile), int(AtomicOp::add), t.map.rank(), t.at(0), t.at(1), t.at(2), t.at(3),
                         t.at(4));
        else
          sim_tma_store(0, &t.map, shared(tile), t.map.rank(), t.at(0), t.at(1), t.at(2), t.at(3), t.at(4));
        sim_bulk_commit_group(0);
        sim_bulk_wait_group(0, 0, 0);
      };
      ASSERT_EQ(bench.run(kernel).text(), "");
      std::vector<uint8_t> expected = before;
      t.for_each(
          [&](int64_t e, int64_t offset) {
            if (offset < 0) return;
            const uint8_t* from = tile_bytes.data() + swizzle_by_table(uint64_t(e * t.element), c.swizzle);
            uint8_t* to = expected.data() + offset;
            if (!reduce) {
              std::memcpy(to, from, size_t(t.element));
            } else if (c.type == TensorType::bf16) {
              uint16_t a, b;
              std::memcpy(&a, to, 2);
              std::memcpy(&b, from, 2);
              store_element(DataType::bf16, to, 0, double(float_from_bf16(a)) + float_from_bf16(b));
            } else if (c.type == TensorType::f32) {
              float a, b;
              std::memcpy(&a, to, 4);
              std::memcpy(&b, from, 4);
              a += b;
              std::memcpy(to, &a, 4);
            } else {
              double a, b;
              std::memcpy(&a, to, 8);
              std::memcpy(&b, from, 8);
              a += b;
              std::memcpy(to, &a, 8);
            }
          },
          true);
      for (size_t i = 0; i < expected.size(); i += size_t(t.element)) {
        double a = 0, b = 0;
        const auto number = [&](const uint8_t* p) {
          if (!reduce) return double(*p);
          if (c.type == TensorType::bf16) return load_element(DataType::bf16, p, 0);
          return c.type == TensorType::f32 ? load_element(DataType::f32, p, 0) : load_element(DataType::f64, p, 0);
        };
        a = number(t.data.data() + i);
        b = number(expected.data() + i);
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
            << "byte " << i << " swizzle " << c.swizzle << " reduce " << reduce;
      }
    }
}

TEST(SimulatorCopies, EveryReductionOfEveryType) {
  for (const auto& [type, bytes] :
       {std::pair{TensorType::u32, 4}, {TensorType::s32, 4}, {TensorType::u64, 8}, {TensorType::s64, 8}})
    for (const AtomicOp op :
         {AtomicOp::add, AtomicOp::min, AtomicOp::max, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_}) {
      std::vector<uint64_t> data(16), values(16);
      uint32_t state = 5;
      for (auto* v : {&data, &values})
        for (uint64_t& x : *v) x = uint64_t(random_bits(state)) << 32 | random_bits(state);
      const std::vector<uint64_t> before = data;
      const TensorMap map =
          tensor_map({.base = data.data(), .type = type, .extents = {128 / bytes}, .box = {128 / bytes}});
      Bench bench;
      bench.launch.block.x = 32;
      const uint32_t tile = bench.region("tile", 128, 128);
      bench.buffer("tensor", data);
      const auto kernel = [&] {
        if (tid() != 0) return;
        std::memcpy(shared(tile), values.data(), 128);
        sim_tma_reduce(0, &map, shared(tile), int(op), 1, 0, 0, 0, 0, 0);
        sim_bulk_commit_group(0);
        sim_bulk_wait_group(0, 0, 0);
      };
      ASSERT_EQ(bench.run(kernel).text(), "");
      for (int i = 0; i < 128 / bytes; ++i) {
        const auto element = [&, bytes = bytes](const std::vector<uint64_t>& v) {
          return bytes == 8 ? v[size_t(i)] : v[size_t(i / 2)] >> (32 * (i % 2)) & 0xffffffffu;
        };
        const uint64_t a = element(before), b = element(values), mask = bytes == 8 ? ~uint64_t(0) : 0xffffffffu;
        const auto as_signed = [bytes = bytes](uint64_t x) { return bytes == 8 ? int64_t(x) : int64_t(int32_t(x)); };
        const bool is_signed = type == TensorType::s32 || type == TensorType::s64;
        const bool less = is_signed ? as_signed(a) < as_signed(b) : a < b;
        const uint64_t expected = op == AtomicOp::add    ? (a + b) & mask
                                  : op == AtomicOp::min  ? (less ? a : b)
                                  : op == AtomicOp::max  ? (less ? b : a)
                                  : op == AtomicOp::and_ ? (a & b)
                                  : op == AtomicOp::or_  ? (a | b)
                                                         : (a ^ b);
        ASSERT_EQ(element(data), expected) << int(type) << " " << int(op);
      }
    }
}

TEST(SimulatorCopies, MulticastWritesEveryCtaOfTheMask) {
  std::vector<uint32_t> data(64), out(4, 0);
  for (size_t i = 0; i < data.size(); ++i) data[i] = uint32_t(1000 + i);
  const TensorMap map = tensor_map({.base = data.data(), .type = TensorType::u32, .extents = {64}, .box = {64}});
  for (const int mask : {1, 2, 5, 10, 15}) {
    Bench bench;
    bench.launch.block.x = 32;
    bench.launch.grid.x = bench.launch.cluster.x = 4;
    const uint32_t tile = bench.region("tile", 256, 128), bar = bench.region("bar", 8);
    bench.buffer("data", data, false);
    std::vector<uint32_t> seen(4);
    const auto kernel = [&] {
      if (tid() == 0) {
        std::memset(shared(tile), 0, 256);
        sim_mbarrier_init(0, shared(bar), 1);
        sim_fence_mbarrier_init(0);
        if (mask >> cta_rank() & 1) sim_mbarrier_arrive_expect_tx(0, shared(bar), 256, kRelease, kCta);
      }
      sim_cluster_arrive(0, kRelease);
      sim_cluster_wait(0);
      if (tid() == 0) {
        if (cta_rank() == 1) sim_tma_load(0, shared(tile), &map, shared(bar), 1, 0, 0, 0, 0, 0, mask, 0);
        if (mask >> cta_rank() & 1) sim_mbarrier_wait_parity(0, shared(bar), 0, kAcquire, kCta);
        std::memcpy(&seen[size_t(cta_rank())], shared(tile) + 4 * 63, 4);
      }
      sim_cluster_arrive(0, kRelease);
      sim_cluster_wait(0);
    };
    ASSERT_EQ(bench.complaints(kernel), "");
    for (int r = 0; r < 4; ++r) EXPECT_EQ(seen[size_t(r)], mask >> r & 1 ? 1063u : 0u) << mask << " " << r;
  }
}

TEST(SimulatorCopies, BulkCopiesAndReductionsInBothDirections) {
  std::vector<uint32_t> in(32), out(32, 100);
  for (uint32_t i = 0; i < 32; ++i) in[i] = i;
  Bench bench;
  bench.launch.block.x = 32;
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  const uint32_t a = bench.region("a", 128, 128), b = bench.region("b", 128, 128), bar = bench.region("bar", 16);
  bench.buffer("in", in, false);
  bench.buffer("out", out);
  // CTA 0 loads `in`, copies it to CTA 1, adds it there once more; CTA 1 stores the sum and adds it to `out`.
  const auto kernel = [&] {
    const bool first = tid() == 0 && cta_rank() == 0, second = tid() == 0 && cta_rank() == 1;
    char *loaded = shared(bar), *arrived = shared(bar) + 8;
    if (tid() == 0) {
      sim_mbarrier_init(0, loaded, 1);
      sim_mbarrier_init(0, arrived, 1);
      sim_fence_mbarrier_init(0);
    }
    sim_cluster_arrive(0, kRelease);
    sim_cluster_wait(0);
    if (first) {
      sim_mbarrier_arrive_expect_tx(0, loaded, 128, kRelease, kCta);
      sim_bulk_load(0, shared(a), in.data(), 128, loaded, -1);
      sim_mbarrier_wait_parity(0, loaded, 0, kAcquire, kCta);
      sim_bulk_copy_to_cluster(0, sim_mapa(0, shared(b), 1), shared(a), 128, sim_mapa(0, arrived, 1));
    }
    if (second) {
      sim_mbarrier_arrive_expect_tx(0, arrived, 128, kRelease, kCta);
      sim_mbarrier_wait_parity(0, arrived, 0, kAcquire, kCta);
    }
    sim_cluster_arrive(0, kRelease);
    sim_cluster_wait(0);
    if (first)
      sim_bulk_reduce_to_cluster(0, sim_mapa(0, shared(b), 1), shared(a), 128, sim_mapa(0, arrived, 1),
                                 int(AtomicOp::add), int(AtomicType::u32));
    if (second) {
      sim_mbarrier_arrive_expect_tx(0, arrived, 128, kRelease, kCta);
      sim_mbarrier_wait_parity(0, arrived, 1, kAcquire, kCta);
      sim_bulk_store(0, out.data(), shared(b), 128);
      sim_bulk_commit_group(0);
      sim_bulk_wait_group(0, 0, 0);
      sim_bulk_reduce(0, out.data(), shared(b), 128, int(AtomicOp::add), int(AtomicType::u32));
      sim_bulk_commit_group(0);
      sim_bulk_wait_group(0, 0, 0);
    }
    sim_cluster_arrive(0, kRelease);
    sim_cluster_wait(0);
  };
  ASSERT_EQ(bench.complaints(kernel), "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 4 * i);
}

TEST(SimulatorCopies, CpAsyncFillsWithZero) {
  std::vector<uint8_t> in(16);
  for (size_t i = 0; i < 16; ++i) in[i] = uint8_t(i + 1);
  for (const int bytes : {4, 8, 16})
    for (int source = 0; source <= bytes; ++source) {
      Bench bench;
      bench.launch.block.x = 32;
      const uint32_t to = bench.region("to", 16, 16);
      bench.buffer("in", in, false);
      std::vector<uint8_t> got(16);
      ASSERT_EQ(bench.complaints([&] {
        if (tid() != 0) return;
        sim_cp_async(0, shared(to), in.data(), bytes, source);
        sim_cp_async_wait_all(0);
        std::memcpy(got.data(), shared(to), 16);
      }),
                "");
      for (int i = 0; i < 16; ++i) EXPECT_EQ(got[size_t(i)], i < source ? i + 1 : i < bytes ? 0 : 0xff);
    }
}

TEST(SimulatorCopies, StAsyncAndRedAsyncCompleteOnTheRemoteBarrier) {
  Bench bench;
  bench.launch.block.x = 32;
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  for (int line = 0; line < 10; ++line) bench.site("st.async", line);
  const uint32_t to = bench.region("to", 128, 16), bar = bench.region("bar", 8);
  int delta = 0;
  std::vector<int> seen(8);
  const auto kernel = [&] {
    if (tid() == 0) {
      std::memset(shared(to), 0, 128);
      sim_mbarrier_init(0, shared(bar), 1);
      sim_fence_mbarrier_init(0);
      sim_mbarrier_arrive_expect_tx(1, shared(bar), 4 + 8 + 16 + 4 + delta, kRelease, kCta);
    }
    sim_cluster_arrive(2, kRelease);
    sim_cluster_wait(2);
    if (tid() == 0) {
      const int values[4] = {1 + cta_rank(), 2, 3, 4};
      const int peer = 1 - cta_rank();
      char* remote = static_cast<char*>(sim_mapa(3, shared(to), peer));
      void* barrier = sim_mapa(3, shared(bar), peer);
      sim_st_async(3, remote, values, 4, barrier);
      sim_st_async(3, remote + 8, values, 8, barrier);
      sim_st_async(3, remote + 16, values, 16, barrier);
      sim_red_async(4, remote + 4, int(AtomicOp::add), int(AtomicType::u32), 5, barrier);
      sim_mbarrier_wait_parity(5, shared(bar), 0, kAcquire, kInCluster);
      if (cta_rank() == 0)
        for (size_t i = 0; i < 8; ++i) seen[i] = load<int>(6, shared(to) + 4 * i);
    }
    sim_cluster_arrive(7, kRelease);
    sim_cluster_wait(7);
  };
  EXPECT_EQ(bench.complaints(kernel), "");
  EXPECT_EQ(seen, (std::vector<int>{2, 5, 2, 2, 2, 2, 3, 4}));
  delta = 4;
  const std::string text = bench.findings(kernel);
  EXPECT_NE(text.find("mbarrier.try_wait in st.async at k.cpp:5, waits for bar, parity 0; it is in phase 0, 0 of 1 "
                      "arrivals pending, tx-count 4"),
            std::string::npos)
      << text;
}

TEST(SimulatorCopies, TensorMapsThatTmaDoesNotTakeAreRefused) {
  alignas(16) static char base[1024];
  TensorMapFields f{.base = base, .extents = {64, 8}, .strides_bytes = {128}, .box = {64, 8}, .swizzle_bytes = 128};
  ASSERT_TRUE(TensorMap::encode(f).ok());
  const auto error = [&f](auto change) {
    TensorMapFields changed = f;
    change(changed);
    const auto map = TensorMap::encode(changed);
    return map.ok() ? std::string() : map.error().text();
  };
  EXPECT_EQ(error([](auto& m) { m.base = base + 8; }),
            "tensor map: the base address is not a multiple of 16 bytes, as TMA needs it; align the matrix");
  EXPECT_EQ(error([](auto& m) { m.extents = {}; }), "tensor map: rank 0 is not 1 to 5");
  EXPECT_EQ(error([](auto& m) { m.strides_bytes = {}; }), "tensor map: 0 strides are not one fewer than the 2 extents");
  EXPECT_EQ(error([](auto& m) { m.strides_bytes = {130}; }),
            "tensor map: a stride of 130 bytes is not a multiple of 16 below 2^40, as TMA needs it; pad the leading "
            "dimension");
  EXPECT_EQ(error([](auto& m) { m.extents[1] = 0; }), "tensor map: extent 0 is not 1 to 2^32");
  EXPECT_EQ(error([](auto& m) { m.box = {64}; }), "tensor map: a box of 1 modes has not the tensor's rank 2");
  EXPECT_EQ(error([](auto& m) { m.box[1] = 257; }), "tensor map: a box of 257 is not 1 to 256 elements in each mode");
  EXPECT_EQ(error([](auto& m) { m.box[0] = 60; }),
            "tensor map: a box row of 120 bytes is not a multiple of 16, as TMA needs it");
  EXPECT_EQ(error([](auto& m) { m.swizzle_bytes = 64; }),
            "tensor map: a box row of 128 bytes is longer than the swizzle of 64 bytes");
  EXPECT_EQ(error([](auto& m) { m.swizzle_bytes = 48; }), "tensor map: swizzle_bytes = 48 is none of 0, 32, 64, 128");
  EXPECT_EQ(error([](auto& m) { m.element_strides = {1, 9}; }), "tensor map: element stride 9 is not 1 to 8");
  EXPECT_EQ(error([](auto& m) { m.element_strides = {5, 1}; }),
            "tensor map: a box row of 26 bytes that are copied is not a multiple of 16, as TMA needs it");
  EXPECT_EQ(error([](auto& m) { m.element_strides = {1}; }),
            "tensor map: 1 element strides are not the tensor's rank 2");
  EXPECT_EQ(error([](auto& m) { m.l2_promotion_bytes = 32; }),
            "tensor map: l2_promotion_bytes = 32 is none of 0, 64, 128, 256");
  EXPECT_EQ(error([](auto& m) { m.type = TensorType::u16, m.fill = OutOfBounds::nan; }),
            "tensor map: NaN as fill is for float elements only");
}

}  // namespace
}  // namespace gemmsmith::simulator
