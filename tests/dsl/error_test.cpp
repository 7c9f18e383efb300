// What is refused while a kernel is recorded: the whole text, at the author's line, and nothing leaks or crashes after
// it.
#include <gtest/gtest.h>

#include <optional>
#include <type_traits>

#include "dsl/gemm.h"

namespace gemmsmith::test {
namespace {

using Stage = std::function<void(KernelBuilder&)>;

std::string error_of(const Stage& stage, const RecordOptions& options = {.vector_bytes = 64}) {
  IrContext context;
  auto kernel = record(context, "kernel", options, stage);
  return kernel.ok() ? "nothing was refused" : kernel.error().text();
}
std::string at(int line, const std::string& what) {
  return std::string(__FILE__) + ":" + std::to_string(line) + ": " + what + "\n  while staging kernel";
}
Tensor matrix(KernelBuilder& k, const char* name = "a") { return k.matrix({name, "m", "n"}); }
Vec vec(int lanes = 16, Kind kind = Kind::f32) { return zero(kind, lanes); }

// One line a refusal: what is written, and what is said about it. __LINE__ is that of the macro's use, as the author's
// is.
#define GS_EXPECT_REFUSED(code, text) \
  EXPECT_EQ(error_of([&]([[maybe_unused]] KernelBuilder& k) { code; }), at(__LINE__, text))

TEST(Refused, Tensors) {
  GS_EXPECT_REFUSED(matrix(k).slice(2, 0), "slice: mode 2 is not one of a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).tiles(7, 4), "tiles: mode 7 is not one of a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).divide(-1, 4), "divide: mode -1 is not one of a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).tile({4}, {0, 0}), "a tile's shape with 1 numbers does not fit a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).tile({4, all}, {0}), "a tile's index with 1 numbers does not fit a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).load({0}), "a coordinate with 1 numbers does not fit a tensor of rank 2");
  GS_EXPECT_REFUSED(matrix(k).tile({0, all}, {0, 0}), "a tile of 0 is not positive\n  of mode 0\n  in divide");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 4}).slice(0, 4), "index 4 is outside mode 0, which has 4");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 4}).tile({2, 2}, {3, 0}),
                    "tile 3 of 2 begins past the end of mode 0, which has 4");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 4}).load({0, 4}), "index 4 is outside mode 1, which has 4");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 4}).exactly({5, all}), "exactly 5 in mode 0 contradicts its extent, 4");
  GS_EXPECT_REFUSED(matrix(k).slice(1, 0).load({0}, 4),
                    "a vector of 4 lanes needs a contiguous mode; load_along(), store_along()");
  GS_EXPECT_REFUSED(matrix(k).load({0, 0}, 0), "a vector of 0 lanes has fewer than one");
  GS_EXPECT_REFUSED(matrix(k).recast(Kind::i64),
                    "recast from f32 to i64 does not come out even: the contiguous mode has a run-time number; a known "
                    "multiple of 2");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 3}).recast(Kind::i64),
                    "recast from f32 to i64 does not come out even: the contiguous mode has 3; a known multiple of 2");
  GS_EXPECT_REFUSED(matrix(k).exactly({4, 4}).recast(Kind::i64),
                    "recast from f32 to i64 needs steps of whole elements in mode 0, which has a run-time stride; "
                    "multiples of 8 bytes");
  GS_EXPECT_REFUSED(matrix(k).slice(1, 0).recast(Kind::i8), "recast from f32 to i8 needs a mode that is contiguous");
}

TEST(Refused, Layouts) {
  GS_EXPECT_REFUSED(k.scratch(Kind::f32, Layout{{{{0, 4}}}, {}, 4}, 0),
                    "((0)):((4)) has an extent of 0; 1 or more\n  in layout");
  GS_EXPECT_REFUSED(k.scratch(Kind::bf16, padded_tile(4, 4, 4), 0),
                    "scratch of bf16 has a layout of elements of 4 bytes; 2 bytes");
  GS_EXPECT_REFUSED(k.scratch(Kind::i8, padded_tile(int64_t(1) << 31, int64_t(1) << 31, 1), 0),
                    "scratch of 4611686018427387904 bytes for each core is more than 2^46 bytes");
  GS_EXPECT_REFUSED(k.scratch(Kind::f32, panels(32, 8, 16, 4), 0).tile({24, all}, {0, 0}),
                    "a tile of 24 does not divide the inner leaf of the mode, which has 16 elements; a divisor or a "
                    "multiple of 16\n  of mode 0\n  in divide");
  GS_EXPECT_REFUSED(k.scratch(Kind::f32, swizzled_tile(8, 32, 4), 0).load({0, 0}, 8),
                    "a vector of 32 bytes is wider than the 16 bytes that a swizzle keeps together; 4 lanes");
}

TEST(Refused, Vectors) {
  GS_EXPECT_REFUSED(
      vec(16) + vec(8),
      "a sum of 16 x f32 and 8 x f32 has operands of different types; convert() or broadcast() one of them");
  GS_EXPECT_REFUSED(
      max(vec(), vec(16, Kind::i32)),
      "a maximum of 16 x f32 and 16 x i32 has operands of different types; convert() or broadcast() one of them");
  GS_EXPECT_REFUSED(vec(4, Kind::i32) / vec(4, Kind::i32),
                    "a quotient of i32 vectors is not there: no vector unit divides integers; convert() to f32");
  GS_EXPECT_REFUSED(vec(16, Kind::bf16) + vec(16, Kind::bf16),
                    "a sum of bf16 vectors is not there: no instruction computes in bf16; convert() to f32");
  GS_EXPECT_REFUSED(-vec(16, Kind::bf16),
                    "a negation of bf16 vectors is not there: no instruction computes in bf16; convert() to f32");
  GS_EXPECT_REFUSED(select(vec(8), vec(), vec()),
                    "a mask of 8 x f32 does not select among 16 x f32; compare() makes masks");
  GS_EXPECT_REFUSED(math(Math::exp, vec(16, Kind::bf16)),
                    "a function of 16 x bf16 is of f32 and f64 only; convert() to f32");
  GS_EXPECT_REFUSED(convert(vec(), Kind::i1), "a conversion from f32 to i1 is not there; f64 f32 f16 bf16 i32 i8");
  GS_EXPECT_REFUSED(bitcast(vec(3, Kind::bf16), Kind::i32), "the bits of 3 x bf16 are not those of a vector of i32");
  GS_EXPECT_REFUSED(broadcast(vec(4), 8), "a broadcast of 4 x f32 to 8 lanes is of one lane only; extract()");
  GS_EXPECT_REFUSED(permute(vec(4), vec(4), {0, 8}),
                    "a shuffle of 4 x f32 and 4 x f32 takes lanes of both, of one element type; 0 to 7");
  GS_EXPECT_REFUSED(part_of_lanes(vec(4, Kind::i32), Kind::bf16, 2),
                    "part 2 of 4 x i32 as bf16 is not there; 2 elements of 16 bits or 4 of 8 in lanes of i32");
  GS_EXPECT_REFUSED(extract(vec(4), 4), "lane 4 is not one of 4 x f32");
  GS_EXPECT_REFUSED(reduce_add(vec(6)), "a sum of 6 lanes is formed in pairs; a power of two");
  GS_EXPECT_REFUSED(transpose({vec(4), vec(4)}),
                    "a transposition of 2 vectors is of n vectors of n lanes, n a power of two");
  GS_EXPECT_REFUSED(bitwise_xor(vec(), vec()), "a xor of f32 vectors is of integers only; bitcast()");
  GS_EXPECT_REFUSED(dot_bf16(vec(), vec(), vec()),
                    "dot_bf16 needs avx512_bf16, which this CPU does not have; widen to f32 while packing");
  GS_EXPECT_REFUSED(dot_i8(vec(16, Kind::i32), vec(), vec()),
                    "dot_i8 of 16 lanes needs avx512_vnni (or, up to 8 lanes, avx_vnni), which this CPU does not have; "
                    "widen to i32 while packing");
  const int line = __LINE__ + 1;
  const Stage uneven = [](KernelBuilder&) { dot_bf16(vec(), vec(16, Kind::bf16), vec(32, Kind::bf16)); };
  EXPECT_EQ(
      error_of(uneven, {.vector_bytes = 64, .features = {"avx512_bf16"}}),
      at(line,
         "dot_bf16 of 16 x bf16 and 32 x bf16 to 16 x f32 has no instruction; 2 bf16 for each of 4, 8 or 16 f32"));
}

TEST(Refused, ControlFlow) {
  GS_EXPECT_REFUSED(for ([[maybe_unused]] Int i : range(k.extent("m"))) break,
                    "the body of this loop was left by break or return, which a kernel cannot do; when()");
  GS_EXPECT_REFUSED(for ([[maybe_unused]] Int i : range(0, k.extent("m"), 0)){},
                    "a loop with a step of 0 does not end; a step of 1 or more");
  GS_EXPECT_REFUSED(for ([[maybe_unused]] Int i : parallel(k.extent("m"))) for ([[maybe_unused]] Int j : parallel(2)){},
                    "a parallel loop stands inside another one, whose parts have the cores already; range()");
  GS_EXPECT_REFUSED(std::optional<Int> out; for (Int i : range(k.extent("m"))) out.emplace(i + 1); out->constant();
                    *out + 1,
                    "a value made inside a loop or branch is used after that has ended; a Var carries values out of "
                    "loops and branches");
  GS_EXPECT_REFUSED(std::optional<Int> out; when(k.extent("m") == 1, [&] { out.emplace(k.extent("m") + 1); });
                    *out + 1,
                    "a value made inside a loop or branch is used after that has ended; a Var carries values out of "
                    "loops and branches");
  GS_EXPECT_REFUSED(k.extent("m") / 0, "a division by 0 is not a number");
  GS_EXPECT_REFUSED(Int(3) % 0, "a remainder of a division by 0 is not a number");
}

TEST(Refused, Builder) {
  GS_EXPECT_REFUSED(matrix(k); k.matrix({"a", "m", "n"}),
                               "operand \"a\" was asked for before; keep the tensor that the first call gave");
  const Expr bias = Expr::parse("acc + bias[n]").value();
  GS_EXPECT_REFUSED(k.output({.d = {"d", "m", "n"}, .epilogue = bias}), "input \"bias\" of the epilogue has no type");
  GS_EXPECT_REFUSED(
      k.output({.d = {"d", "m", "n"}, .epilogue = bias, .inputs = {{"bias", InputIndex::row, DataType::f32}}}),
      "input \"bias\" of the epilogue is indexed in another way than its InputArg says");
  GS_EXPECT_REFUSED(
      k.output({.d = {"d", "m", "n"}, .beta = true, .c = {.name = "c", .rows = "m", .columns = "n", .batched = true}}),
      "C is batched where D is not, or the other way round; batched in both");
  GS_EXPECT_REFUSED(
      RegisterTile(4, 24, Kind::f32, 16, matrix(k)),
      "a register tile of 4 x 24 is not made of whole vectors of 16 lanes; columns that are a multiple of the lanes");
  GS_EXPECT_REFUSED(RegisterTile(4, 32, Kind::f32, 16, matrix(k)),
                    "the scratch of a register tile is not a row-major tile of 4 x 32 f32; k.scratch(sum, "
                    "padded_tile(rows, columns, bytes(sum)), core)");
  GS_EXPECT_REFUSED(pack(matrix(k).slice(0, 0), matrix(k, "b"), 4, 16),
                    "packing a tensor of rank 1 into one of rank 2 is of matrices; slice() the batch");
  GS_EXPECT_REFUSED(pack(matrix(k), matrix(k, "b"), 4, 12), "packing with 12 lanes is not a vector; a power of two");
  GS_EXPECT_REFUSED(pack_pairs(matrix(k), matrix(k, "b"), 4, 16),
                    "packing f32 as groups of 2 f32 has no dot product; pairs of bf16 or quads of i8");
  GS_EXPECT_REFUSED(
      pack_quads(k.matrix({"q", "m", "n", Major::row, DataType::i8}), k.scratch(Kind::i8, panels(4, 8, 4, 1), 0), 4,
                 16),
      "panels for groups of 4 do not have the columns of a group side by side; panels(rows, columns, panel, bytes, 4)");
}

TEST(Refused, Recordings) {
  IrContext context;
  const Stage nothing = [](KernelBuilder&) {};
  const auto text = [&](const std::string& name, const RecordOptions& options, const Stage& stage) {
    const auto kernel = record(context, name, options, stage, Where());
    return kernel.ok() ? "nothing was refused" : kernel.error().text();
  };
  EXPECT_EQ(text("", {}, nothing), ":0: a kernel without a name has no symbol to be found by; gemm_packed");
  EXPECT_EQ(text("k", {.vector_bytes = 48}, nothing),
            ":0: vector_bytes = 48 is not the size of a vector register; 16, 32, 64");
  EXPECT_EQ(text("k", {.index_bits = 16}, nothing), ":0: index_bits = 16 is not the width of an index; 32, 64");
  std::string inner;
  EXPECT_EQ(text("outer", {}, [&](KernelBuilder&) { inner = text("inner", {}, nothing); }), "nothing was refused");
  EXPECT_EQ(inner, ":0: recording \"inner\" began while another is in progress on this thread; one after the other");
}

// A mistake anywhere in a whole GEMM: the recording goes on harmlessly, everything detached is freed (run it under
// valgrind or the address sanitizer), and the context can be used again.
TEST(Refused, TheFirstMistakeCountsAndTheRestIsHarmless) {
  IrContext context;
  const auto stage = [](int mistake) -> Stage {
    return [mistake](KernelBuilder& k) {
      GemmClass p;
      p.out.epilogue = Expr::parse("relu(acc) + bias[n]").value();
      p.out.inputs = {{"bias", InputIndex::column, DataType::f32}};
      Var<Int> carried(0);
      if (mistake == 0) k.extent("m") / 0;
      if (mistake == 1) {
        for (Int i : range(k.extent("m"))) {
          for (Int j : range(k.extent("n"))) {
            carried = carried + i * j;
            when(j == 3, [&] { k.extent("m") / 0; }, [&] { carried = 1; });
            carried = carried + 1;
          }
        }
      }
      if (mistake == 2)
        for (Int part : parallel(k.extent("m"))) {
          Var<Int> inner(part);
          for (Int i : range(part)) {
            inner = inner + i;
            k.extent("m") / 0;
            inner = inner + i;
          }
        }
      k.extent("n") / 0;  // not the first
      gemm_packed(k, {}, p);
    };
  };
  for (int mistake : {0, 1, 2}) {
    const auto kernel = record(context, "kernel", {}, stage(mistake));
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().given, "a division");
    EXPECT_NE(kernel.error().where.find("error_test.cpp"), std::string::npos);
  }
  EXPECT_TRUE(record(context, "kernel", {}, [](KernelBuilder& k) { gemm_packed(k, {}, {}); }).ok());
}

// What must not compile.

template <class T>
concept CanBeACondition = requires(T x) { x ? 1 : 0; };
template <class T, class U>
concept CanBeAssigned = requires(T x, U y) { x = y; };
template <class A, class B>
concept CanBeAdded = requires(A a, B b) { a + b; };
template <class A, class B>
concept CanBeMultiplied = requires(A a, B b) { a* b; };

static_assert(!CanBeACondition<Bool>, "if (Bool) must not compile: when() is the staged branch");
static_assert(!CanBeACondition<Int>);
static_assert(!CanBeAssigned<Int, Int> && !CanBeAssigned<Vec, Vec> && !CanBeAssigned<Bool, Bool>,
              "x = x + 1 needs a Var");
static_assert(CanBeAssigned<Var<Int>, Int> && CanBeAssigned<Vars<Vec>::Ref, Vec>);
static_assert(!std::is_copy_constructible_v<Var<Int>> && !std::is_copy_constructible_v<Vars<Vec>>,
              "a Var is its address");
static_assert(!std::is_copy_constructible_v<RegisterTile> && !std::is_move_constructible_v<RegisterTile>);
static_assert(!std::is_copy_constructible_v<Range> && !std::is_copy_constructible_v<KernelBuilder>);
static_assert(!CanBeMultiplied<Int, double> && !CanBeAdded<Int, Vec> && !CanBeAdded<Vec, float>,
              "no silent conversions");
static_assert(!std::is_convertible_v<bool, Int> && !std::is_convertible_v<Int, int> &&
              !std::is_convertible_v<double, Int>);
static_assert(CanBeAdded<Int, int> && CanBeMultiplied<long, Int> && CanBeAdded<Vec, Vec>);

}  // namespace
}  // namespace gemmsmith::test
