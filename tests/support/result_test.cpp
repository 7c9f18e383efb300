#include "gemmsmith/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gemmsmith {
namespace {

TEST(Error, JoinsItsFivePartsInOneForm) {
  const Error error{"gemm.cpp:41",
                    "block_m = 96",
                    "is not a multiple of 64, the rows of one wgmma on sm_90",
                    "near it: 64, 128",
                    {"while staging gemm_packed", "while tuning 1x2x3"}};
  EXPECT_EQ(error.text(),
            "gemm.cpp:41: block_m = 96 is not a multiple of 64, the rows of one wgmma on sm_90; near it: 64, 128\n"
            "  while staging gemm_packed\n"
            "  while tuning 1x2x3");
}

TEST(Error, LeavesOutEmptyParts) {
  EXPECT_EQ((Error{"where", "given", "limit", "", {}}).text(), "where: given limit");
  EXPECT_EQ((Error{"where", "given", "", "remedy", {}}).text(), "where: given; remedy");
  EXPECT_EQ((Error{"where", "", "limit", "", {}}).text(), "where: limit");
  EXPECT_EQ((Error{"", "given", "limit", "remedy", {}}).text(), "given limit; remedy");
  EXPECT_EQ((Error{"where", "", "", "", {}}).text(), "where");
  EXPECT_EQ((Error{"", "", "", "remedy", {"note"}}).text(), "remedy\n  note");
}

TEST(Error, ShowsWhatUsersWroteAsPrintableText) {
  EXPECT_EQ((Error{"a\nb", "\x1b[2J", "is \t no", "try \xff", {"first\nsecond \x01"}}).text(),
            "a\\nb: \\x1b[2J is \\t no; try \\xff\n  first\nsecond \\x01");
  EXPECT_EQ((Error{"a", std::string(401, 'x'), "is long", "", {}}).text(),
            "a: " + std::string(400, 'x') + "... (401 bytes) is long");
}

TEST(Error, NotesComeInnermostFirst) {
  EXPECT_EQ((Error{"a", "b", "c", "", {}}).note("inner").note("outer").text(), "a: b c\n  inner\n  outer");
}

Result<int> half_of(int x) {
  if (x % 2) return Error{"half_of", std::to_string(x), "is odd", "", {}};
  return x / 2;
}
Result<int> quarter_of(int x) {
  GS_TRY(const int half, half_of(x));
  GS_TRY(const int quarter, half_of(half));
  return quarter;
}
Status check_quarter(int x) {
  GS_CHECK(quarter_of(x));
  return Done{};
}

TEST(Result, TryPassesValuesOnAndReturnsErrors) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  EXPECT_EQ(quarter_of(6).error().text(), "half_of: 3 is odd");
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_EQ(check_quarter(7).error().text(), "half_of: 7 is odd");
}

TEST(Result, HoldsValuesThatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result);
  EXPECT_EQ(*std::move(result).value(), 5);
}

TEST(ResultDeathTest, ReadingWhatItDoesNotHoldStopsTheProgram) {
  EXPECT_DEATH((void)half_of(3).value(), "value\\(\\) of a Result that holds an error\nhalf_of: 3 is odd");
  EXPECT_DEATH((void)half_of(4).error(), "error\\(\\) of a Result that holds a value");
}

TEST(AssertDeathTest, NamesTheLineAndTheSentence) {
  EXPECT_DEATH(GS_ASSERT(1 + 1 == 3, "sums are right"), "result_test.cpp:[0-9]+: bug in gemmsmith: sums are right");
}

TEST(Supports, ANoCarriesItsReason) {
  EXPECT_TRUE(Supports{});
  const Supports no = Supports::no("k = 7 is not a multiple of 8");
  EXPECT_FALSE(no);
  EXPECT_EQ(no.reason, "k = 7 is not a multiple of 8");
}

// `for (x : f().value())` and `auto&& x = *f()` keep what they refer to: it is a value, not a part of a Result that is gone.
TEST(Result, WhatATemporaryGivesOutlivesIt) {
  static_assert(std::is_same_v<decltype(std::declval<Result<std::vector<int>>>().value()), std::vector<int>>);
  static_assert(std::is_same_v<decltype(*std::declval<Result<std::vector<int>>>()), std::vector<int>>);
  static_assert(std::is_same_v<decltype(std::declval<Result<int>>().error()), Error>);
  struct Watched {
    explicit Watched(int* alive) : alive(alive) { ++*alive; }
    Watched(Watched&& other) noexcept : alive(other.alive) { ++*alive; }
    ~Watched() { --*alive; }
    int* alive;
    const int* begin() const { return alive; }
    const int* end() const { return alive + 1; }
  };
  int alive = 0, seen = 0;
  const auto make = [&] { return Result<Watched>(Watched(&alive)); };
  for (const int living : make().value()) seen = living;
  EXPECT_EQ(seen, 1);
  auto&& bound = *make();
  EXPECT_EQ(*bound.alive, 1);
}

}  // namespace
}  // namespace gemmsmith
