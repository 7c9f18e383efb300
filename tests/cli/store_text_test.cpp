#include "output/store_text.h"

#include <gtest/gtest.h>

namespace gemmsmith::cli {
namespace {

TuneReport report(int64_t m, const std::string& source, double time_us) {
  TuneReport r;
  r.problem = make_problem(m, 8, 8, DataType::f32);
  r.candidates = {{source, "default", CandidateState::won, {}, 0, 0, {}, {}}};
  r.candidates[0].timing = Timing{time_us, time_us, time_us, 25};
  r.winner = 0;
  r.margin = 0.25;
  r.provenance = {"cpu x", "native 1", "0.1.0", "2026-12-01T11:08:14Z"};
  return r;
}

TEST(StoreText, ListsDecisions) {
  TuneReport none = report(2, "native", 10);
  none.winner = -1;
  none.margin = 0;
  none.interrupted = true;
  const std::string one = make_problem(1, 8, 8, DataType::f32).print(), two = none.problem.print();
  ASSERT_EQ(one.size(), two.size());
  const size_t width = one.size();
  EXPECT_EQ(store_table({report(1, "native", 12.5), none}, {.width = kUnlimited}),
            pad_right("problem", width) +
                "  winner             time margin  measured                           device\n" + one +
                "  native default  12.5 us   +25%  2026-12-01T11:08:14Z               cpu x\n" +  //
                two + "  none                  -      -  2026-12-01T11:08:14Z, interrupted  cpu x\n");
}

TEST(StoreText, NarrowTerminalsLoseTheDeviceFirst) {
  const std::string narrow = store_table({report(1, "native", 12.5)}, {.width = 70});
  EXPECT_EQ(narrow.find("cpu x"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("12.5 us"), std::string::npos) << narrow;
}

TEST(StoreText, DifferencesFromBothSides) {
  StoreDifference changed{report(1, "native", 0).problem, "cpu x", report(1, "native", 10), report(1, "openblas", 5)};
  StoreDifference slower{changed.problem, "cpu x", report(1, "native", 10), report(1, "native", 12)};
  StoreDifference missing{changed.problem, "cpu x", std::nullopt, report(1, "native", 12)};
  const std::string problem = changed.problem.print();
  EXPECT_EQ(difference_table({changed, slower, missing}, {.width = kUnlimited}),
            pad_right("problem", problem.size()) +
                "  here                     there                      there/here  winner   device\n" + problem +
                "  native default, 10.0 us  openblas default, 5.00 us      0.500x  differs  cpu x\n" + problem +
                "  native default, 10.0 us  native default, 12.0 us         1.20x  same     cpu x\n" + problem +
                "  not there                native default, 12.0 us             -  -        cpu x\n");
}

TEST(StoreText, Counts) {
  EXPECT_EQ(added_line({3, 12}), "3 decisions added, 12 were there already");
  EXPECT_EQ(added_line({1, 1}), "1 decision added, 1 was there already");
  EXPECT_EQ(freed_line({2, 14, 36900}, false), "2 decisions dropped, 14 kept, 36.9 kB freed");
  EXPECT_EQ(freed_line({1, 0, 4096}, true), "1 decision would be dropped, 0 kept, about 4.10 kB would be freed");
}

}  // namespace
}  // namespace gemmsmith::cli
