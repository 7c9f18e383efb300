// What vector operations compute, over every value or every lane rather than examples.
#include "dsl/vec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "dsl/cpu.h"
#include "dsl/jit.h"
#include "dsl/memory.h"

namespace gemmsmith::test {
namespace {

// Runs `body` on vectors of `lanes` of x (and y) and stores what it gives into d, element by element of one long row.
struct Unary {
  DataType from, to;
  int lanes;
  std::function<Vec(const Vec&, const Vec&)> body;
};
std::vector<double> apply(const Unary& op, const std::vector<double>& x, const std::vector<double>& y,
                          const std::string& llvm_features = "", std::vector<std::string> features = host_features()) {
  Matrix a(op.from, 1, int64_t(x.size()), Major::row, 0), b(op.from, 1, int64_t(x.size()), Major::row, 0),
      d(op.to, 1, int64_t(x.size()), Major::row, 0);
  for (size_t i = 0; i < x.size(); ++i) a.set(0, 0, int64_t(i), x[i]), b.set(0, 0, int64_t(i), y.empty() ? x[i] : y[i]);
  IrContext context;
  auto kernel =
      record(context, "apply", {.vector_bytes = 64, .index_bits = 64, .features = features, .check_bounds = true},
             [&](KernelBuilder& k) {
               const Tensor in = k.matrix({"a", "m", "n", Major::row, op.from}).slice(0, 0),
                            with = k.matrix({"b", "m", "n", Major::row, op.from}).slice(0, 0);
               const Tensor out = k.matrix({"d", "m", "n", Major::row, op.to}).slice(0, 0);
               for (Int i : range(in.tiles(0, op.lanes)))
                 out.tile({op.lanes}, {i})
                     .store({0}, op.body(in.tile({op.lanes}, {i}).load({0}, op.lanes),
                                         with.tile({op.lanes}, {i}).load({0}, op.lanes)));
             });
  if (!kernel.ok()) throw std::runtime_error(kernel.error().text());
  Jit jit(llvm_features);
  if (const std::string error = jit.load(*kernel); !error.empty()) throw std::runtime_error(error);
  const int64_t n = int64_t(x.size());
  jit.run(kernel->signature(), {.pointers = {{"a", a.data()}, {"b", b.data()}, {"d", d.data()}},
                                .row_strides = {{"a", n}, {"b", n}, {"d", n}},
                                .extents = {{"m", 1}, {"n", n}}});
  EXPECT_TRUE(jit.trapped_lines().empty());
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(d.get(0, 0, i));
  return out;
}
Vec first(const Vec& x, const Vec&) { return x; }

std::vector<double> all_halves(DataType type) {
  std::vector<double> out;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    out.push_back(type == DataType::bf16 ? double(bf16_value(uint16_t(bits)))
                                         : double(std::bit_cast<_Float16>(uint16_t(bits))));
  return out;
}
bool equal(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

// f32 values next to and half way between those of bf16, where rounding decides.
std::vector<double> hard_to_round() {
  std::vector<double> out;
  for (uint32_t upper = 0; upper < 0x10000; upper += 37)
    for (uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      out.push_back(std::bit_cast<float>(upper << 16 | lower));
  return out;
}
float rounded_to_bf16(float x) {
  if (std::isnan(x)) return x;
  return bf16_value(bf16_bits(x));
}

TEST(Vec, WideningIsExact) {
  for (DataType type : {DataType::bf16, DataType::f16})
    for (int lanes : {1, 16}) {
      const auto x = all_halves(type);
      const auto got = apply({type, DataType::f32, lanes, first}, x, {});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(equal(got[i], x[i])) << name_of(type) << " bits " << i << " x " << lanes;
    }
}

TEST(Vec, Bf16RoundsToNearestEvenAndKeepsNan) {
  const auto x = hard_to_round();
  struct Way {
    const char* llvm_features;
    std::vector<std::string> features;
    bool flushes;  // vcvtneps2bf16 takes subnormals for zero
  };
  const auto host = host_features();
  std::vector<Way> ways = {{"+avx2,+fma,+f16c", {"avx2"}, false},
                           {"+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx2,+fma", {"avx512f"}, false}};
  if (std::find(host.begin(), host.end(), "avx512f") == host.end()) ways.pop_back();
  if (std::find(host.begin(), host.end(), "avx512_bf16") != host.end()) ways.push_back({"", host, true});
  for (const Way& way : ways)
    for (int lanes : {1, 4, 16}) {
      const auto got = apply({DataType::f32, DataType::bf16, lanes, first}, x, {}, way.llvm_features, way.features);
      for (size_t i = 0; i < x.size(); ++i) {
        if (way.flushes && std::fpclassify(float(x[i])) == FP_SUBNORMAL) continue;
        ASSERT_TRUE(equal(got[i], rounded_to_bf16(float(x[i]))))
            << std::hexfloat << x[i] << " gives " << got[i] << " for " << way.llvm_features;
      }
    }
}

TEST(Vec, F16RoundsToNearestEven) {
  const auto x = hard_to_round();
  const auto got = apply({DataType::f32, DataType::f16, 16, first}, x, {});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(equal(got[i], double(_Float16(float(x[i]))))) << x[i];
}

TEST(Vec, IntegersRoundToNearestEvenAndSaturate) {
  std::vector<double> x = {0,     -0.0,         0.5,    1.5,    2.5,   -0.5,     -1.5,      126.5,       127.4,
                           127.5, 128,          -128.5, -128.6, -129,  1e9,      -1e9,      2147483520., 2147483648.,
                           4e9,   -2147483648., -4e9,   1e30,   -1e30, INFINITY, -INFINITY, NAN};
  for (int i = -600; i <= 600; ++i) x.push_back(i / 4.0);
  while (x.size() % 16) x.push_back(0);
  for (DataType to : {DataType::i8, DataType::i32})
    for (int lanes : {1, 16}) {
      const auto got = apply({DataType::f32, to, lanes, first}, x, {});
      const double low = to == DataType::i8 ? -128 : -2147483648., high = to == DataType::i8 ? 127 : 2147483647.;
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(got[i], std::isnan(x[i]) ? 0 : std::clamp(std::nearbyint(x[i]), low, high))
            << x[i] << " to " << name_of(to);
    }
  std::vector<double> n;
  for (int i = -400; i < 400; ++i) n.push_back(i);
  const auto narrowed = apply({DataType::i32, DataType::i8, 16, first}, n, {});
  for (size_t i = 0; i < n.size(); ++i) ASSERT_EQ(narrowed[i], std::clamp(n[i], -128.0, 127.0));
}

TEST(Vec, MinAndMaxGiveNanIfEitherIs) {
  const double values[] = {-INFINITY, -1, -0.0, 0, 1, 2, INFINITY, NAN};
  std::vector<double> x, y;
  for (double a : values)
    for (double b : values) x.push_back(a), y.push_back(b);
  const auto low =
      apply({DataType::f32, DataType::f32, 16, [](const Vec& a, const Vec& b) { return min(a, b); }}, x, y);
  const auto high =
      apply({DataType::f32, DataType::f32, 16, [](const Vec& a, const Vec& b) { return max(a, b); }}, x, y);
  const auto relu =
      apply({DataType::f32, DataType::f32, 16, [](const Vec& a, const Vec&) { return max(a, like(a, 0)); }}, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool nan = std::isnan(x[i]) || std::isnan(y[i]);
    if (nan)
      ASSERT_TRUE(std::isnan(low[i]) && std::isnan(high[i])) << x[i] << " " << y[i];
    else
      ASSERT_TRUE(low[i] == std::min(x[i], y[i]) && high[i] == std::max(x[i], y[i])) << x[i] << " " << y[i];
    ASSERT_TRUE(std::isnan(x[i]) ? std::isnan(relu[i]) : relu[i] == std::max(x[i], 0.0)) << x[i];
  }
}

TEST(Vec, ComparisonsAreFalseForNanButNotEqual) {
  const double values[] = {-1, 0, 1, NAN};
  std::vector<double> x, y;
  for (double a : values)
    for (double b : values) x.push_back(a), y.push_back(b);
  const std::pair<Compare, bool (*)(double, double)> hows[] = {
      {Compare::less, [](double a, double b) { return a < b; }},
      {Compare::less_equal, [](double a, double b) { return a <= b; }},
      {Compare::greater, [](double a, double b) { return a > b; }},
      {Compare::greater_equal, [](double a, double b) { return a >= b; }},
      {Compare::equal, [](double a, double b) { return a == b; }},
      {Compare::not_equal, [](double a, double b) { return a != b; }}};
  for (const auto& [how, expected] : hows) {
    const auto got =
        apply({DataType::f32, DataType::f32, 16,
               [how = how](const Vec& a, const Vec& b) { return select(compare(how, a, b), like(a, 1), like(a, 0)); }},
              x, y);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(got[i] != 0, expected(x[i], y[i])) << int(how) << ": " << x[i] << " " << y[i];
  }
}

TEST(Vec, ArithmeticOfFloatsAndIntegers) {
  std::vector<double> x, y;
  for (int i = 1; i <= 64; ++i) x.push_back(i * 3 - 90), y.push_back(i % 7 + 1);
  const auto mixed = [](const Vec& a, const Vec& b) { return fma(a, b, -a) - b * b; };
  for (DataType type : {DataType::f32, DataType::i32}) {
    const auto got = apply({type, type, 16, mixed}, x, y);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], x[i] * y[i] - x[i] - y[i] * y[i]);
  }
  const auto quotient =
      apply({DataType::f32, DataType::f32, 16, [](const Vec& a, const Vec& b) { return a / b; }}, x, y);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(float(quotient[i]), float(x[i]) / float(y[i]));
}

TEST(Vec, MathFunctions) {
  std::vector<double> x;
  for (int i = 1; i <= 64; ++i) x.push_back(i / 8.0 - 4);
  const std::pair<Math, double (*)(double)> functions[] = {
      {Math::exp, std::exp},   {Math::abs, std::fabs}, {Math::floor, std::floor},
      {Math::sqrt, std::sqrt}, {Math::log, std::log},  {Math::rsqrt, [](double v) { return 1 / std::sqrt(v); }}};
  for (const auto& [function, expected] : functions) {
    const auto got = apply({DataType::f32, DataType::f32, 16,
                            [function = function](const Vec& a, const Vec&) { return math(function, a); }},
                           x, {});
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = expected(x[i]);
      if (std::isnan(e))
        ASSERT_TRUE(std::isnan(got[i])) << x[i];
      else if (std::isinf(e))
        ASSERT_EQ(got[i], e);
      else
        ASSERT_NEAR(got[i], e, 1e-6 * std::fabs(e) + 1e-30) << int(function) << " of " << x[i];
    }
  }
}

TEST(Vec, ReduceAddSumsAllLanes) {
  std::vector<double> x(256);
  std::iota(x.begin(), x.end(), 1);
  for (int lanes : {1, 2, 4, 8, 16, 32}) {
    const auto got = apply({DataType::f32, DataType::f32, lanes,
                            [](const Vec& a, const Vec&) { return broadcast(reduce_add(a), a.lanes); }},
                           x, {});
    for (int i = 0; i < int(x.size()); ++i)
      ASSERT_EQ(got[size_t(i)],
                std::accumulate(x.begin() + i / lanes * lanes, x.begin() + (i / lanes + 1) * lanes, 0.0));
  }
}

TEST(Vec, TransposeIsOne) {
  for (const auto& [type, lanes] : {std::pair(DataType::f32, 4),
                                    {DataType::f32, 8},
                                    {DataType::f32, 16},
                                    {DataType::i32, 16},
                                    {DataType::bf16, 8},
                                    {DataType::f64, 8},
                                    {DataType::f32, 2},
                                    {DataType::f32, 1},
                                    {DataType::i8, 16}}) {
    Matrix a(type, lanes, lanes), d(type, lanes, lanes);
    for (int r = 0; r < lanes; ++r)
      for (int c = 0; c < lanes; ++c) a.set(0, r, c, (r * lanes + c) % 128);
    IrContext context;
    auto kernel = record(context, "transpose", {.vector_bytes = 64}, [&, type = type, lanes = lanes](KernelBuilder& k) {
      const Tensor in = k.matrix({"a", "m", "n", Major::row, type}).exactly({lanes, lanes});
      const Tensor out = k.matrix({"d", "m", "n", Major::row, type}).exactly({lanes, lanes});
      std::vector<Vec> rows;
      for (int r = 0; r < lanes; ++r) rows.push_back(in.load({r, 0}, lanes));
      const std::vector<Vec> columns = transpose(rows);
      for (int c = 0; c < lanes; ++c) out.store({c, 0}, columns[size_t(c)]);
    });
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    Jit jit;
    ASSERT_EQ(jit.load(*kernel), "");
    jit.run(kernel->signature(), {.pointers = {{"a", a.data()}, {"d", d.data()}},
                                  .row_strides = {{"a", a.row_stride}, {"d", d.row_stride}},
                                  .extents = {{"m", lanes}, {"n", lanes}}});
    for (int r = 0; r < lanes; ++r)
      for (int c = 0; c < lanes; ++c) ASSERT_EQ(d.get(0, c, r), a.get(0, r, c)) << name_of(type) << " " << lanes;
  }
}

}  // namespace
}  // namespace gemmsmith::test
