// The tile language of Hopper: what it refuses, whole texts at the author's line, and what does not compile.
#include "dsl/hopper.h"

#include <gtest/gtest.h>

#include <functional>
#include <type_traits>

namespace gemmsmith::test {
namespace {

// Compilers may be given paths that are relative to the build folder.
std::string here(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }

std::string error_of(const std::function<void(GpuBuilder&)>& stage, const std::string& name = "kernel") {
  IrContext context;
  const auto kernel = record_gpu(context, name, stage);
  return kernel.ok() ? "nothing was refused" : kernel.error().text();
}

MatrixArg matrix_a(DataType type = DataType::bf16, Major major = Major::row) { return {"a", "m", "k", major, type}; }
MatrixArg matrix_b(DataType type = DataType::bf16, Major major = Major::row) { return {"b", "n", "k", major, type}; }
OutputArg matrix_d(DataType type = DataType::bf16, Major major = Major::row) {
  OutputArg d;
  d.d = {"d", "m", "n", major, type};
  return d;
}

// A kernel with one tile of 128 x 64 for each cluster, two consumers, and `body` in the place of theirs.
struct Parts {
  const Consumer& self;
  Ring& ring;
  const TmaInput &a, &b;
  const TileScheduler& tiles;
  const TmaOutput& d;
  const Tile& t;
};
void kernel(GpuBuilder& k, const std::function<void(const Parts&)>& body, int consumer_count = 2,
            const std::function<void(const Parts&)>& producer_body = {}) {
  const Cluster one = k.cluster(1, 1);
  const TmaInput a = k.tma_input(matrix_a(), tile(128, 64)), b = k.tma_input(matrix_b(), tile(64, 64));
  Ring& ring = k.ring(3, a, b);
  const TmaOutput d = k.tma_output(matrix_d(), tile(128, 64), 2, 2, true);
  const TileScheduler tiles = k.persistent_tiles(matrix_d(), tile(128, 64), matrix_a(), 64, one, {});
  k.roles(producer(registers(24),
                   [&] {
                     for (Tile t : tiles)
                       for (Int kb : t.k_blocks()) {
                         const Consumer nobody{0, 0, 0, 1, 0};
                         if (producer_body)
                           producer_body({nobody, ring, a, b, tiles, d, t});
                         else
                           ring.fill(a(t.m, kb), b(t.n, kb));
                       }
                   }),
          consumers(consumer_count, registers(consumer_count == 3 ? 160 : 240), [&](const Consumer& self) {
            for (Tile t : tiles) body({self, ring, a, b, tiles, d, t});
          }));
}
void multiply(const Parts& p, Accumulator& acc) {
  for (Ring::Stage s : p.ring.take(p.t.k_blocks())) acc.mma(s[p.a], s[p.b]);
}

// One line a refusal, as in error_test.cpp: what is written, and what is said about it. In a builder, and in the body of a
// consumer, where `p` has the parts of a kernel.
#define GS_EXPECT_REFUSED(code, text)                                \
  EXPECT_EQ(error_of([&]([[maybe_unused]] GpuBuilder& k) { code; }), \
            here(__LINE__) + ": " + (text) + "\n  while staging kernel")
#define GS_EXPECT_REFUSED_IN_ROLE(code, text)                                                            \
  EXPECT_EQ(error_of([&](GpuBuilder& k) { kernel(k, [&]([[maybe_unused]] const Parts& p) { code; }); }), \
            here(__LINE__) + ": " + (text) + "\n  while staging kernel")

TEST(RefusedOnHopper, Clusters) {
  const std::string rule = " CTAs is not one of 1 to 8 CTAs, what every launch can have on sm_90";
  GS_EXPECT_REFUSED(k.cluster(3, 3), "a cluster of 3 x 3 x 1" + rule);
  GS_EXPECT_REFUSED(k.cluster(0), "a cluster of 0 x 1 x 1" + rule);
  GS_EXPECT_REFUSED(k.cluster(2, 2, 4), "a cluster of 2 x 2 x 4" + rule);
  GS_EXPECT_REFUSED(k.cluster(2); k.cluster(1), "a second cluster is not there: a launch has one; the first one");
}

TEST(RefusedOnHopper, SharedMemory) {
  GS_EXPECT_REFUSED(
      k.allocate("x", 100000);
      k.allocate("y", 132449),
      "232801 bytes of shared memory, with 132449 for y do not fit the 232448 bytes of a CTA on sm_90; fewer "
      "stages or a smaller tile");
  IrContext context;
  const int line = __LINE__ + 1;
  const auto full = record_gpu(context, "kernel", [](GpuBuilder& k) {
    k.allocate("x", 232448);
    k.turns(2);
    k.threads(128, [](const Cta&) {});
  });
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().text(),
            here(line) +
                ": 232464 bytes of shared memory, barriers included do not fit the 232448 bytes of a CTA on "
                "sm_90; fewer stages or a smaller tile\n  while staging kernel");
}

TEST(RefusedOnHopper, Inputs) {
  GS_EXPECT_REFUSED(k.tma_input(matrix_a(DataType::f64), tile(64, 16)),
                    "operand \"a\" of f64 is of a type that TMA does not have");
  GS_EXPECT_REFUSED(k.tma_input(matrix_a(DataType::bf16, Major::none), tile(64, 64)),
                    "operand \"a\" of bf16 has no contiguous mode, which TMA needs");
  GS_EXPECT_REFUSED(k.tma_input(matrix_a(), tile(64, 64), multicast(k.cluster(3).m)),
                    "64 rows of \"a\" cannot be shared among 3 CTAs");
  GS_EXPECT_REFUSED(k.tma_input(matrix_a(), tile(512, 64)),
                    "a box of 512 x 64 has a side of more than 256, the limit of TMA\n  of operand \"a\"\n"
                    "  in tile ((512),(64)):((128),(2)) o Sw<3,4,3>");
}

TEST(RefusedOnHopper, Outputs) {
  GS_EXPECT_REFUSED(k.tma_output(matrix_d(), tile(128, 64), 2, 1, true),
                    "1 staging buffers do not let a store go on while the next tile is staged; 2 or more");
  GS_EXPECT_REFUSED(k.tma_output(matrix_d(DataType::bf16, Major::none), tile(128, 64), 2, 2, true),
                    "D has no contiguous mode, which TMA needs; row- or column-major, a multiple of 8 columns");
  GS_EXPECT_REFUSED(k.tma_output(matrix_d(), tile(128, 12), 2, 2, true),
                    "D has no tile of that width; row- or column-major, a multiple of 8 columns");
}

// Sums of another shape, or of other consumers, than the output was made for.
TEST(RefusedOnHopper, Stores) {
  GS_EXPECT_REFUSED_IN_ROLE(Accumulator acc(p.self.alone(), p.ring, p.a, p.b); multiply(p, acc);
                            p.d.store(p.self, p.t, std::move(acc).wait()),
                            "sums of 256 x 64 do not fit a tile of 128 x 64; the shape of the inputs' tiles");
  int line = 0;
  const auto too_many = [&](GpuBuilder& k) {
    const Cluster one = k.cluster(1);
    const TmaInput a = k.tma_input(matrix_a(), tile(192, 64)), b = k.tma_input(matrix_b(), tile(64, 64));
    Ring& ring = k.ring(3, a, b);
    const TmaOutput d = k.tma_output(matrix_d(), tile(192, 64), 2, 2, true);
    const Tile t = k.one_tile_per_cluster(matrix_d(), tile(192, 64), matrix_a(), 64, one).only();
    k.roles(producer(registers(24),
                     [&] {
                       for (Int kb : t.k_blocks()) ring.fill(a(t.m, kb), b(t.n, kb));
                     }),
            consumers(3, registers(160), [&](const Consumer& self) {
              Accumulator acc(self, ring, a, b);
              for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
              line = __LINE__ + 1;
              d.store(self, t, std::move(acc).wait());
            }));
  };
  std::string said = error_of(too_many);
  EXPECT_EQ(said, here(line) +
                      ": an output of 2 consumers has no staging buffers for 3; k.tma_output() with as many as store\n"
                      "  while staging kernel");
  const auto partial = [&](GpuBuilder& k) {
    const SharedTile sums = k.shared_tile(tile(128, 32));
    kernel(k, [&](const Parts& p) {
      Accumulator acc(p.self, p.ring, p.a, p.b);
      multiply(p, acc);
      line = __LINE__ + 1;
      sums.store(p.self, std::move(acc).wait());
    });
  };
  said = error_of(partial);
  EXPECT_EQ(
      said,
      here(line) +
          ": sums of 128 x 64 do not fit a tile of 128 x 32; the shape of the inputs' tiles\n  while staging kernel");
}

TEST(RefusedOnHopper, Rings) {
  GS_EXPECT_REFUSED(k.ring(0), "0 stages are not between 1 and 64; 3 to 8");
  GS_EXPECT_REFUSED(k.ring(65), "65 stages are not between 1 and 64; 3 to 8");
  const std::string inside =
      " cannot be made inside of a role: nobody initialises its barriers, which is done before roles begin; "
      "in front of k.roles()";
  GS_EXPECT_REFUSED_IN_ROLE(k.ring(2, p.a), "a ring" + inside);
  GS_EXPECT_REFUSED_IN_ROLE(k.turns(2), "turns" + inside);
  GS_EXPECT_REFUSED_IN_ROLE(k.cluster_barrier({{1, 0, 1}, {1, 0, 1}, {1, 0, 1}}, 1), "a cluster barrier" + inside);
}

TEST(RefusedOnHopper, Fills) {
  const auto said = [](const std::function<void(const Parts&)>& fill) {
    return error_of([&](GpuBuilder& k) { kernel(k, [](const Parts&) {}, 2, fill); });
  };
#define GS_EXPECT_REFUSED_FILL(code, text) \
  EXPECT_EQ(said([&](const Parts& p) { code; }), here(__LINE__) + ": " + (text) + "\n  while staging kernel")
  GS_EXPECT_REFUSED_FILL(
      p.ring.fill(p.a(p.t.m, 0)),
      "a stage without its input \"b\" would be waited for forever: its bytes never arrive; one copy of every input");
  GS_EXPECT_REFUSED_FILL(p.ring.fill(p.a(p.t.m, 0), p.b(p.t.n, 0), p.a(p.t.m, 0)),
                         "two copies of input \"a\" do not fit a stage, which has one");
  const TmaInput other;
  GS_EXPECT_REFUSED_FILL(p.ring.fill(p.a(p.t.m, 0), TmaCopy{&other, 0, 0, {}}),
                         "input \"\" is not one of those that the ring was made for");
#undef GS_EXPECT_REFUSED_FILL
}

// Arrival counts come from what was recorded. Where nothing was, somebody would wait for ever.
TEST(RefusedOnHopper, RingsThatNobodyFillsOrReads) {
  int line = 0;
  const auto said = [&](bool fills, int reads) {
    return error_of([&](GpuBuilder& k) {
      const Cluster one = k.cluster(1);
      const TmaInput a = k.tma_input(matrix_a(), tile(128, 64)), b = k.tma_input(matrix_b(), tile(64, 64));
      line = __LINE__ + 1;
      Ring& ring = k.ring(3, a, b);
      const Tile t = k.one_tile_per_cluster(matrix_d(), tile(128, 64), matrix_a(), 64, one).only();
      k.roles(producer(registers(24),
                       [&] {
                         if (fills)
                           for (Int kb : t.k_blocks()) ring.fill(a(t.m, kb), b(t.n, kb));
                       }),
              consumers(2, registers(240), [&](const Consumer& self) {
                if (reads == 0) return;
                Accumulator acc(self, ring, a, b);
                if (reads == 1) line = __LINE__ + 1;
                for (Ring::Stage s : ring.take(t.k_blocks()))
                  if (reads == 2) acc.mma(s[a], s[b]);
                std::move(acc).wait();
              }));
    });
  };
  const auto expect = [&](bool fills, int reads, const std::string& what) {
    const std::string text = said(fills, reads);
    EXPECT_EQ(text, here(line) + ": " + what + "\n  while staging kernel");
  };
  expect(false, 2, "a ring is never filled: who takes its stages waits for ever; ring.fill() in the producer");
  expect(true, 0, "a ring is never read: who fills its stages waits for ever; an Accumulator in the consumers");
  expect(
      true, 1,
      "a stage is taken and not multiplied: only what has read it gives it back to the producer; acc.mma(s[a], s[b])");
  EXPECT_EQ(said(true, 2), "nothing was refused");
}

TEST(RefusedOnHopper, Accumulators) {
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.b, p.a),
      "a tile of 64 rows is not a multiple of 128, the 64 rows of one wgmma in each of 2 consumers; near it: 128");
  const auto expect = [](MatrixArg a, TileShape shape_a, MatrixArg b, TileShape shape_b, const std::string& text) {
    int line = 0;
    const std::string said = error_of([&](GpuBuilder& k) {
      const TmaInput in_a = k.tma_input(a, shape_a), in_b = k.tma_input(b, shape_b);
      Ring& ring = k.ring(2, in_a, in_b);
      k.roles(producer(registers(24), [] {}), consumers(1, registers(240), [&](const Consumer& self) {
                line = __LINE__ + 1;
                Accumulator acc(self, ring, in_a, in_b);
              }));
    });
    EXPECT_EQ(said, here(line) + ": " + text + "\n  while staging kernel");
  };
  expect(matrix_a(), tile(64, 64), matrix_b(), tile(128, 32),
         "tiles of 64 and 32 along K do not multiply\n  in an accumulator");
  expect(matrix_a(), tile(64, 64), matrix_b(), tile(12, 64),
         "a tile of 12 columns is not the n of a wgmma; a multiple of 8 up to 256\n  as operand B");
  expect(matrix_a(), tile(64, 64), matrix_b(DataType::f16), tile(64, 64),
         "operands of bf16 and f16 are not multiplied by a wgmma; equal types, or two of 8-bit floats\n  in an "
         "accumulator");
  expect(
      matrix_a(DataType::i8), tile(64, 128), matrix_b(DataType::i8), tile(40, 128),
      "a tile of 40 columns is not the n of a wgmma of i8; 8, 16, 24, or a multiple of 16 up to 256\n  as operand B");
  expect(matrix_a(DataType::i8, Major::column), tile(64, 128), matrix_b(DataType::i8), tile(64, 128),
         "an MN-major operand of 1-byte elements is not there: only 16-bit types can be MN-major\n  as operand A\n"
         "  in tile ((64),(128)):((1),(64)) o Sw<2,4,3>");
  expect(matrix_a(), tile(64, 64), matrix_b(DataType::f32, Major::column), tile(32, 32),
         "an MN-major operand of 4-byte elements is not there: only 16-bit types can be MN-major\n  as operand B\n"
         "  in tile ((32),(32)):((4),(128)) o Sw<3,4,3>");
}

TEST(RefusedOnHopper, Multiplications) {
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.a, p.b);
      for (Ring::Stage s : p.ring.take(p.t.k_blocks())) acc.mma(s[p.b], s[p.a]),
      "mma of \"b\" and \"a\" is not of the inputs, in order, that the accumulator was made for; \"a\" and \"b\"");
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.a, p.b); multiply(p, acc); std::move(acc).wait();
      for (Ring::Stage s : p.ring.take(p.t.k_blocks())) acc.mma(s[p.a], s[p.b]),
      "mma after wait() has no accumulator: it has become a Fragment; a new one for the next tile");
  GS_EXPECT_REFUSED_IN_ROLE(Accumulator acc(p.self, p.ring, p.a, p.b); multiply(p, acc); std::move(acc).wait();
                            std::move(acc).wait(), "wait() twice on one accumulator has nothing left to wait for");
  // A stage goes back once, when the next one of the same accumulator is multiplied.
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.a, p.b); for (Ring::Stage s : p.ring.take(p.t.k_blocks())) {
        acc.mma(s[p.a], s[p.b]);
        acc.mma(s[p.a], s[p.b]);
      },
                                                 "mma of a stage that was multiplied before would give it back twice; "
                                                 "one mma for each stage, next to ring.take()");
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.a, p.b);
      for (Ring::Stage s : p.ring.take(p.t.k_blocks())) when(p.t.m == 0, [&] { acc.mma(s[p.a], s[p.b]); }),
      "mma of a stage in another loop or branch than takes it would give it back too often, or never; one mma "
      "for each stage, next to ring.take()");
  GS_EXPECT_REFUSED_IN_ROLE(
      Accumulator acc(p.self, p.ring, p.a, p.b); for (Int i : range(p.t.m)) {
        static_cast<void>(i);
        multiply(p, acc);
        std::move(acc).wait();
      },
                                                 "wait() in another loop or branch than the accumulator was made in "
                                                 "would go on with the sums of the tile before, or run without "
                                                 "them; an accumulator for each tile");
}

TEST(RefusedOnHopper, TurnsAndBarriers) {
  const auto said = [](int turns, int barrier_consumers, bool takes_turns) {
    return error_of([&](GpuBuilder& k) {
      Turns order = k.turns(turns);
      ClusterBarrier all = k.cluster_barrier({{1, 0, 1}, {1, 0, 1}, {1, 0, 1}}, barrier_consumers);
      kernel(k, [&](const Parts& p) {
        if (takes_turns)
          order.take(p.self, [] {});
        else
          all.sync(p.self);
      });
    });
  };
  const int line = __LINE__ - 6;
  EXPECT_EQ(said(3, 2, true),
            here(line) +
                ": turns of 3 are taken by 2 consumers: one would wait for ever; k.turns(2)\n  while staging kernel");
  EXPECT_EQ(said(2, 1, false),
            here(line + 2) +
                ": a cluster barrier of 1 consumers is reached by 2: it would count the wrong number of threads; "
                "k.cluster_barrier(cluster, 2)\n  while staging kernel");
}

TEST(RefusedOnHopper, Tiles) {
  GS_EXPECT_REFUSED_IN_ROLE(
      p.tiles.alternate(p.self, p.ring),
      "consumers that share their tiles cannot alternate: each would have a part of every other tile; self.alone()");
  GS_EXPECT_REFUSED_IN_ROLE(
      const Consumer self = p.self.alone(); p.tiles.alternate(self, p.ring);
      p.tiles.alternate(self, p.ring),
      "a ring that alternates already would skip stages twice; one tiles.alternate() for each ring");
  GS_EXPECT_REFUSED_IN_ROLE(
      for (Tile t : p.tiles.alternate(p.self.alone())) p.ring.take(t.k_blocks()),
      "a ring whose tiles alternate among 2 consumers does not follow them: stages that others take would be taken "
      "twice; tiles.alternate(self, ring)");
  GS_EXPECT_REFUSED(const Cluster one = k.cluster(1);
                    k.persistent_tiles(matrix_d(), tile(128, 64), matrix_a(), 64, one, {});
                    k.one_tile_per_cluster(matrix_d(), tile(128, 64), matrix_a(), 64, one),
                    "a second tile scheduler is not there: the grid of a launch follows from one; the first one");
}

TEST(RefusedOnHopper, Roles) {
  const auto nothing = [] {};
  const auto no_consumer = [](const Consumer&) {};
  const std::string want = " is not a multiple of 8 from 24 to 256, as setmaxnreg wants";
  GS_EXPECT_REFUSED(k.roles(producer(registers(16), nothing), consumers(1, registers(240), no_consumer)),
                    "registers(16)" + want);
  GS_EXPECT_REFUSED(k.roles(producer(registers(24), nothing), consumers(1, registers(100), no_consumer)),
                    "registers(100)" + want);
  GS_EXPECT_REFUSED(k.roles(producer(registers(24), nothing), consumers(1, registers(264), no_consumer)),
                    "registers(264)" + want);
  const std::string fit =
      " registers do not fit a CTA of 1024 threads and 65536 registers on sm_90; fewer consumers or smaller budgets";
  GS_EXPECT_REFUSED(k.roles(producer(registers(24), nothing), consumers(2, registers(248), no_consumer)),
                    "384 threads with 66560" + fit);
  GS_EXPECT_REFUSED(k.roles(producer(registers(24), nothing), consumers(8, registers(32), no_consumer)),
                    "1152 threads with 35840" + fit);
  GS_EXPECT_REFUSED(
      for (int i = 0; i < 2; ++i) k.roles(producer(registers(24), nothing), consumers(1, registers(240), no_consumer)),
      "a second k.roles() is not there: a thread has one role; both bodies in the first one");
  GS_EXPECT_REFUSED(for (int i = 0; i < 2; ++i) k.threads(128, [](const Cta&) {}),
                    "a second k.threads() is not there: a thread has one role; both bodies in the first one");
  GS_EXPECT_REFUSED(k.threads(40, [](const Cta&) {}), "40 threads are not whole warps of a CTA, 32 to 1024 on sm_90");
}

TEST(RefusedOnHopper, Recordings) {
  IrContext context;
  int line = __LINE__ + 1;
  const auto empty = record_gpu(context, "kernel", [](GpuBuilder&) {});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().text(),
            here(line) + ": kernel kernel has no threads: it gave out no roles; k.roles(...)\n  while staging kernel");
  std::string inner;
  line = __LINE__ + 2;
  error_of([&](GpuBuilder&) {
    const auto second = record_gpu(context, "inner", [](GpuBuilder&) {});
    inner = second.ok() ? "" : second.error().text();
  });
  EXPECT_EQ(inner, here(line) +
                       ": recording \"inner\" began while another is in progress on this thread; one after the other");
}

TEST(RefusedOnHopper, RawOperations) {
  const auto raw = [](const std::function<void()>& body) {
    return error_of([&](GpuBuilder& k) { k.threads(128, [&](const Cta&) { body(); }); });
  };
  const auto where = [](const std::string& text) { return text.substr(text.find(": ") + 2); };
  const auto f32 = [](int lanes) { return zero(Kind::f32, lanes); };
  EXPECT_EQ(
      where(raw([] { op::load_global(Scalar{Kind::pointer, 1, nullptr, 0, 0}, Kind::bf16, 3, CacheHint::normal); })),
      "a load of 6 bytes is not one of 4, 8 or 16\n  while staging kernel");
  EXPECT_EQ(where(raw([&] { op::mma_sync({f32(1), f32(1)}, {f32(1)}, {f32(1)}, Kind::f64); })),
            "mma.sync of f64 with 2, 1 and 1 registers is not m16n8 with 4, 4 and 2; f16, bf16, f32 (as tf32), i8\n  "
            "while staging kernel");
  EXPECT_EQ(where(raw([] { op::tanh_approximate(zero(Kind::f64, 1)); })),
            "tanh of f64 is of f32 only; convert()\n  while staging kernel");
  EXPECT_EQ(where(raw([] { op::exp2_approximate(zero(Kind::f16, 2)); })),
            "exp2 of f16 is of f32 only; convert()\n  while staging kernel");
  EXPECT_EQ(where(raw([&] {
              op::wgmma_block({f32(1)}, op::descriptor(0, 0), {}, op::descriptor(0, 0), true, 8,
                              {Kind::f64, Kind::bf16}, {}, {});
            })),
            "a product of f64 and bf16 is not one of wgmma; f16, bf16, f32 (as tf32), e4m3, e5m2, i8\n  while staging "
            "kernel");
}

// What must not compile.

template <class T, class U>
concept CanBeMultiplied = requires(T x, U y) { x* y; };
template <class T>
concept CanBeACondition = requires(T x) { x ? 1 : 0; };
template <class T>
concept CanBeStored =
    requires(const TmaOutput& d, const SharedTile& s, const Consumer& c, const Tile& t, T x) { d.store(c, t, x); };
template <class T>
concept CanBeKept = requires(const SharedTile& s, const Consumer& c, T x) { s.store(c, x); };
template <class T>
concept CanBeWaitedForWhereItStands = requires(T& acc) { acc.wait(); };
template <class T>
concept HasValues = requires(T acc) { acc.values; };
template <class T>
concept CanBeTaken = requires(Ring& ring, T blocks) { ring.take(blocks); };
template <class T>
concept CanBeFilled = requires(Ring& ring, T copy) { ring.fill(copy); };
template <class R>
concept CountsReadersByHand = requires(R& ring) { ring.set_readers(1); };
template <class R>
concept SkipsByHand = requires(R& ring, Int n) { ring.skip(n); };
template <class R>
concept ReleasesByHand = requires(R& ring, Int n) { ring.release(n); };
template <class T>
concept PassesByHand = requires(T& turns, const Consumer& c) { turns.pass(c); };

static_assert(!std::is_copy_constructible_v<Accumulator> && !std::is_copy_assignable_v<Accumulator> &&
                  !std::is_move_constructible_v<Accumulator>,
              "sums have one owner: only wait() hands them on");
static_assert(CanBeStored<Fragment> && !CanBeStored<Accumulator&> && !CanBeStored<Accumulator>,
              "sums in flight cannot be stored");
static_assert(CanBeKept<Fragment> && !CanBeKept<Accumulator&> && !CanBeKept<Accumulator>);
static_assert(!CanBeWaitedForWhereItStands<Accumulator> && HasValues<Fragment> && !HasValues<Accumulator>,
              "std::move(acc).wait(): what is waited for is gone");
static_assert(!CanBeACondition<decltype(std::declval<Tile>().m == 0)>, "if (t.m == 0) is when(t.m == 0, ...)");
static_assert(!CanBeMultiplied<decltype(Tile::m), double>, "t.m * 2.5");
static_assert(!std::is_copy_assignable_v<Tile> && !std::is_copy_assignable_v<Consumer>,
              "what a tile's coordinates are is said once");
static_assert(!std::is_copy_constructible_v<Ring>, "a ring is its barriers");
static_assert(!std::is_copy_constructible_v<Turns> && !std::is_default_constructible_v<Turns>);
static_assert(CanBeTaken<KBlocks> && !CanBeTaken<Int> && !CanBeTaken<int>, "what is taken follows from a tile");
static_assert(CanBeFilled<TmaCopy> && !CanBeFilled<TmaInput> && !CanBeFilled<Int>);
static_assert(!CountsReadersByHand<Ring> && !SkipsByHand<Ring> && !ReleasesByHand<Ring> && !PassesByHand<Turns>,
              "what follows from the recording cannot be said, and so not be said wrong");

}  // namespace
}  // namespace gemmsmith::test
