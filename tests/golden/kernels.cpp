#include "golden/kernels.h"

#include <bit>
#include <cstring>

namespace gemmsmith::test {
namespace {

// Small whole numbers in any type, packed one behind the other.
int small(size_t i) { return int((i * 7 + i / 5) % 7) - 3; }
void append(std::vector<uint8_t>& to, Kind kind, int x) {
  const auto bytes_of = [&](auto v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    to.insert(to.end(), p, p + sizeof v);
  };
  static const uint8_t kE4m3[] = {0x00, 0x38, 0x40, 0x44}, kE5m2[] = {0x00, 0x3c, 0x40, 0x42};
  static const uint16_t kF16[] = {0x0000, 0x3c00, 0x4000, 0x4200};
  const int size = x < 0 ? -x : x;
  switch (kind) {
    case Kind::f32:
      return bytes_of(float(x));
    case Kind::bf16:
      return bytes_of(uint16_t(std::bit_cast<uint32_t>(float(x)) >> 16));
    case Kind::f16:
      return bytes_of(uint16_t(kF16[size] | (x < 0 ? 0x8000 : 0)));
    case Kind::e4m3:
      return bytes_of(uint8_t(kE4m3[size] | (x < 0 ? 0x80 : 0)));
    case Kind::e5m2:
      return bytes_of(uint8_t(kE5m2[size] | (x < 0 ? 0x80 : 0)));
    case Kind::i8:
      return bytes_of(int8_t(x));
    default:
      return bytes_of(int32_t(x));
  }
}
std::vector<uint8_t> numbers(Kind kind, size_t n) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < n; ++i) append(out, kind, small(i));
  return out;
}
std::vector<uint8_t> words(size_t n) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < n; ++i) append(out, Kind::i32, int(i * 2654435761u));
  return out;
}

DataType storage(Kind kind) {
  switch (kind) {
    case Kind::f32:
      return DataType::f32;
    case Kind::f16:
      return DataType::f16;
    case Kind::bf16:
      return DataType::bf16;
    case Kind::i32:
      return DataType::i32;
    default:
      return DataType::i8;
  }
}

GoldenKernel base(const std::string& name, std::vector<uint8_t> input, int64_t output_words) {
  GoldenKernel g;
  g.name = name;
  g.input = std::move(input);
  g.output_words = output_words;
  g.extents = {{"one", 1}, {"in_words", int64_t(g.input.size() / 4)}, {"out_words", output_words}};
  g.strides = {{"in", int64_t(g.input.size() / 4)}, {"out", output_words}};
  return g;
}

// One cluster of one CTA, with its memory as rows of words.
struct Words {
  Tensor in, out;
};
Words memory(GpuBuilder& k) {
  k.grid("one", 1, "one", 1);
  const Tensor in = k.matrix({"in", "one", "in_words", Major::row, DataType::i32});
  const Tensor out = k.matrix({"out", "one", "out_words", Major::row, DataType::i32});
  return {in.unmasked(), out.unmasked()};
}
Vec word(const Int& n) { return Vec(Scalar{Kind::i32, 1, n.value, n.integer, 0}); }
void put(const Words& w, const Int& index, const Vec& v) { w.out.store({0, index}, bitcast(v, Kind::i32)); }

// A tile through TMA: every swizzle, type and major, with edges that are filled with zeros.
GoldenKernel tma_load(const std::string& name, Kind kind, Major major, int rows, int columns, int swizzle, int m,
                      int n) {
  const int ld = ((major == Major::row ? n : m) + 15) / 16 * 16;
  GoldenKernel g = base(name, numbers(kind, size_t(major == Major::row ? m : n) * size_t(ld)), rows * columns);
  g.extents["m"] = m, g.extents["n"] = n, g.strides["a"] = ld;
  g.stage = [=](GpuBuilder& k) {
    const Words w = memory(k);
    const TmaInput a =
        k.tma_input({"a", "m", "n", major, storage(kind)}, tile(rows, columns), {}, {.max_swizzle_bytes = swizzle});
    Ring& ring = k.ring(1, a);
    k.threads(128, [&](const Cta& cta) {
      op::isolated(cta.thread == 0, [&] { ring.fill(a(0, 0)); });
      for (Ring::Stage s : ring.take(KBlocks(0, 1, 1, 1, Where::current()))) {
        const Tensor t = s[a].tensor();
        for (Int i : range(cta.thread, rows * columns, 128)) {
          const Vec x = t.load({i / columns, i % columns});
          put(w, i,
              kind == Kind::i8                         ? convert(x, Kind::i32)
              : kind == Kind::f32 || kind == Kind::i32 ? x
                                                       : convert(x, Kind::f32));
        }
      }
    });
  };
  return g;
}

// A product through wgmma: registers of the accumulator, thread by thread.
GoldenKernel wgmma(const std::string& name, Kind kind, Major a_major, Major b_major, int m, int n, int k_extent,
                   int swizzle) {
  const Kind type = kind;
  const int64_t element = bytes(kind);
  std::vector<uint8_t> input = numbers(kind, size_t(m + n) * size_t(k_extent));
  const int registers = m / 64 * n / 2;
  GoldenKernel g = base(name, std::move(input), 128 * registers);
  g.offsets["b"] = int64_t(m) * k_extent * element;
  g.extents["m"] = m, g.extents["n"] = n, g.extents["k"] = k_extent;
  g.strides["a"] = a_major == Major::row ? k_extent : m;
  g.strides["b"] = b_major == Major::row ? k_extent : n;  // asked for as (n, k)
  g.stage = [=](GpuBuilder& k) {
    const Words w = memory(k);
    TmaOptions options{.max_swizzle_bytes = swizzle};
    if (type == Kind::e4m3 || type == Kind::e5m2) options.element = type;
    const TmaInput a = k.tma_input({"a", "m", "k", a_major, storage(kind)}, tile(m, k_extent), {}, options);
    const TmaInput b = k.tma_input({"b", "n", "k", b_major, storage(kind)}, tile(n, k_extent), {}, options);
    Ring& ring = k.ring(1, a, b);
    k.threads(128, [&](const Cta& cta) {
      op::isolated(cta.thread == 0, [&] { ring.fill(a(0, 0), b(0, 0)); });
      const Consumer self{1, 0, cta.thread, 1, 0};
      Accumulator acc(self, ring, a, b);
      for (Ring::Stage s : ring.take(KBlocks(0, 1, 1, 1, Where::current()))) acc.mma(s[a], s[b]);
      const Fragment f = std::move(acc).wait();
      for (int r = 0; r < registers; ++r) put(w, cta.thread * registers + r, Vec(f.values[size_t(r)]));
    });
  };
  return g;
}

// A kernel of one warp or more on words of memory.
template <class Body>
GoldenKernel simple(const std::string& name, int threads, int64_t in_words, int64_t out_words, Body body,
                    int64_t shared_bytes = 0) {
  GoldenKernel g = base(name, words(size_t(in_words)), out_words);
  g.stage = [=](GpuBuilder& k) {
    const Words w = memory(k);
    std::optional<Int> shared;
    if (shared_bytes) shared.emplace(k.allocate("buffer", shared_bytes));
    k.threads(threads, [&](const Cta& cta) { body(w, cta, shared ? *shared : Int(0)); });
  };
  return g;
}

void add_threads(std::vector<GoldenKernel>& out) {
  out.push_back(simple("thread_ids", 96, 4, 3 * 96, [](const Words& w, const Cta& cta, const Int&) {
    put(w, cta.thread, word(cta.thread));
    put(w, 96 + cta.thread, word(cta.warp));
    put(w, 192 + cta.thread, word(op::cluster_rank()));
  }));
  out.push_back(simple("elect", 64, 4, 64, [](const Words& w, const Cta& cta, const Int&) {
    const Bool one = op::elect_one();
    put(w, cta.thread, word(select(one, 1, 0)));
  }));
  out.push_back(simple(
      "named_barriers", 128, 4, 128,
      [](const Words& w, const Cta& cta, const Int& shared) {
        const Tensor t(op::shared_pointer(shared), Kind::i32, staged(padded_tile(1, 128, 4)), Space::shared);
        const Int pair = cta.thread / 64;
        t.store({0, cta.thread}, word(cta.thread + 5));
        op::named_barrier(pair + 1, 64);
        put(w, cta.thread, t.load({0, pair * 64 + (63 - cta.thread % 64)}));
      },
      512));
  // A barrier of 32 arrivals, waited for by all: three phases.
  out.push_back(simple(
      "mbarrier_phases", 64, 4, 64,
      [](const Words& w, const Cta& cta, const Int& shared) {
        when(cta.thread == 0, [&] {
          op::mbarrier_init(shared, 32);
          op::fence_mbarrier_init();
        });
        cta.sync();
        const Tensor t(op::shared_pointer(shared + 64), Kind::i32, staged(padded_tile(1, 1, 4)), Space::shared);
        Var<Int> seen(0);
        for (int phase = 0; phase < 3; ++phase) {
          when(cta.thread == phase, [&] { t.store({0, 0}, word(Int(100 + phase))); });
          when(cta.thread < 32, [&] { op::mbarrier_arrive(shared); });
          op::mbarrier_wait(shared, phase & 1);
          const Scalar value = t.load({0, 0});
          seen = seen * 7 + Int(Scalar{Kind::index, 1, value.value, value.integer, 0});
          cta.sync();
        }
        put(w, cta.thread, word(seen));
      },
      128));
}

void add_matrices(std::vector<GoldenKernel>& out) {
  for (bool transposed : {false, true})
    for (int count : {1, 2, 4}) {
      const std::string suffix = "_x" + std::to_string(count) + (transposed ? "_trans" : "");
      out.push_back(simple(
          "ldmatrix" + suffix, 32, 128, 32 * count,
          [=](const Words& w, const Cta& cta, const Int& shared) {
            const Tensor t(op::shared_pointer(shared), Kind::i32, staged(padded_tile(1, 128, 4)), Space::shared);
            for (int i = 0; i < 4; ++i) t.store({0, cta.lane + 32 * i}, w.in.load({0, cta.lane + 32 * i}));
            cta.sync();
            const auto registers = op::load_matrix(shared + cta.lane * 16, count, transposed);
            for (int r = 0; r < count; ++r) put(w, cta.lane * count + r, Vec(registers[size_t(r)]));
          },
          512));
      out.push_back(simple(
          "stmatrix" + suffix, 32, 128, 128,
          [=](const Words& w, const Cta& cta, const Int& shared) {
            const Tensor t(op::shared_pointer(shared), Kind::i32, staged(padded_tile(1, 128, 4)), Space::shared);
            for (int i = 0; i < 4; ++i) t.store({0, cta.lane + 32 * i}, word(Int(0)));
            cta.sync();
            std::vector<Scalar> registers;
            for (int r = 0; r < count; ++r) registers.push_back(w.in.load({0, cta.lane * 4 + r}));
            op::store_matrix(shared + cta.lane * 16, registers, transposed);
            cta.sync();
            for (int i = 0; i < 4; ++i) put(w, cta.lane + 32 * i, t.load({0, cta.lane + 32 * i}));
          },
          512));
    }
  for (Kind kind : {Kind::bf16, Kind::f16, Kind::f32, Kind::i8}) {
    GoldenKernel g = simple("mma_sync_" + print(kind), 32, 1, 128, [=](const Words& w, const Cta& cta, const Int&) {
      std::vector<Scalar> a, b, c;
      for (int r = 0; r < 4; ++r) a.push_back(w.in.load({0, cta.lane * 4 + r}));
      for (int r = 0; r < 2; ++r) b.push_back(w.in.load({0, cta.lane * 2 + r + 128}));
      for (int r = 0; r < 4; ++r) c.push_back(zero(op::accumulator_of(kind), 1));
      const auto d = op::mma_sync(c, a, b, kind);
      for (int r = 0; r < 4; ++r) put(w, cta.lane * 4 + r, Vec(d[size_t(r)]));
    });
    g.input = numbers(kind, size_t(192 * 4 / bytes(kind)));
    g.extents["in_words"] = g.strides["in"] = 192;
    out.push_back(g);
  }
}

void add_copies(std::vector<GoldenKernel>& out) {
  for (int size : {4, 8, 16})
    out.push_back(simple(
        "cp_async_" + std::to_string(size), 32, 256, 128,
        [=](const Words& w, const Cta& cta, const Int& shared) {
          const Tensor t(op::shared_pointer(shared), Kind::i32, staged(padded_tile(1, 128, 4)), Space::shared);
          for (int i = 0; i < 4; ++i) t.store({0, cta.lane + 32 * i}, word(Int(-1)));
          cta.sync();
          // Of lane l the first l % (size + 1) bytes are copied, in whole words; the rest is zero.
          const Int valid = cta.lane % (size / 4 + 1) * 4;
          op::copy_async(shared + cta.lane * size, op::advance(w.in.slice(0, 0).pointer(), cta.lane * Offset(16)), size,
                         valid);
          op::copy_async_commit();
          op::copy_async_wait(0);
          cta.sync();
          for (int i = 0; i < size / 4; ++i) put(w, cta.lane + 32 * i, t.load({0, cta.lane + 32 * i}));
          for (int i = size / 4; i < 4; ++i) put(w, cta.lane + 32 * i, word(Int(7)));
        },
        512));
  out.push_back(simple(
      "bulk_copies", 32, 128, 128,
      [](const Words& w, const Cta& cta, const Int& shared) {
        const Int barrier = shared + 1024;
        when(cta.thread == 0, [&] {
          op::mbarrier_init(barrier, 1);
          op::fence_mbarrier_init();
        });
        cta.sync();
        when(cta.thread == 0, [&] {
          op::mbarrier_expect_bytes(barrier, 512);
          op::bulk_load(shared, w.in.slice(0, 0).pointer(), 512, barrier);
        });
        op::mbarrier_wait(barrier, 0);
        const Tensor t(op::shared_pointer(shared), Kind::i32, staged(padded_tile(1, 128, 4)), Space::shared);
        t.store({0, cta.lane}, t.load({0, cta.lane + 64}));
        op::fence_async_shared();
        cta.sync();
        when(cta.thread == 0, [&] {
          op::bulk_store(w.out.slice(0, 0).pointer(), shared, 512);
          op::bulk_commit();
          op::bulk_wait(0, false);
        });
      },
      1152));
}

// TMA stores and reductions of a 16 x 32 tile of f32 whose lower right part sticks out of D.
GoldenKernel tma_out(const std::string& name, std::optional<op::TmaReduction> how) {
  GoldenKernel g = base(name, numbers(Kind::f32, 16 * 32), 12 * 32);
  g.extents["m"] = 12, g.extents["n"] = 28, g.strides["d"] = 32;
  g.stage = [=](GpuBuilder& k) {
    const Words w = memory(k);
    const Layout layout = swizzled_tile(16, 32, 4);
    const MatrixArg d{"d", "m", "n", Major::row, DataType::f32};
    k.matrix(d);
    const op::TensorMapRef map = k.tensor_map(d, layout, 16, 32);
    const Int buffer = k.allocate("tile", span_bytes(layout));
    k.threads(64, [&](const Cta& cta) {
      if (how)  // something to reduce into: whole numbers, so that sums are exact in any order
        for (Int i : range(cta.thread, 12 * 32, 64)) put(w, i, convert(word(i % 5), Kind::f32));
      const Tensor t(op::shared_pointer(buffer), Kind::f32, staged(layout), Space::shared);
      for (Int i : range(cta.thread, 16 * 32, 64)) t.store({i / 32, i % 32}, bitcast(w.in.load({0, i}), Kind::f32));
      op::fence_async();
      cta.sync();
      when(cta.thread == 0, [&] {
        if (how)
          op::tma_reduce(*how, map, buffer, {0, 0});
        else
          op::tma_store(map, buffer, {0, 0});
        op::bulk_commit();
        op::bulk_wait(0, false);
      });
    });
  };
  return g;
}

// Where TMA cuts a row that ends within 16 bytes: a 12 x 32 tile whose matrix has `n` columns in rows of 64 bytes or more.
GoldenKernel tma_edge(const std::string& name, Kind kind, int n) {
  const int element = int(bytes(kind)), ld = 128 / element;
  GoldenKernel g = base(name, numbers(kind, size_t(16 * 32)), 12 * 32);
  g.extents["m"] = 12, g.extents["n"] = n, g.strides["d"] = ld;
  g.stage = [=](GpuBuilder& k) {
    const Words w = memory(k);
    const Layout layout = swizzled_tile(16, 32, element, Major::row, 32);
    const MatrixArg d{"d", "m", "n", Major::row, storage(kind)};
    k.matrix(d);
    const auto boxes = tma_boxes(layout, 16).value();
    const op::TensorMapRef map = k.tensor_map(d, layout, boxes.rows, boxes.columns);
    const Int buffer = k.allocate("tile", span_bytes(layout));
    k.threads(64, [&](const Cta& cta) {
      const Tensor t(op::shared_pointer(buffer), kind, staged(layout), Space::shared);
      for (Int i : range(cta.thread, 16 * 32, 64))
        t.store({i / 32, i % 32}, kind == Kind::i8 ? convert(word(i % 100 + 1), Kind::i8)
                                                   : convert(convert(word(i % 100 + 1), Kind::f32), kind));
      op::fence_async_shared();
      cta.sync();
      when(cta.thread == 0, [&] {
        for (const TmaBoxes::At& at : boxes.at) op::tma_store(map, buffer + at.byte, {at.column, at.row});
        op::bulk_commit();
        op::bulk_wait(0, false);
      });
    });
  };
  return g;
}

// Two CTAs: multicast, remote arrivals, loads, stores and asynchronous stores through distributed shared memory.
GoldenKernel cluster() {
  GoldenKernel g = base("cluster", numbers(Kind::bf16, 64 * 64), 2 * (64 * 32 + 64));
  g.extents["m"] = 64, g.extents["n"] = 64, g.strides["a"] = 64;
  g.stage = [](GpuBuilder& k) {
    const Cluster cluster = k.cluster(1, 2);
    const Words w = memory(k);
    const TmaInput a = k.tma_input({"a", "m", "n", Major::row, DataType::bf16}, tile(64, 64), multicast(cluster.n));
    Ring& ring = k.ring(1, a);
    const Int mail = k.allocate("mail", 256), barrier = k.allocate("barrier", 16);
    k.threads(64, [&](const Cta& cta) {
      const Int rank = cluster.n.rank, other = 1 - rank;
      when(cta.thread == 0, [&] {
        op::mbarrier_init(barrier, 1);
        op::fence_mbarrier_init();
      });
      op::cluster_arrive(false);
      op::cluster_wait(false);
      op::isolated(cta.thread == 0, [&] { ring.fill(a(0, 0)); });
      for (Ring::Stage s : ring.take(KBlocks(0, 1, 1, 1, Where::current()))) {
        const Tensor t = s[a].tensor();
        for (Int i : range(cta.thread, 64 * 32, 64)) {
          const Vec pair = join({t.load({i / 32, i % 32 * 2}), t.load({i / 32, i % 32 * 2 + 1})});
          put(w, rank * (64 * 32 + 64) + i, bitcast(pair, Kind::i32));
        }
      }
      // Each CTA sends 64 words to the other: those of even threads by st, of odd ones by st.async.
      const op::Remote to = op::map_to_rank(mail + cta.thread * 4, other), there = op::map_to_rank(barrier, other);
      when(cta.thread == 0, [&] { op::mbarrier_expect_bytes(barrier, 32 * 4); });
      when((cta.thread & 1) == 0, [&] { op::store_cluster(to, word(cta.thread * 3 + rank)); },
           [&] { op::store_async(to, word(cta.thread * 5 + rank), there); });
      op::mbarrier_wait(barrier, 0, MemoryScope::cluster);
      op::cluster_arrive(false);
      op::cluster_wait(false);
      const Vec got = op::load_cluster(op::map_to_rank(mail + cta.thread * 4, rank), Kind::i32, 1);
      put(w, rank * (64 * 32 + 64) + 64 * 32 + cta.thread, got);
    });
  };
  return g;
}

void add_arithmetic(std::vector<GoldenKernel>& out) {
  // Rounding to bf16: halfway cases, subnormals, infinities, NaN.
  GoldenKernel g = simple("convert_bf16", 32, 64, 32, [](const Words& w, const Cta& cta, const Int&) {
    const Vec pair =
        join({bitcast(w.in.load({0, cta.lane * 2}), Kind::f32), bitcast(w.in.load({0, cta.lane * 2 + 1}), Kind::f32)});
    put(w, cta.lane, bitcast(convert(pair, Kind::bf16), Kind::i32));
  });
  const uint32_t edges[] = {0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x00000001, 0x007fffff,
                            0x7f7fffff, 0x7f800000, 0xff800000, 0xff7f8000, 0x80000000, 0x00008000,
                            0x00018000, 0x33800000, 0xbf818000, 0x477fff00};
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t bits = i < 16 ? edges[i] : uint32_t(0x3f800000 + i * 0x00123456);
    std::memcpy(g.input.data() + 4 * i, &bits, 4);
  }
  out.push_back(g);
  for (bool exp2 : {false, true}) {
    GoldenKernel f = simple(exp2 ? "exp2" : "tanh", 32, 64, 64, [=](const Words& w, const Cta& cta, const Int&) {
      for (int i = 0; i < 2; ++i) {
        const Vec x = bitcast(w.in.load({0, cta.lane + 32 * i}), Kind::f32);
        put(w, cta.lane + 32 * i, exp2 ? op::exp2_approximate(x) : op::tanh_approximate(x));
      }
    });
    for (size_t i = 0; i < 64; ++i) {
      const float x = (float(i) - 31.5f) * 0.25f;
      std::memcpy(f.input.data() + 4 * i, &x, 4);
    }
    f.tolerance = exp2 ? 4.8e-7f : 9.8e-4f;  // 2^-21 and 2^-10, twice what the ISA says
    out.push_back(f);
  }
  // Flags and sums between threads of a grid; the order of additions does not matter for whole numbers.
  out.push_back(simple("atomics", 64, 4, 4, [](const Words& w, const Cta& cta, const Int&) {
    const Scalar out = w.out.slice(0, 0).pointer();
    when(cta.thread == 0, [&] {
      for (int i = 0; i < 4; ++i) put(w, i, word(Int(0)));
    });
    cta.sync();
    op::add_release(out, cta.thread);
    op::reduce_add(op::advance(out, 4), constant(Kind::f32, 1, 1.0));
    cta.sync();
    when(cta.thread == 1, [&] {
      const Int sum = op::load_acquire(out);
      op::store_release(op::advance(out, 8), sum + 1);
      put(w, 3, word(Int(9)));
    });
  }));
  out.push_back(simple("load_global", 32, 256, 128, [](const Words& w, const Cta& cta, const Int&) {
    const Scalar in = w.in.slice(0, 0).pointer();
    for (CacheHint hint : {CacheHint::normal, CacheHint::evict_first, CacheHint::evict_last}) {
      const Vec four = op::load_global(op::advance(in, cta.lane * Offset(16)), Kind::i32, 4, hint);
      put(w, cta.lane + 32 * int(hint), extract(four, int(hint)));
    }
    put(w, cta.lane + 96,
        extract(op::load_global(op::advance(in, cta.lane * Offset(8)), Kind::i32, 2, CacheHint::normal), 1));
  }));
}

}  // namespace

std::vector<GoldenKernel> golden_kernels() {
  std::vector<GoldenKernel> out;
  add_threads(out);
  for (Kind kind : {Kind::bf16, Kind::f32, Kind::i8})
    for (Major major : {Major::row, Major::column})
      for (int swizzle : {32, 64, 128})
        out.push_back(
            tma_load("tma_load_" + print(kind) + (major == Major::row ? "_row_" : "_col_") + std::to_string(swizzle),
                     kind, major, 64, 64, swizzle, 48, 48));
  struct Product {
    Kind kind;
    Major a, b;
    int n, swizzle;
  };
  const auto K = Major::row, MN = Major::column;
  for (const Product& p : {Product{Kind::bf16, K, K, 64, 128},
                           {Kind::bf16, MN, K, 64, 128},
                           {Kind::bf16, K, MN, 64, 128},
                           {Kind::bf16, MN, MN, 128, 128},
                           {Kind::bf16, MN, MN, 64, 64},
                           {Kind::bf16, MN, MN, 32, 32},
                           {Kind::bf16, K, K, 8, 64},
                           {Kind::bf16, K, K, 176, 128},
                           {Kind::bf16, K, K, 256, 32},
                           {Kind::f16, K, K, 64, 128},
                           {Kind::f16, MN, MN, 64, 128},
                           {Kind::f32, K, K, 64, 128},
                           {Kind::i8, K, K, 64, 128},
                           {Kind::i8, K, K, 24, 64},
                           {Kind::e4m3, K, K, 64, 128},
                           {Kind::e5m2, K, K, 64, 128}}) {
    const int k = 128 / bytes(p.kind);
    out.push_back(wgmma("wgmma_" + print(p.kind) + (p.a == K ? "_k" : "_mn") + (p.b == K ? "_k" : "_mn") + "_n" +
                            std::to_string(p.n) + "_sw" + std::to_string(p.swizzle),
                        p.kind, p.a, p.b, p.n == 128 ? 128 : 64, p.n, k, p.swizzle));
  }
  add_matrices(out);
  add_copies(out);
  out.push_back(tma_out("tma_store", {}));
  out.push_back(tma_out("tma_reduce_add", op::TmaReduction::add));
  for (int n : {25, 26, 27, 29, 31}) out.push_back(tma_edge("tma_store_edge_bf16_" + std::to_string(n), Kind::bf16, n));
  for (int n : {17, 18, 19, 21, 27, 31}) out.push_back(tma_edge("tma_store_edge_i8_" + std::to_string(n), Kind::i8, n));
  for (int n : {25, 26, 27, 29, 31}) out.push_back(tma_edge("tma_store_edge_f32_" + std::to_string(n), Kind::f32, n));
  for (int n : {41, 42, 45, 47})
    out.push_back(tma_load("tma_load_edge_bf16_" + std::to_string(n), Kind::bf16, Major::row, 64, 64, 128, 48, n));
  out.push_back(cluster());
  add_arithmetic(out);
  return out;
}

}  // namespace gemmsmith::test
