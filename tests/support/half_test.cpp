#include "support/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "support/random.h"

namespace gemmsmith {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

// The value of an IEEE format by its definition, to hold the bit tricks against.
double by_definition(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = int(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + fraction_bits)) & 1 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

struct Format {
  DataType type;
  int exponent_bits, fraction_bits;
  float (*to_float)(uint16_t);
  uint16_t (*from_float)(float);
};
const Format kFormats[] = {{DataType::f16, 5, 10, float_from_f16, f16_from_float},
                           {DataType::bf16, 8, 7, float_from_bf16, bf16_from_float}};

TEST(Half, EveryValueIsThatOfTheDefinitionAndComesBack) {
  for (const Format& f : kFormats)
    for (unsigned bits = 0; bits <= 0xffff; ++bits) {
      const double expected = by_definition(bits, f.exponent_bits, f.fraction_bits);
      const float value = f.to_float(uint16_t(bits));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value)) << bits;
        ASSERT_TRUE(std::isnan(f.to_float(f.from_float(value)))) << bits;
      } else {
        ASSERT_EQ(std::bit_cast<uint64_t>(double(value)), std::bit_cast<uint64_t>(expected)) << bits;
        ASSERT_EQ(f.from_float(value), bits);
        ASSERT_EQ(round_to(f.type, value), value);
      }
    }
}

TEST(Half, BetweenTwoNeighboursTheNearerIsTakenAndTiesAreEven) {
  for (const Format& f : kFormats) {
    const unsigned infinity = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
    for (unsigned bits = 0; bits < infinity; ++bits) {
      const double low = by_definition(bits, f.exponent_bits, f.fraction_bits);
      // Past the largest value the next step of the same size counts as infinity.
      const double high = bits + 1 < infinity ? by_definition(bits + 1, f.exponent_bits, f.fraction_bits)
                                              : 2 * low - by_definition(bits - 1, f.exponent_bits, f.fraction_bits);
      const float middle = float((low + high) / 2);
      ASSERT_EQ(f.from_float(middle), bits % 2 ? bits + 1 : bits);
      ASSERT_EQ(f.from_float(-middle), (bits % 2 ? bits + 1 : bits) | 0x8000u);
      ASSERT_EQ(f.from_float(std::nextafter(middle, 0.0f)), bits);
      ASSERT_EQ(f.from_float(std::nextafter(middle, INFINITY)), bits + 1);
    }
  }
}

TEST(Half, NanWithAPayloadInItsLowBitsStaysNan) {
  for (const uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0x7fc00000u})
    for (const Format& f : kFormats) EXPECT_TRUE(std::isnan(f.to_float(f.from_float(std::bit_cast<float>(bits)))));
}

TEST(RoundTo, AgreesWithTheBitsForRandomFloats) {
  Random random(3);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(uint32_t(random.next()));
    if (std::isnan(value)) continue;
    for (const Format& f : kFormats)
      ASSERT_EQ(round_to(f.type, value), double(f.to_float(f.from_float(value)))) << value;
  }
}

TEST(RoundTo, RoundsADoubleOnce) {
  // Just above a tie of bf16: float would round it down to the tie first and then to even.
  const double above_tie = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(round_to(DataType::bf16, above_tie), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DataType::bf16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(round_to(DataType::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DataType::f16, 65519.999), 65504);
  EXPECT_EQ(round_to(DataType::f16, 65520), kInfinity);
  EXPECT_EQ(round_to(DataType::bf16, 1e300), kInfinity);
  EXPECT_EQ(round_to(DataType::f16, 0x1p-25), 0);
  EXPECT_TRUE(std::signbit(round_to(DataType::f16, -0x1p-26)));
}

TEST(RoundTo, IntegersSaturateAndTiesAreEven) {
  const std::pair<double, double> cases[] = {{0.5, 0},         {1.5, 2},          {2.5, 2},   {-0.5, 0},
                                             {-1.5, -2},       {127.5, 127},      {1e9, 127}, {-129, -128},
                                             {kInfinity, 127}, {-kInfinity, -128}};
  for (const auto& [value, expected] : cases) EXPECT_EQ(round_to(DataType::i8, value), expected) << value;
  EXPECT_EQ(round_to(DataType::i32, 3e9), 2147483647.0);
  EXPECT_EQ(round_to(DataType::i32, -3e9), -2147483648.0);
  EXPECT_EQ(round_to(DataType::i8, std::nan("")), 0);
  EXPECT_FALSE(std::signbit(round_to(DataType::i8, -0.25)));
}

TEST(Elements, LoadGivesWhatStoreRounded) {
  Random random(4);
  for (const DataType type :
       {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::i8, DataType::i32}) {
    std::vector<char> memory(size_t(16 * bytes_of(type)), char(0x5a));
    char* middle = memory.data() + 8 * bytes_of(type);
    for (int64_t i = -8; i < 8; ++i) {
      const double value = random.normal() * 100;
      store_element(type, middle, i, value);
      EXPECT_EQ(load_element(type, middle, i), round_to(type, value)) << name_of(type);
    }
  }
}

}  // namespace
}  // namespace gemmsmith
