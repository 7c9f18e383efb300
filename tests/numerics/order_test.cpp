// What the bits of a result depend on: docs/numerics.md, "Determinism".
#include <gtest/gtest.h>

#include "numerics/multiply.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

struct Family {
  std::string name, config, problem;  // the problem without m
  std::vector<int64_t> m;             // for which the configuration is legal
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"packed", "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32", "n=97 k=131 dtype=f32", {1, 2, 8, 9, 17, 33, 70}},
      {"packed_rows",
       "gemm_packed mr=6 nr=32 mc=12 nc=64 kc=16 mb=24 split_rows=1",
       "n=97 k=131 dtype=f32",
       {1, 5, 6, 7, 40}},
      {"packed_bf16",
       "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32",
       "n=97 k=131 dtype=bf16 b=col epilogue=gelu(acc + bias[n])",
       {1, 8, 33}},
      {"packed_bf16_dot",
       "gemm_packed mr=8 nr=32 mc=16 nc=64 kc=32 mb=32 dot=1",
       "n=97 k=131 dtype=bf16 d=f32",
       {1, 8, 33}},
      {"streaming", "gemm_streaming mr=5 nr=32 nb=64 unroll=8", "n=97 k=131 dtype=f32", {1, 2, 3, 5}},
      {"gemv", "gemv mr=5 nr=4 unroll=2 block=64", "n=97 k=131 dtype=f32 b=col", {1, 2, 5}},
      {"gemv_bf16_dot", "gemv mr=5 nr=4 unroll=2 block=64 dot=1", "n=97 k=131 dtype=bf16 b=col", {1, 3, 5}},
  };
  return all;
}

class Bits : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (device_with(2) == nullptr) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
    const GemmProblem p = problem(1);
    if (auto kernel = Gemm::build(*device_with(2), p, "native", family().config); !kernel.ok())
      GTEST_SKIP() << "skipped: " << kernel.error().text();
  }
  const Family& family() const { return families()[GetParam()]; }
  GemmProblem problem(int64_t m) const { return GemmProblem::parse(concat("m=", m, " ", family().problem)).value(); }

  // Sums whose bits depend on the order of adding, element by element the same for every m and every choice of columns.
  static double value(int64_t i, int64_t j) { return Random(uint64_t(i * 1000 + j)).normal(); }
  std::vector<double> result(int threads, const GemmProblem& p, int64_t first_row = 0) const {
    const Device& device = *device_with(threads);
    Source* native = select_sources(*device.state(), {"native"}).value()[0];
    auto kernel = native->build(p, device.facts(), {"native", family().config, 0});
    EXPECT_TRUE(kernel.ok()) << kernel.error().text();
    if (!kernel.ok()) return {};
    Operands operands = filled(
        p, [&](int64_t i, int64_t k) { return value(first_row + i, k); },
        [](int64_t k, int64_t j) { return value(5000 + k, j); }, {}, [](int64_t, int64_t j) { return value(9000, j); });
    return run(**kernel, p, operands);
  }
};
INSTANTIATE_TEST_SUITE_P(Families, Bits, testing::Range<size_t>(0, 7),
                         [](const auto& info) { return families()[info.param].name; });

TEST_P(Bits, AreTheSameInEveryRun) {
  const GemmProblem p = problem(family().m.back());
  const std::vector<double> first = result(2, p);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(result(2, p), first);
}

TEST_P(Bits, DoNotDependOnTheNumberOfThreads) {
  const GemmProblem p = problem(family().m.back());
  const std::vector<double> one = result(1, p);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(result(threads, p), one) << threads;
}

// A row has the same bits whatever rows are beside it, and wherever it stands: "batch invariance".
TEST_P(Bits, OfARowDoNotDependOnM) {
  const std::vector<double> all = result(2, problem(family().m.back()));
  for (const int64_t m : family().m)
    for (const int64_t first : {int64_t(0), family().m.back() - m}) {
      const GemmProblem p = problem(m);
      EXPECT_EQ(result(2, p, first), std::vector<double>(all.begin() + first * p.n, all.begin() + (first + m) * p.n))
          << m << " rows from " << first;
    }
}

TEST_P(Bits, OfAColumnDoNotDependOnN) {
  const GemmProblem whole = problem(family().m.back());
  const std::vector<double> all = result(2, whole);
  for (const int64_t n : {31, 32, 64}) {
    GemmProblem p = GemmProblem::parse(concat("m=", whole.m, " n=", n, family().problem.substr(4))).value();
    const std::vector<double> part = result(2, p);
    ASSERT_EQ(part.size(), size_t(whole.m * n));
    for (int64_t i = 0; i < whole.m; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(part[size_t(i * n + j)], all[size_t(i * whole.n + j)]) << i << "," << j << " of " << n << " columns";
  }
}

// A member of a batch has the bits that it has alone.
TEST_P(Bits, OfAMemberDoNotDependOnTheBatch) {
  const int64_t m = family().m.back();
  const GemmProblem one = problem(m), p = GemmProblem::parse(concat("batch=3 m=", m, " ", family().problem)).value();
  const Device& device = *device_with(2);
  Source* native = select_sources(*device.state(), {"native"}).value()[0];
  auto kernel = native->build(p, device.facts(), {"native", family().config, 0});
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Operands operands = Operands::create(p, 7).value();
  const GemmArguments& args = operands.arguments();
  for (int64_t t = 0; t < 3; ++t) {
    const auto fill = [&](const MatrixSpec& s, const void* memory, int64_t rows, int64_t columns, int64_t from) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          store_element(s.type, const_cast<void*>(memory), t * s.batch_stride + i * s.row_stride + j * s.column_stride,
                        value(from + i, j));
    };
    fill(p.a, args.a, p.m, p.k, 0);
    fill(p.b, args.b, p.k, p.n, 5000);
  }
  for (size_t i = 0; i < p.inputs.size(); ++i)
    for (int64_t j = 0; j < p.n; ++j)
      store_element(p.inputs[i].type, const_cast<void*>(args.inputs[i]), j, value(9000, j));
  const std::vector<double> all = run(**kernel, p, operands), alone = result(2, one);
  ASSERT_EQ(all.size(), 3 * alone.size());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], alone[i % alone.size()]) << i;
}

}  // namespace
}  // namespace gemmsmith
