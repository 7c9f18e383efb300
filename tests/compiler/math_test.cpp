// The functions that expand_math writes out, over all of f32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/kernel_text.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

std::unique_ptr<Target> target_with(const std::string& features_limit) {
  auto target = make_cpu_target({.threads = 1, .measure_peaks = false, .features_limit = features_limit});
  GS_ASSERT(target.ok(), "these tests need a CPU that the target covers");
  return std::move(*target);
}

// Every level of instructions that this CPU has.
std::vector<std::string> limits() {
  if (target_with("")->facts().vector_bytes == 64) return {"avx2", "avx512", ""};
  return {"avx2", ""};
}

// The inputs of these tests: every 1009th float, so all exponents and both signs, and what is special.
std::vector<float> sample_of_f32() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 1009)
    values.push_back(std::bit_cast<float>(uint32_t(bits)));
  for (float special :
       {0.0f,        -0.0f,      1.0f,      -1.0f,           INFINITY,  -INFINITY, NAN,        -NAN,
        0x1p-149f,   -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, 88.72283f, 88.72284f, -87.33655f, -103.97208f,
        -103.97209f, -104.0f,    0.625f,    0.9375f,         4.0f,      10.0f})
    for (int step = -8; step <= 8; ++step)
      values.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(special) + uint32_t(step)));
  for (uint32_t i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(0x3f7fd8f0 + i));  // around 1, where log is 0
  values.resize(values.size() / 64 * 64);
  return values;
}

template <class To, class From>
std::vector<To> map(Target& target, int lanes, const std::string& from, const std::string& to, const std::string& body,
                    const std::vector<From>& in) {
  std::vector<To> out(in.size());
  auto kernel = target.compile(kernel_text(map_kernel(lanes, from, to, body)), {.verify = true, .keep_stages = false});
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().text();
    return out;
  }
  auto loaded = target.load(*kernel);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.error().text();
    return out;
  }
  int64_t arguments[3] = {reinterpret_cast<int64_t>(in.data()), reinterpret_cast<int64_t>(out.data()),
                          int64_t(in.size())};
  EXPECT_TRUE((*loaded)->launch(arguments).ok());
  return out;
}

// Distance of `got` from the exact value, in units of the last place of f32 there; 0 for the same infinity, zero or
// both NaN.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  const float nearest = float(exact);
  if (std::isinf(nearest) || std::isinf(got)) {
    if (got == nearest) return 0;
    // At the edge of overflow both the largest number and infinity are near.
    return std::abs(exact) > 0x1.fffffcp127 && std::abs(got) >= 0x1.fffffep127f && (got > 0) == (exact > 0) ? 1
                                                                                                            : INFINITY;
  }
  const int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-149 : exact), -126);
  return std::abs(double(got) - exact) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  const char* op;
  double (*exact)(double);
  double allowed_ulps;
};
class Math : public testing::TestWithParam<Function> {};

TEST_P(Math, IsNearTheExactValueAndTheSameForAnyVectorAndCpu) {
  const std::vector<float> in = sample_of_f32();
  std::vector<float> scalar;
  for (const std::string& limit : limits()) {
    const auto target = target_with(limit);
    for (int lanes : {1, 8, 16, 64}) {
      const std::string body = concat("%y = math.", GetParam().op, " %x : ", lanes_of(lanes, "f32"));
      const std::vector<float> out = map<float>(*target, lanes, "f32", "f32", body, in);
      if (!scalar.empty()) {
        for (size_t i = 0; i < in.size(); ++i)
          ASSERT_TRUE(std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(scalar[i]) ||
                      (std::isnan(out[i]) && std::isnan(scalar[i])))
              << GetParam().op << '(' << in[i] << ") with " << lanes << " lanes on " << limit << ": " << out[i]
              << ", one lane: " << scalar[i];
        continue;
      }
      scalar = out;
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        const double exact = GetParam().exact(double(in[i])), distance = ulps(out[i], exact);
        ASSERT_LE(distance, GetParam().allowed_ulps)
            << GetParam().op << '(' << in[i] << ") = " << out[i] << ", exact " << exact;
        if (out[i] == 0 && exact == 0) {
          ASSERT_EQ(std::signbit(out[i]), std::signbit(exact)) << GetParam().op << '(' << in[i] << ')';
        }
        if (distance > worst) worst = distance, at = in[i];
      }
      RecordProperty("worst_ulps", concat(format_fixed(worst, 2), " at ", double(at)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Math,
                         testing::Values(Function{"exp", std::exp, 2}, Function{"log", std::log, 2},
                                         Function{"tanh", std::tanh, 2}, Function{"erf", std::erf, 2},
                                         Function{"sqrt", std::sqrt, 0.5},
                                         Function{"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
                                         Function{"absf", std::fabs, 0}, Function{"floor", std::floor, 0}),
                         [](const auto& info) { return std::string(info.param.op); });

// Nearest bf16 by distances in double; the number after the largest counts as 2^128, as IEEE 754 has it.
uint16_t nearest_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isinf(x)) return uint16_t(bits >> 16);
  auto value = [](uint32_t high) {
    return (high & 0x7fff) == 0x7f80 ? 0x1p128 : std::abs(double(std::bit_cast<float>(high << 16)));
  };
  const uint32_t below = bits >> 16, above = below + 1;
  const double down = std::abs(double(x)) - value(below), up = value(above) - std::abs(double(x));
  return uint16_t(down < up || (down == up && below % 2 == 0) ? below : above);
}

TEST(Bf16, RoundsToNearestEvenAndKeepsNanOnEveryCpu) {
  std::vector<float> in = sample_of_f32();
  for (uint32_t high = 0; high < 1 << 16; ++high)  // every tie, and its neighbours
    for (uint32_t low : {0x7fffu, 0x8000u, 0x8001u, 0xffffu}) in.push_back(std::bit_cast<float>(high << 16 | low));
  for (const std::string& limit : limits()) {
    const auto target = target_with(limit);
    for (int lanes : {1, 16, 32}) {
      const std::string body =
          concat("%y = arith.truncf %x : ", lanes_of(lanes, "f32"), " to ", lanes_of(lanes, "bf16"));
      const auto out = map<uint16_t>(*target, lanes, "f32", "bf16", body, in);
      for (size_t i = 0; i < in.size(); ++i) {
        if (std::isnan(in[i])) {
          ASSERT_TRUE((out[i] & 0x7f80) == 0x7f80 && (out[i] & 0x7f) != 0) << std::hex << out[i];
          ASSERT_EQ(out[i] >> 15, std::bit_cast<uint32_t>(in[i]) >> 31);
        } else {
          ASSERT_EQ(out[i], nearest_bf16(in[i])) << in[i] << " with " << lanes << " lanes on " << limit;
        }
      }
    }
  }
}

TEST(Bf16, WidensExactly) {
  std::vector<uint16_t> in(1 << 16);
  for (size_t i = 0; i < in.size(); ++i) in[i] = uint16_t(i);
  for (const std::string& limit : limits()) {
    const auto target = target_with(limit);
    for (int lanes : {1, 16}) {
      const std::string body = concat("%y = arith.extf %x : ", lanes_of(lanes, "bf16"), " to ", lanes_of(lanes, "f32"));
      const auto out = map<uint32_t>(*target, lanes, "bf16", "f32", body, in);
      for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], uint32_t(in[i]) << 16);
    }
  }
}

TEST(F16, RoundsAndWidensAsTheCpuDoes) {
  const std::vector<float> in = sample_of_f32();
  const auto target = target_with("avx2");
  for (int lanes : {1, 16}) {
    const std::string f32 = lanes_of(lanes, "f32"), f16 = lanes_of(lanes, "f16");
    const std::string body =
        concat("%h = arith.truncf %x : ", f32, " to ", f16, "\n    %y = arith.extf %h : ", f16, " to ", f32);
    const auto out = map<float>(*target, lanes, "f32", "f32", body, in);
    for (size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(in[i])) {
        ASSERT_TRUE(std::isnan(out[i]));
        continue;
      }
      // A multiple of the unit in the last place, ties to even as nearbyint has them; 65520 and more overflow.
      const double unit = std::ldexp(1.0, std::max(in[i] == 0 ? -14 : std::ilogb(in[i]), -14) - 10);
      const double exact =
          std::abs(double(in[i])) >= 65520 ? std::copysign(INFINITY, in[i]) : std::nearbyint(in[i] / unit) * unit;
      ASSERT_EQ(double(out[i]), exact) << in[i];
    }
  }
}

TEST(Arithmetic, MaximumPropagatesNanAndDivisionsRoundAsNamed) {
  const auto target = target_with("avx2");
  const std::vector<float> in = {NAN, 1.0f, -1.0f, INFINITY, -INFINITY, -0.0f, 0.0f, 3.0f};
  const auto out = map<float>(
      *target, 8, "f32", "f32",
      "%low = arith.constant dense<0.0> : vector<8xf32>\n    %y = arith.maximumf %x, %low : vector<8xf32>", in);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(std::vector<float>(out.begin() + 1, out.end()), (std::vector<float>{1, 0, INFINITY, 0, 0, 0, 3}));

  const std::vector<int64_t> numbers = {-7, -6, -1, 0, 1, 6, 7, 8};
  for (const auto& [op, expected] :
       {std::pair<std::string, std::vector<int64_t>>{"floordivsi", {-3, -2, -1, 0, 0, 2, 2, 2}},
        {"ceildivsi", {-2, -2, 0, 0, 1, 2, 3, 3}}}) {
    const std::string body = "%three = arith.constant 3 : i64\n    %y = arith." + op + " %x, %three : i64";
    EXPECT_EQ(map<int64_t>(*target, 1, "i64", "i64", body, numbers), expected) << op;
  }
}

}  // namespace
}  // namespace gemmsmith
