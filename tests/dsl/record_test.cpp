// What recordings contain: verified modules, lines of the author, each value once, variables, captures, signatures.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>

#include "dsl/gemm.h"
#include "dsl/jit.h"
#include "dsl/memory.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Verifier.h"

namespace gemmsmith::test {
namespace {

using Stage = std::function<void(KernelBuilder&)>;

KernelIr recorded(IrContext& context, const Stage& stage, const RecordOptions& options = {.vector_bytes = 64}) {
  auto kernel = record(context, "kernel", options, stage);
  if (!kernel.ok()) throw std::runtime_error(kernel.error().text());
  if (failed(mlir::verify(static_cast<mlir::Operation*>(kernel->operation()))))
    throw std::runtime_error("does not verify");
  return std::move(kernel).value();
}
std::map<std::string, int> counts(const KernelIr& kernel) {
  std::map<std::string, int> out;
  static_cast<mlir::Operation*>(kernel.operation())->walk([&](mlir::Operation* op) {
    ++out[op->getName().getStringRef().str()], ++out[""];
  });
  return out;
}
std::map<std::string, int> counts(const Stage& stage) {
  IrContext context;
  return counts(recorded(context, stage));
}
Tensor matrix(KernelBuilder& k, const char* name) { return k.matrix({name, "m", "n"}); }

TEST(Record, EveryOperationHasALineOfItsAuthor) {
  GemmClass p;
  p.out.epilogue = Expr::parse("gelu(acc + bias[n])").value();
  p.out.inputs = {{"bias", InputIndex::column, DataType::bf16}};
  p.out.d.type = DataType::bf16;
  p.b.major = Major::row;
  for (bool check_bounds : {false, true}) {
    IrContext context;
    const RecordOptions options{.vector_bytes = 64, .check_bounds = check_bounds};
    const KernelIr kernel = recorded(context, [&](KernelBuilder& k) { gemm_packed(k, {}, p); }, options);
    int operations = 0;
    static_cast<mlir::Operation*>(kernel.operation())->walk([&](mlir::Operation* op) {
      ++operations;
      mlir::Location loc = op->getLoc();
      if (auto named = mlir::dyn_cast<mlir::NameLoc>(loc)) loc = named.getChildLoc();
      auto line = mlir::dyn_cast<mlir::FileLineColLoc>(loc);
      ASSERT_TRUE(line) << op->getName().getStringRef().str() << " has no line";
      const auto file = line.getFilename().getValue();  // may be relative to the build folder
      // The module and its function begin where record() is called, here.
      const bool frame = mlir::isa<mlir::ModuleOp, mlir::LLVM::LLVMFuncOp, mlir::LLVM::ReturnOp>(op);
      ASSERT_TRUE(file.ends_with("tests/dsl/gemm.cpp") || (frame && file.ends_with("tests/dsl/record_test.cpp")))
          << op->getName().getStringRef().str() << " at " << file.str() << ":" << line.getLine();
    });
    EXPECT_GT(operations, 400);
  }
}

TEST(Record, EqualOperationsAreOneValue) {
  const auto sum_of_row = [](bool twice) {
    return counts([&](KernelBuilder& k) {
      const Tensor a = matrix(k, "a"), d = matrix(k, "d");
      for (Int i : range(a.extent(0)))
        for (Int j : range(a.extent(1))) {
          for (int pass = 0; pass < (twice ? 2 : 1); ++pass) {
            const Int row = a.extent(0) - 1 - i, column = min(j * 3, a.extent(1) - 1);
            const Vec x = broadcast(a.slice(0, row).slice(0, column).load({}), 16) * constant(Kind::f32, 16, 3);
            if (pass == (twice ? 1 : 0)) d.slice(0, i).store({0}, x);
          }
        }
    });
  };
  EXPECT_EQ(sum_of_row(true), sum_of_row(false));
}

TEST(Record, StoresSeparateLoads) {
  const auto loads = [](bool store_between, bool loop_between) {
    return counts([&](KernelBuilder& k) {
      const Tensor a = matrix(k, "a").exactly({1, 64}), d = matrix(k, "d").exactly({1, 64});
      const Vec x = a.load({0, 0}, 16);
      if (store_between) d.store({0, 16}, x);
      if (loop_between)
        for (Int i : range(k.extent("m"))) d.slice(0, 0).tile({16}, {i}).store({0}, x);
      d.store({0, 0}, x + a.load({0, 0}, 16));
    })["llvm.load"];
  };
  const int once = loads(false, false);
  EXPECT_EQ(loads(true, false), once + 1);
  EXPECT_EQ(loads(false, true), once + 1);
}

// A load in front of a loop is not the load in its body: a store of the pass before may lie between.
TEST(Record, LoadsAreNotCarriedIntoLoops) {
  IrContext context;
  const KernelIr kernel = recorded(context, [](KernelBuilder& k) {
    const Tensor d = k.matrix({"d", "m", "n"}).slice(0, 0);
    const Vec before = d.slice(0, 0).load({});
    for (Int i : range(d.extent(0) - 1))
      d.slice(0, i + 1).store({}, d.slice(0, 0).load({}) + before), d.slice(0, 0).store({}, d.slice(0, i + 1).load({}));
  });
  Matrix d(DataType::f32, 1, 6, Major::row, 0);
  for (int i = 0; i < 6; ++i) d.set(0, 0, i, i == 0);
  Jit jit;
  ASSERT_EQ(jit.load(kernel), "");
  jit.run(kernel.signature(),
          {.pointers = {{"d", d.data()}}, .row_strides = {{"d", 6}}, .extents = {{"m", 1}, {"n", 6}}});
  for (int i = 1; i < 6; ++i) EXPECT_EQ(d.get(0, 0, i), i + 1);
}

TEST(Record, KnownNumbersLeaveNothing) {
  const auto empty = counts([](KernelBuilder&) {});
  EXPECT_EQ(counts([](KernelBuilder&) {
              const Int x = Int(7) * 8 + 64 / 8 - 3 % 2;
              when(x < 100, [] {}, [] { ADD_FAILURE() << "a branch that is known not to be taken is not recorded"; });
              EXPECT_EQ(x.constant(), 63);
              EXPECT_EQ(ceil_div(x, 64).constant(), 1);
              EXPECT_EQ(round_up(x, 64).constant(), 64);
              EXPECT_EQ(select(x == 63, Int(1), 2).constant(), 1);
            }),
            empty);
  const auto one_argument = counts([](KernelBuilder& k) { k.extent("m"); });
  EXPECT_EQ(counts([](KernelBuilder& k) {
              const Int m = k.extent("m");
              EXPECT_TRUE(same(m + 0, m) && same(m * 1, m) && same(m - 0, m) && same(m / 1, m));
              EXPECT_EQ((m * 0).constant(), 0);
              EXPECT_EQ((m - m).constant(), 0);
              EXPECT_TRUE((m == m).constant() == 1 && (m < 0).constant() == 0 && (m >= 0).constant() == 1);
            }),
            one_argument);
}

TEST(Record, IntsAgreeWithUnsignedArithmetic) {
  for (int bits : {64, 32}) {
    IrContext context;
    using F = std::function<Int(Int, Int)>;
    const std::vector<F> functions = {[](Int x, Int y) { return x + y; },
                                      [](Int x, Int y) { return x * y; },
                                      [](Int x, Int y) { return x / max(y, 1); },
                                      [](Int x, Int y) { return x % max(y, 1); },
                                      [](Int x, Int y) { return x ^ y; },
                                      [](Int x, Int y) { return (x & y) << 2; },
                                      [](Int x, Int y) { return min(x, y); },
                                      [](Int x, Int y) { return max(x, y) >> 1; },
                                      [](Int x, Int y) { return ceil_div(x, max(y, 1)); },
                                      [](Int x, Int y) { return round_up(x, max(y, 1)); },
                                      [](Int x, Int) { return x / 8 + x % 8; },
                                      [](Int x, Int y) { return select((x < y) | (x == 5), x, y); },
                                      [](Int x, Int y) { return select((x <= y) & !(y > 7), x, 3); },
                                      [](Int x, Int y) { return select(x != y, select(x >= y, 1, 2), 3); }};
    // d[f][0] is written at the offset that function f gives.
    const KernelIr kernel =
        recorded(context,
                 [&](KernelBuilder& k) {
                   const Tensor d = k.matrix({"d", "rows", "columns", Major::row, DataType::i32});
                   const Int x = k.extent("x"), y = k.extent("y");
                   for (size_t f = 0; f < functions.size(); ++f)
                     d.slice(0, f).slice(0, functions[f](x, y)).store({}, constant(Kind::i32, 1, 1));
                 },
                 {.vector_bytes = 64, .index_bits = bits});
    Jit jit;
    ASSERT_EQ(jit.load(kernel), "");
    for (int64_t x : {0, 1, 5, 7, 8, 13})
      for (int64_t y : {0, 1, 2, 7, 8, 13}) {
        Matrix d(DataType::i32, int64_t(functions.size()), 256, Major::row, 0);
        jit.run(kernel.signature(), {.pointers = {{"d", d.data()}},
                                     .row_strides = {{"d", 256}},
                                     .extents = {{"rows", d.rows}, {"columns", 256}, {"x", x}, {"y", y}}});
        for (size_t f = 0; f < functions.size(); ++f) {
          const int64_t expected = *functions[f](Int(x), Int(y)).constant();  // folded
          for (int64_t i = 0; i < 256; ++i)
            ASSERT_EQ(d.get(0, int64_t(f), i), i == expected ? 1 : -1) << "function " << f << " of " << x << ", " << y;
        }
      }
  }
}

TEST(Record, LoopsCarryWhatTheyAssignAndNothingElse) {
  IrContext context;
  const KernelIr kernel = recorded(context, [](KernelBuilder& k) {
    const Tensor a = matrix(k, "a"), d = matrix(k, "d");
    Vars<Vec> sums(2, 2, zero(Kind::f32, 1));
    Var<Int> count(0), untouched(k.extent("m"));
    for (Int i : range(a.extent(0))) {
      for (Int j : range(0, a.extent(1), 2)) {
        sums(0, 1) = sums(0, 1) + a.slice(0, i).slice(0, j).load({});
        when(j == 2, [&] { count = count + 10; }, [&] { count = count + 1; });
        when(untouched.get() == i, [&] { sums(1, 0) = sums(1, 0) + constant(Kind::f32, 1, 1); });
      }
    }
    d.slice(0, 0).slice(0, 0).store({}, sums(0, 1));
    d.slice(0, 0).slice(0, count).store({}, sums(0, 0) + constant(Kind::f32, 1, 5));
    d.slice(0, 0).slice(0, 1).store({}, sums(1, 0) + sums(1, 1));
  });
  std::vector<unsigned> carried;
  static_cast<mlir::Operation*>(kernel.operation())->walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() == "scf.for") carried.push_back(op->getNumResults());
  });
  EXPECT_EQ(carried, (std::vector<unsigned>{3, 3}));
  Matrix a(DataType::f32, 3, 5), d(DataType::f32, 1, 64);
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) a.set(0, i, j, i * 5 + j), sum += j % 2 ? 0 : i * 5 + j;
  Jit jit;
  ASSERT_EQ(jit.load(kernel), "");
  jit.run(kernel.signature(), {.pointers = {{"a", a.data()}, {"d", d.data()}},
                               .row_strides = {{"a", a.row_stride}, {"d", d.row_stride}},
                               .extents = {{"m", 3}, {"n", 5}}});
  EXPECT_EQ(d.get(0, 0, 0), sum);
  EXPECT_EQ(d.get(0, 0, 36), 5);  // 3 rows of 1 + 10 + 1
  EXPECT_EQ(d.get(0, 0, 1), 0);
}

TEST(Record, ParallelBodiesCaptureWhatTheyUseAndKeepTheirAssignments) {
  IrContext context;
  const KernelIr kernel = recorded(context, [](KernelBuilder& k) {
    const Tensor d = matrix(k, "d");
    const Vec scale = k.scalar("scale"), wide = broadcast(scale, 16) * constant(Kind::f32, 16, 2);
    const Int offset = k.extent("m") * 2;
    const Bool first = offset == 4;
    Var<Int> mine(1);
    for (Int part : parallel(d.extent(0))) {
      mine = mine + part;
      when(first, [&] { d.slice(0, part).tile({16}, {0}).store({0}, wide); });
      d.slice(0, part).slice(0, mine + offset).store({}, scale);
    }
    for (Int part : parallel(1)) d.slice(0, part).slice(0, mine).store({}, scale);  // 1 again
  });
  const auto text = kernel.print();
  EXPECT_NE(text.find("@kernel.part0"), std::string::npos);
  EXPECT_NE(text.find("@kernel.part1"), std::string::npos);
  Matrix d(DataType::f32, 2, 32);
  Jit jit;
  ASSERT_EQ(jit.load(kernel), "");
  jit.run(kernel.signature(), {.pointers = {{"d", d.data()}},
                               .row_strides = {{"d", d.row_stride}},
                               .extents = {{"m", 2}, {"n", 32}},
                               .scalars = {{"scale", 1.5}}});
  EXPECT_TRUE(d.gaps_untouched());
  EXPECT_EQ(d.get(0, 0, 15), 3);
  EXPECT_EQ(d.get(0, 1, 15), 3);
  EXPECT_EQ(d.get(0, 0, 5), 1.5);
  EXPECT_EQ(d.get(0, 1, 6), 1.5);
  EXPECT_EQ(d.get(0, 0, 1), 1.5);
}

TEST(Record, SignatureFollowsWhatWasAskedFor) {
  using Kind = KernelArgument::Kind;
  IrContext context;
  const KernelIr kernel = recorded(context, [](KernelBuilder& k) {
    k.matrix({"a", "m", "k", Major::row, DataType::f32, true});
    k.matrix({"b", "n", "k", Major::column});
    const OutputArg out{
        .d = {"d", "m", "n", Major::none},
        .beta = true,
        .c = {"c", "m", "n"},
        .epilogue = Expr::parse("acc + bias[n] * s").value(),
        .inputs = {{"s", InputIndex::scalar, DataType::f32}, {"bias", InputIndex::column, DataType::f32}}};
    k.output(out);
    const Int part = k.share(k.extent("n"), 16);
    for (Int core : parallel(ceil_div(k.extent("n"), part))) {
      k.scratch(DataType::f32, padded_tile(3, 5, 4), core);
      k.scratch(DataType::bf16, panels(64, 64, 16, 2), core);
    }
  });
  const std::vector<KernelArgument> expected = {
      {Kind::pointer, "a"},   {Kind::extent, "batch"}, {Kind::batch_stride, "a"}, {Kind::row_stride, "a"},
      {Kind::extent, "m"},    {Kind::extent, "k"},     {Kind::pointer, "b"},      {Kind::column_stride, "b"},
      {Kind::extent, "n"},    {Kind::pointer, "d"},    {Kind::row_stride, "d"},   {Kind::column_stride, "d"},
      {Kind::scalar, "beta"}, {Kind::pointer, "c"},    {Kind::row_stride, "c"},   {Kind::pointer, "bias"},
      {Kind::pointer, "s"},   {Kind::cores, "cores"},  {Kind::scratch, "scratch"}};
  EXPECT_EQ(kernel.signature().arguments, expected);
  EXPECT_EQ(kernel.signature().scratch_bytes, 4096 + 8192);
}

TEST(Record, OutputKnowsWhetherItIsPlain) {
  IrContext context;
  recorded(context, [](KernelBuilder& k) {
    const auto plain = [&](const char* name, OutputArg arg) {
      arg.d = {name, "m", "n", Major::row, arg.d.type};
      return k.output(arg).is_plain();
    };
    EXPECT_TRUE(plain("d0", {}));
    EXPECT_FALSE(plain("d1", {.d = {.type = DataType::bf16}}));
    EXPECT_FALSE(plain("d2", {.alpha = true}));
    EXPECT_FALSE(plain("d3", {.epilogue = Expr::parse("relu(acc)").value()}));
    EXPECT_TRUE(plain("d4", {.d = {.type = DataType::i32}, .acc = DataType::i32}));
  });
}

TEST(Record, BoundsAreCheckedWhenAskedFor) {
  int line = 0;
  const Stage stage = [&](KernelBuilder& k) {
    const Tensor d = matrix(k, "d");
    line = __LINE__ + 1;
    d.slice(0, k.extent("row")).slice(0, 0).store({}, constant(Kind::f32, 1, 1));
  };
  IrContext context;
  const KernelIr trusting = recorded(context, stage),
                 checking = recorded(context, stage, {.vector_bytes = 64, .check_bounds = true});
  EXPECT_EQ(trusting.print().find("gs_bounds_trap"), std::string::npos);
  Matrix d(DataType::f32, 8, 4);  // of which the kernel is told 3 rows
  for (int64_t row : {0, 2, 3, 7}) {
    Jit jit;
    ASSERT_EQ(jit.load(checking), "");
    jit.run(checking.signature(), {.pointers = {{"d", d.data()}},
                                   .row_strides = {{"d", d.row_stride}},
                                   .extents = {{"m", 3}, {"n", 4}, {"row", row}}});
    EXPECT_EQ(jit.trapped_lines(), row < 3 ? std::vector<int64_t>{} : std::vector<int64_t>{line}) << row;
  }
}

TEST(Record, ArgumentsAreLoadedAtTheEntryWhereverTheyAreAskedFor) {
  IrContext context;
  const KernelIr kernel = recorded(context, [](KernelBuilder& k) {
    for (Int i : range(k.extent("m"))) when(i == 1, [&] { k.extent("n"); });
    matrix(k, "d").slice(0, 0).slice(0, k.extent("n")).store({}, constant(Kind::f32, 1, 1));
  });
  EXPECT_EQ(kernel.signature().arguments.size(), 4u);
}

}  // namespace
}  // namespace gemmsmith::test
