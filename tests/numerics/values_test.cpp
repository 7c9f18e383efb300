// What the elements of D have to be at the edges of the types: docs/numerics.md.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numerics/multiply.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

class Values : public testing::Test {
 protected:
  void SetUp() override {
    if (device_with(2) == nullptr) GTEST_SKIP() << "skipped: this CPU is not one that the target covers";
  }
  // Every source's D for the same operands, held against the rule.
  void expect(const std::string& text, const Rule& a, const Rule& b, const Rule& d, const Rule& c = {},
              const Rule& inputs = {}, size_t most = 4) {
    const GemmProblem p = GemmProblem::parse(text).value();
    const std::vector<Built> built = build_all(*device_with(2), p, most);
    EXPECT_GE(built.size(), 2u) << "native and the reference";
    for (const Built& one : built) {
      Operands operands = filled(p, a, b, c, inputs);
      const std::vector<double> got = run(*one.kernel, p, operands);
      ASSERT_EQ(got.size(), size_t(p.m * p.n));
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          const double value = got[size_t(i * p.n + j)], wanted = d(i, j);
          ASSERT_TRUE(value == wanted || (std::isnan(value) && std::isnan(wanted)))
              << one.name << ", " << text << ": D[" << i << "," << j << "] is " << value << ", not " << wanted;
        }
    }
  }
};

double constant(double value, int64_t = 0) { return value; }
Rule all(double value) {
  return [value](int64_t, int64_t) { return constant(value); };
}

// ---- int8

// -128 has no negative, products reach 2^14, and dot instructions of unsigned by signed bytes go through an offset of 128.
TEST_F(Values, OfInt8AreExactForEveryPairOfEnds) {
  const double ends[] = {-128, -127, -1, 0, 1, 126, 127};
  for (const double x : ends)
    for (const double y : ends)
      for (const int64_t k : {1, 2, 3, 4, 63, 64, 65, 257})
        expect(concat("3x33x", k, " dtype=i8", k % 2 ? " b=col" : ""), all(x), all(y), all(x * y * double(k)), {}, {},
               2);
}

TEST_F(Values, OfInt8SumsWrapAt32Bits) {
  for (const int64_t k : {131071, 131072, 131073, 262144, 300000}) {
    const int64_t sum = k * 16384;
    expect(concat("2x16x", k, " dtype=i8"), all(-128), all(-128), all(double(int32_t(uint32_t(uint64_t(sum))))), {}, {},
           2);
  }
}

TEST_F(Values, ThatAreIntegersSaturateAndRoundTiesToEven) {
  // acc = i * 50: beyond int8 on both sides from row 3 on.
  const auto a = [](int64_t i, int64_t) { return double(i - 8); };
  const auto saturated = [](double value) { return std::clamp(value, -128.0, 127.0); };
  expect("17x20x1 dtype=i8 d=i8", a, all(50), [&](int64_t i, int64_t) { return saturated(double(i - 8) * 50); });
  // Halves: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, -0.5 -> 0, -1.5 -> -2.
  expect("17x20x1 dtype=i8 d=i8 alpha=0.5", a, all(1),
         [](int64_t i, int64_t) { return std::nearbyint(double(i - 8) / 2); });
  expect("17x20x1 dtype=i8 d=i32 alpha=0.5", a, all(1),
         [](int64_t i, int64_t) { return std::nearbyint(double(i - 8) / 2); });
}

TEST_F(Values, ThatAreIntegersMakeZeroOfNaNAndEndsOfInfinity) {
  const auto bias = [](double value) { return [value](int64_t, int64_t) { return value; }; };
  const std::string text = "5x20x3 dtype=i8 d=i8 bias=f32 epilogue=acc + bias[n]";
  expect(text, all(1), all(1), all(0), {}, bias(kNan));
  expect(text, all(1), all(1), all(127), {}, bias(kInfinity));
  expect(text, all(1), all(1), all(-128), {}, bias(-kInfinity));
}

// ---- rounding of D, once, to nearest even

TEST_F(Values, AreRoundedOnceTiesToEven) {
  // acc = 2^e + j exactly; the type has steps of 2 (bf16 from 256 on, f16 from 2048 on).
  expect(
      "3x40x2 dtype=bf16 b=row", [](int64_t, int64_t k) { return k == 0 ? 256.0 : 1.0; },
      [](int64_t k, int64_t j) { return k == 0 ? 1.0 : double(j); },
      [](int64_t, int64_t j) { return round_to(DataType::bf16, 256.0 + double(j)); });
  expect(
      "3x40x2 dtype=f16 b=col", [](int64_t, int64_t k) { return k == 0 ? 2048.0 : 1.0; },
      [](int64_t k, int64_t j) { return k == 0 ? 1.0 : double(j); },
      [](int64_t, int64_t j) { return round_to(DataType::f16, 2048.0 + double(j)); });
}

// bf16 has 256 + 1 -> 256 and 256 + 1 + 1 -> 258: sums are in f32, and only the end is rounded.
TEST_F(Values, AreSummedInTheAccumulatorNotInD) {
  for (const char* type : {"bf16", "f16"}) {
    const double step = std::string(type) == "bf16" ? 256 : 2048;
    for (const int64_t k : {3, 65, 129})
      expect(
          concat("4x35x", k, " dtype=", type), all(1), [step](int64_t k, int64_t) { return k == 0 ? step : 1.0; },
          [&](int64_t, int64_t) {
            return round_to(std::string(type) == "bf16" ? DataType::bf16 : DataType::f16, step + double(k - 1));
          });
  }
}

TEST_F(Values, BeyondTheTypeOfDAreInfinite) {
  expect("3x20x2 dtype=f16", all(256), all(256), all(kInfinity));
  expect("3x20x2 dtype=f16", all(-256), all(256), all(-kInfinity));
  expect("3x20x1 dtype=f16 d=f32", all(256), all(256), all(65536));
  expect("3x20x1 dtype=f32", all(1e30), all(1e30), all(kInfinity));
}

// ---- subnormal numbers

TEST_F(Values, ThatAreSubnormalStayInF32AndF16) {
  const double tiny = std::ldexp(1.0, -140);  // of f32: below 2^-126
  expect("3x35x1 dtype=f32", all(tiny), all(1), all(tiny));
  expect("3x35x1 dtype=f32 b=col", all(std::ldexp(1.0, -70)), all(std::ldexp(1.0, -70)), all(tiny));
  expect("1x35x1 dtype=f32 b=col", all(tiny), all(-2), all(-2 * tiny));
  const double smallest = std::ldexp(1.0, -24);  // of f16
  expect("3x35x1 dtype=f16", all(smallest), all(1), all(smallest));
  expect("3x35x1 dtype=f16 d=f32", all(smallest), all(smallest), all(smallest * smallest));
}

// The dot instruction takes operands below 2^-126 for 0 and gives 0 for such sums, whatever the mode of the thread.
TEST_F(Values, ThatAreSubnormalInBf16AreKeptOrZero) {
  const double tiny = std::ldexp(1.0, -130);
  for (const char* layout : {"b=row", "b=col"}) {
    const GemmProblem p = GemmProblem::parse(concat("3x35x2 dtype=bf16 d=f32 ", layout)).value();
    for (const Built& one : build_all(*device_with(2), p, 8)) {
      Operands operands = filled(p, all(tiny), all(1));
      const bool keeps = one.name.starts_with("reference") ||
                         (one.name.starts_with("native") && one.name.find("dot=1") == std::string::npos);
      for (const double value : run(*one.kernel, p, operands))
        ASSERT_TRUE(value == 2 * tiny || (value == 0 && !keeps)) << one.name << ": " << value;
    }
  }
}

// ---- NaN and infinity: what is read counts

TEST_F(Values, OfNaNAndInfinityGoThroughZeros) {
  for (const char* type : {"f32", "bf16", "f16"})
    for (const int64_t k : {1, 2, 33, 64, 65})
      for (const int64_t n : {1, 7, 16, 33}) {
        // The last k of row 1 is NaN, infinite in row 2; B has zeros in odd columns.
        const auto a = [k](int64_t i, int64_t l) { return l < k - 1 || i == 0 ? 1.0 : i == 1 ? kNan : kInfinity; };
        const auto b = [k](int64_t l, int64_t j) { return l < k - 1 ? 0.0 : double(j % 2 == 0); };
        expect(
            concat("3x", n, "x", k, " dtype=", type), a, b,
            [](int64_t i, int64_t j) {
              return i == 0 ? double(j % 2 == 0) : i == 1 ? kNan : j % 2 ? kNan : kInfinity;
            },
            {}, {}, 2);
      }
}

TEST_F(Values, OfAlphaZeroAndBetaZeroDoNotReadWhatTheyDoNotNeed) {
  const auto c = [](int64_t i, int64_t j) { return double(i - j); };
  for (const char* type : {"f32", "bf16"})
    for (const int64_t n : {1, 16, 35}) {
      expect(concat("5x", n, "x9 dtype=", type, " alpha=0 beta=1"), all(kNan), all(kNan), c, c);
      expect(concat("5x", n, "x9 dtype=", type, " alpha=0 beta=0"), all(kNan), all(kInfinity), all(0));
      expect(concat("5x", n, "x0 dtype=", type, " beta=-1"), {}, {}, [&](int64_t i, int64_t j) { return -c(i, j); }, c);
    }
}

// A zero of beta times infinity would be NaN if C were read; with any other beta it is read, zeros of A and B or not.
TEST_F(Values, OfCCountWhereBetaIsNotZero) {
  expect("3x20x2 dtype=f32 beta=1", all(0), all(0), all(kInfinity), all(kInfinity));
  expect("3x20x2 dtype=f32 beta=2", all(0), all(0), all(kNan), all(kNan));
  expect("3x20x2 dtype=f32 beta=nan", all(1), all(1), all(kNan), all(1));
}

// NaN of a bias in one column after the other: the vector body and the tail of a row have one rule.
TEST_F(Values, OfNaNInAnEpilogueAreNaNInTheirColumnAlone) {
  for (const char* function :
       {"relu(acc + bias[n])", "gelu(acc + bias[n])", "max(acc, bias[n])", "clamp(acc + bias[n], -1, 1)"})
    for (int64_t n = 1; n <= 20; n += n < 4 ? 1 : 5)
      for (int64_t column = 0; column < n; column += std::max<int64_t>(n / 4, 1)) {
        const GemmProblem p = GemmProblem::parse(concat("2x", n, "x4 epilogue=", function)).value();
        for (const Built& one : build_all(*device_with(2), p, 1)) {
          Operands operands =
              filled(p, all(0), all(0), {}, [&](int64_t, int64_t j) { return j == column ? kNan : 0.0; });
          const std::vector<double> got = run(*one.kernel, p, operands);
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(std::isnan(got[i]), int64_t(i) % n == column)
                << one.name << " " << function << " n=" << n << " " << i;
        }
      }
}

// ---- E11: A1 B1 + A2 B2, the second product on the first as C

TEST_F(Values, OfTwoProductsInTurnAdd) {
  const auto a1 = [](int64_t i, int64_t k) { return double((3 * i + 5 * k) % 7 - 3); };
  const auto b1 = [](int64_t k, int64_t j) { return double((2 * k + 7 * j) % 5 - 2); };
  const auto sum = [&](int64_t i, int64_t j) {
    double total = 0;
    for (int64_t k = 0; k < 64; ++k) total += a1(i, k) * b1(k, j);
    return total;
  };
  expect("64x64x64 dtype=f32", a1, b1, sum);
  expect(
      "64x64x64 dtype=f32 beta=1", b1, a1,
      [&](int64_t i, int64_t j) {
        double total = sum(i, j);
        for (int64_t k = 0; k < 64; ++k) total += b1(i, k) * a1(k, j);
        return total;
      },
      sum);
}

// ---- D06: whatever the plan for an m, row 0 is within one rounding of the right value

TEST_F(Values, OfLongF16SumsAreWithinOneRoundingForEveryM) {
  constexpr int64_t kDepth = 4096;
  const auto a = [](int64_t i, int64_t k) { return double((7 * i + 13 * k) % 31 - 15) / 64; };
  const auto b = [](int64_t k, int64_t j) { return double((11 * k + 3 * j) % 29 - 14) / 64; };
  for (const int64_t m : {1, 8, 64}) {
    const GemmProblem p = GemmProblem::parse(concat(m, "x24x", kDepth, " dtype=f16 b=col")).value();
    for (const Built& one : build_all(*device_with(2), p, 3)) {
      Operands operands = filled(p, a, b);
      const std::vector<double> got = run(*one.kernel, p, operands);
      for (int64_t j = 0; j < 24; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) sum += round_to(DataType::f16, a(0, k)) * round_to(DataType::f16, b(k, j));
        EXPECT_LE(std::abs(got[size_t(j)] - sum), std::abs(sum) * 0x1p-10 + 1e-4) << one.name << " m=" << m;
      }
    }
  }
}

}  // namespace
}  // namespace gemmsmith
