// Tensors whose numbers are all known need no recording: views against the layouts that they come from, at every
// coordinate.
#include "dsl/tensor.h"

#include <gtest/gtest.h>

#include "dsl/cpu.h"
#include "dsl/jit.h"
#include "dsl/memory.h"

namespace gemmsmith::test {
namespace {

Tensor tensor_of(const Layout& layout, Kind kind) {
  return {Scalar{Kind::pointer, 1, nullptr, 0, 0}, kind, staged(layout)};
}
int64_t byte(const Tensor& t, const std::vector<int64_t>& at) {
  const Layout layout = t.static_layout().value();
  return layout.swizzle(t.linear().constant().value() + layout.linear(at));
}

TEST(Tensor, ViewsOfStagesAddressWhatTheLayoutSays) {
  for (Major major : {Major::row, Major::column}) {
    const Layout whole = swizzled_tile(128, 128, 2, major);
    Layout ring = whole;  // four stages are one tensor of rank 3
    ring.modes.push_back({{4, span_bytes(whole)}});
    const Tensor stages = tensor_of(ring, DataType::bf16);
    for (int s = 0; s < 4; ++s) {
      const Tensor stage = stages.slice(2, s);
      for (int part = 0; part < 2; ++part)
        for (int k16 = 0; k16 < 8; ++k16) {
          const Tensor view = stage.tile({64, 16}, {part, k16});
          for (int r = 0; r < 64; ++r)
            for (int c = 0; c < 16; ++c)
              ASSERT_EQ(byte(view, {r, c}), s * span_bytes(whole) + byte_of(whole, {part * 64 + r, k16 * 16 + c}));
        }
      const Tensor divided = stage.divide(0, 32);  // (32 rows, 4 shares, columns)
      ASSERT_EQ(divided.rank(), 3);
      for (int share = 0; share < 4; ++share)
        for (int r = 0; r < 32; ++r)
          ASSERT_EQ(byte(divided.slice(1, share), {r, 5}), s * span_bytes(whole) + byte_of(whole, {share * 32 + r, 5}));
    }
  }
}

TEST(Tensor, RecastKeepsTheBytes) {
  const Layout pairs = panels(48, 32, 16, 2, 2);
  const Tensor narrow = tensor_of(pairs, DataType::bf16), wide = narrow.recast(Kind::i32),
               back = wide.recast(Kind::i16);
  EXPECT_EQ(wide.extent(0).constant(), 48);
  EXPECT_EQ(wide.extent(1).constant(), 16);
  EXPECT_TRUE(wide.contiguous(0));
  EXPECT_EQ(print(wide.static_layout().value()), "((16,3),(16)):((4,1024),(64))");
  for (int r = 0; r < 48; ++r)
    for (int c = 0; c < 32; ++c) ASSERT_EQ(byte(narrow, {r, c}), byte(wide, {r, c / 2}) + c % 2 * 2);
  EXPECT_EQ(back.extent(0).constant(), 96);
}

TEST(Tensor, KnownTilesAtTheEdgeKnowTheirExtent) {
  const Tensor t = tensor_of(padded_tile(10, 7, 4, 8), DataType::f32);
  EXPECT_EQ(t.tile({4, all}, {2, 0}).extent(0).constant(), 2);
  EXPECT_EQ(t.tile({4, all}, {1, 0}).extent(0).constant(), 4);
  EXPECT_EQ(t.tiles(0, 4).constant(), 3);
  EXPECT_EQ(t.is_exactly({10, 7}).constant(), 1);
  EXPECT_EQ(t.is_exactly({10, 8}).constant(), 0);
  EXPECT_EQ(rows_of(t, 3).size(), 3u);
  EXPECT_EQ(rows_of(t, 3)[2].linear().constant(), 2 * (7 * 4 + 8));
}

// A swizzled tile in memory is the same tensor: written through one view, read through another.
TEST(Tensor, SwizzledTilesWork) {
  IrContext context;
  const Layout tile = swizzled_tile(64, 64, 4);
  auto kernel = record(context, "swizzle", {.vector_bytes = 64, .check_bounds = true}, [&](KernelBuilder& k) {
    const Tensor a = k.matrix({"a", "m", "n"}), d = k.matrix({"d", "m", "n"});
    for (Int core : parallel(1)) {
      const Tensor shared = k.scratch(DataType::f32, tile, core);
      for (Int r : range(64))
        for (Int j : range(16)) shared.slice(0, r).tile({4}, {j}).store({0}, a.slice(0, r).tile({4}, {j}).load({0}, 4));
      for (Int r : range(64))
        for (Int j : range(4))
          for (int v = 0; v < 16; v += 4)
            d.slice(0, r).tile({16}, {j}).store({v}, shared.tile({8, 16}, {r / 8, j}).load({r % 8, v}, 4));
    }
  });
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Matrix a(DataType::f32, 64, 64), d(DataType::f32, 64, 64);
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c) a.set(0, r, c, r * 64 + c);
  Jit jit;
  ASSERT_EQ(jit.load(*kernel), "");
  jit.run(kernel->signature(), {.pointers = {{"a", a.data()}, {"d", d.data()}},
                                .row_strides = {{"a", a.row_stride}, {"d", d.row_stride}},
                                .extents = {{"m", 64}, {"n", 64}}});
  EXPECT_TRUE(jit.trapped_lines().empty());
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c) ASSERT_EQ(d.get(0, r, c), r * 64 + c);
}

// Every way of packing against the panel layout, element by element, with what fills it up.
struct Way {
  DataType from, to;
  Major major;
  int panel, group;
  bool flip = false;
};
TEST(Pack, PutsEveryElementWhereThePanelsSay) {
  const auto i8 = DataType::i8, i32 = DataType::i32, bf16 = DataType::bf16, f16 = DataType::f16, f32 = DataType::f32;
  std::vector<Way> ways;
  for (Major major : {Major::row, Major::column, Major::none})
    for (int panel : {1, 6, 16, 32, 24})
      for (auto [from, to] : {std::pair(f32, f32), {bf16, f32}, {f16, f32}, {i8, i32}})
        ways.push_back({from, to, major, panel, 1});
  for (Major major : {Major::row, Major::column, Major::none})
    for (int panel : {6, 32}) {
      ways.push_back({bf16, bf16, major, panel, 2});
      ways.push_back({i8, i8, major, panel, 4});
      ways.push_back({i8, i8, major, panel, 4, true});
    }
  const int lanes = host_vector_bytes() / 4, kc = 48;
  for (const Way& way : ways) {
    const int rows_max = way.panel * 3;
    const Layout layout = panels(rows_max, kc, way.panel, bytes_of(way.to), way.group);
    IrContext context;
    auto kernel = record(context, "pack",
                         {.vector_bytes = host_vector_bytes(), .features = host_features(), .check_bounds = true},
                         [&](KernelBuilder& k) {
                           const Tensor a = k.matrix({"a", "m", "k", way.major, way.from}),
                                        d = k.matrix({"d", "one", "bytes", Major::row, way.to});
                           for (Int core : parallel(1)) {
                             const Tensor to = k.scratch(way.to, layout, core);
                             const Tensor block = a.tile({rows_max, kc}, {0, 0});
                             if (way.group == 1) pack(block, to, way.panel, lanes);
                             if (way.group == 2) pack_pairs(block, to, way.panel, lanes);
                             if (way.group == 4) pack_quads(block, to, way.panel, lanes, way.flip);
                             // What was packed, in the order of rows and columns, to where the test can see it.
                             for (Int r : range(block.extent(0)))
                               for (Int c : range(round_up(block.extent(1), way.group)))
                                 d.slice(0, 0).slice(0, r * kc + c).store({}, to.slice(0, r).slice(0, c).load({}));
                           }
                         });
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    Jit jit;
    ASSERT_EQ(jit.load(*kernel), "");
    for (int m : {1, way.panel - 1, way.panel, way.panel + 1, rows_max})
      for (int n : {0, 1, 5, 15, 16, 33, 47, 48}) {
        if (m < 1) continue;
        Matrix a(way.from, m, n, way.major, 1), d(way.to, 1, int64_t(rows_max) * kc, Major::row, 0);
        for (int r = 0; r < m; ++r)
          for (int c = 0; c < n; ++c) a.set(0, r, c, (r * 7 + c * 3) % 128 - 64);
        jit.run(kernel->signature(), {.pointers = {{"a", a.data()}, {"d", d.data()}},
                                      .row_strides = {{"a", a.row_stride}, {"d", 0}},
                                      .column_strides = {{"a", a.column_stride}},
                                      .extents = {{"m", m}, {"k", n}, {"one", 1}, {"bytes", d.columns}}});
        ASSERT_TRUE(jit.trapped_lines().empty());
        for (int r = 0; r < m; ++r)
          for (int c = 0; c < (n + way.group - 1) / way.group * way.group; ++c) {
            const double x = c < n ? a.get(0, r, c) : 0;
            ASSERT_EQ(d.get(0, 0, int64_t(r) * kc + c), way.flip ? (x < 0 ? x + 128 : x - 128) : x)
                << name_of(way.from) << " major " << int(way.major) << " panel " << way.panel << " group " << way.group
                << " m " << m << " k " << n << " at " << r << "," << c;
          }
      }
  }
}

}  // namespace
}  // namespace gemmsmith::test
