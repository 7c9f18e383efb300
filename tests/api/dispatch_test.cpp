// Choosing among kernels by m: the laws of the table over random worlds without a device, threads, and the real thing.
#include "gemmsmith/dispatch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "api/crossovers.h"
#include "api/dispatcher.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

KernelChoice numbered(int64_t i) { return {"fake", concat("kernel ", i)}; }

// A world in which kernel i is the best from starts[i] on, and which counts what it is asked.
struct World {
  std::vector<int64_t> starts;
  std::map<int64_t, int> tuned;
  int64_t best_at(int64_t m) const { return std::upper_bound(starts.begin(), starts.end(), m) - starts.begin(); }
  Crossovers::Tune tune() {
    return [this](int64_t m) -> Result<TunedPoint> {
      ++tuned[m];
      return TunedPoint{numbered(best_at(m)), {}};
    };
  }
};

TEST(Crossovers, points_divide_the_range) {
  const auto points = [](int64_t min_m, int64_t max_m, int per_octave) {
    return Crossovers(min_m, max_m, per_octave, {}).points();
  };
  EXPECT_EQ(points(1, 1, 2), (std::vector<int64_t>{1}));
  EXPECT_EQ(points(1, 2, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(points(1, 40, 2), (std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40}));
  EXPECT_EQ(points(5, 33, 1), (std::vector<int64_t>{5, 8, 16, 32, 33}));
  EXPECT_EQ(points(1, 9, 16), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Crossovers, every_choice_was_the_best_nearby_and_every_m_is_tuned_at_most_once) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const int64_t min_m = 1 + int64_t(random() % 20), max_m = min_m + int64_t(random() % 3000);
    const int per_octave = 1 + int(random() % 4);
    World world;
    for (uint64_t i = random() % 6; i > 0; --i) world.starts.push_back(int64_t(random() % uint64_t(max_m + 1)));
    std::sort(world.starts.begin(), world.starts.end());
    Crossovers crossovers(min_m, max_m, per_octave, world.tune());
    for (int i = 0; i < 200; ++i) {
      const int64_t m = min_m + int64_t(random() % uint64_t(max_m - min_m + 1));
      const auto choice = crossovers.choice(m);
      ASSERT_TRUE(choice.ok());
      // An interval between points is m / per_octave or 1 long, and known to a quarter of that, if not all of it has changed.
      const int64_t interval = m / per_octave + 2;
      bool was_best = false;
      for (int64_t near = std::max(min_m, m - interval); near <= m; ++near)
        was_best |= *choice == numbered(world.best_at(near));
      EXPECT_TRUE(was_best) << choice->config << " at " << m;
      EXPECT_EQ(*crossovers.choice(m), *choice);
    }
    for (const auto& [m, times] : world.tuned) EXPECT_EQ(times, 1) << m;
  }
}

TEST(Crossovers, one_crossover_is_found_to_a_quarter_of_the_distance_of_two_points) {
  for (int64_t start = 2; start <= 512; ++start) {
    World world{{start}, {}};
    Crossovers crossovers(1, 512, 1, world.tune());
    for (int64_t m = 1; m <= 512; ++m) {
      const bool second = *crossovers.choice(m) == numbered(1);
      EXPECT_TRUE(m >= start || !second) << m << " " << start;
      EXPECT_TRUE(m < start + start / 4 || second) << m << " " << start;
    }
    const auto ranges = crossovers.ranges();
    ASSERT_EQ(ranges.size(), 2u) << start;
    EXPECT_EQ(ranges[0].first_m, 1);
    EXPECT_EQ(ranges[0].last_m + 1, ranges[1].first_m);
    EXPECT_EQ(ranges[1].last_m, 512);
  }
}

TEST(Crossovers, only_what_is_asked_for_is_tuned) {
  World world;
  Crossovers crossovers(1, 1 << 20, 2, world.tune());
  ASSERT_TRUE(crossovers.choice(100).ok());
  EXPECT_EQ(world.tuned, (std::map<int64_t, int>{{96, 1}, {128, 1}}));
  EXPECT_EQ(crossovers.ranges(), (std::vector<DispatchRange>{{96, 127, "fake", "kernel 0"}}));
}

TEST(Crossovers, a_choice_is_kept_where_it_ties) {
  // Kernel 0 wins at 16 and ties at 24; kernel 1 wins from 24 on.
  const auto tune = [](int64_t m) -> Result<TunedPoint> {
    if (m < 24) return TunedPoint{numbered(0), {}};
    return TunedPoint{numbered(1), m == 24 ? std::vector{numbered(0)} : std::vector<KernelChoice>{}};
  };
  Crossovers crossovers(16, 32, 2, tune);
  EXPECT_EQ(*crossovers.choice(23), numbered(0));
  EXPECT_EQ(*crossovers.choice(24), numbered(1));
}

TEST(Crossovers, what_failed_is_tried_again) {
  bool works = false;
  Crossovers crossovers(1, 4, 1, [&](int64_t m) -> Result<TunedPoint> {
    if (m == 4 && !works) return Error{"tuning", "m = 4", "is out of luck", "", {}};
    return TunedPoint{numbered(m), {}};
  });
  EXPECT_EQ(crossovers.choice(3).error().text(), "tuning: m = 4 is out of luck");
  EXPECT_TRUE(crossovers.ranges().empty());
  works = true;
  EXPECT_EQ(*crossovers.choice(3), numbered(3));
}

TEST(Dispatcher, threads_that_come_first_together_tune_and_build_once) {
  constexpr int64_t kLargest = 64;
  std::atomic<int> inside{0}, runs_inside[kLargest + 1] = {};
  std::map<int64_t, int> tuned, built;
  std::atomic<int64_t> ran{0};
  Dispatcher dispatcher(
      1, kLargest, 2,
      [&](int64_t m) -> Result<TunedPoint> {
        EXPECT_EQ(inside.fetch_add(1), 0);
        ++tuned[m];
        std::this_thread::yield();
        inside.fetch_sub(1);
        return TunedPoint{numbered(m / 10), {}};
      },
      [&](int64_t m, const KernelChoice&) -> Result<Dispatcher::Run> {
        EXPECT_EQ(inside.fetch_add(1), 0);
        ++built[m];
        inside.fetch_sub(1);
        return Dispatcher::Run([&, m](const GemmArguments& arguments) -> Status {
          EXPECT_EQ(runs_inside[m].fetch_add(1), 0);
          EXPECT_EQ(arguments.d, &ran);
          ran.fetch_add(m);
          runs_inside[m].fetch_sub(1);
          return Done{};
        });
      });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int64_t m = 0; m <= kLargest; ++m) EXPECT_TRUE(dispatcher.run(m, {.d = &ran}).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 8 * kLargest * (kLargest + 1) / 2);
  EXPECT_EQ(built.size(), size_t(kLargest));
  for (const auto& [m, times] : built) EXPECT_EQ(times, 1) << m;
  for (const auto& [m, times] : tuned) EXPECT_EQ(times, 1) << m;
}

TEST(Dispatcher, a_choice_that_cannot_be_built_for_an_m_is_replaced_by_that_of_a_tuning_there) {
  World world;
  Dispatcher dispatcher(16, 32, 1, world.tune(), [](int64_t m, const KernelChoice& choice) -> Result<Dispatcher::Run> {
    if (m >= 20 && choice == numbered(0)) return Error{"build", concat("m = ", m), "does not fit", "", {}};
    return Dispatcher::Run([](const GemmArguments&) -> Status { return Done{}; });
  });
  EXPECT_TRUE(dispatcher.prepare(19).ok());
  EXPECT_EQ(world.tuned, (std::map<int64_t, int>{{16, 1}, {32, 1}}));
  EXPECT_EQ(dispatcher.prepare(20).error().text(), "build: m = 20 does not fit");  // no better choice there
  world.starts = {21};
  EXPECT_TRUE(dispatcher.prepare(21).ok());
  EXPECT_EQ(world.tuned, (std::map<int64_t, int>{{16, 1}, {20, 1}, {21, 1}, {32, 1}}));
  EXPECT_EQ(dispatcher.table(),
            (std::vector<DispatchRange>{
                {16, 20, "fake", "kernel 0"}, {21, 21, "fake", "kernel 1"}, {22, 31, "fake", "kernel 0"}}));
}

class DispatchOnCpu : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cpu", {.threads = 2, .measure_peaks = false});
    if (!opened.ok()) GTEST_SKIP() << opened.error().text();
    device_ = std::make_unique<Device>(std::move(opened).value());
  }
  std::unique_ptr<Device> device_;
};

TEST_F(DispatchOnCpu, errors_of_the_range) {
  const auto text = [&](int64_t m, const DispatchOptions& options) {
    return Dispatch::create(*device_, make_problem(m, 2, 2, DataType::f32), options).error().text();
  };
  EXPECT_EQ(text(0, {}), "dispatch: min_m = 1 is not from 1 to 0, the m of the problem");
  EXPECT_EQ(text(4, {.min_m = 5}), "dispatch: min_m = 5 is not from 1 to 4, the m of the problem");
  EXPECT_EQ(text(4, {.min_m = 0}), "dispatch: min_m = 0 is not from 1 to 4, the m of the problem");
  EXPECT_EQ(text(4, {.points_per_octave = 17}), "dispatch: points_per_octave = 17 is not from 1 to 16");
  EXPECT_EQ(text(2 << 20, {}),
            "dispatch: 2097152 values of m are more than 1048576; create a handle for each part of the range");
  auto dispatch = Dispatch::create(*device_, make_problem(4, 2, 2, DataType::f32), {.min_m = 2});
  ASSERT_TRUE(dispatch.ok());
  EXPECT_TRUE(dispatch->run(0, {}).ok());
  for (const int64_t m : {int64_t(-1), int64_t(1), int64_t(5)})
    EXPECT_EQ(dispatch->run(m, {}).error().text(), concat("dispatch: m = ", m,
                                                          " is outside of 2 to 4, the range of the handle; create it "
                                                          "with a larger range"));
}

TEST_F(DispatchOnCpu, every_m_multiplies_from_two_threads) {
  constexpr int64_t kM = 20, kN = 33, kK = 12;
  DispatchOptions options;
  options.points_per_octave = 1;
  options.tune.budget_seconds = 0.02;
  options.tune.sources = {"native"};
  auto dispatch =
      Dispatch::create(*device_, make_problem(kM, kN, kK, DataType::f32), options, Store::open(":memory:").value());
  ASSERT_TRUE(dispatch.ok()) << dispatch.error().text();
  EXPECT_TRUE(dispatch->table().empty());
  std::vector<float> a(kM * kK), b(kK * kN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 11) - 5;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 7) - 3;
  const auto multiply_all = [&] {
    for (int64_t m = 1; m <= kM; ++m) {
      std::vector<float> d(kM * kN, -1.0f);
      const Status status = dispatch->run(m, {.a = a.data(), .b = b.data(), .d = d.data()});
      ASSERT_TRUE(status.ok()) << m << ": " << status.error().text();
      for (int64_t i = 0; i < kM; ++i)
        for (int64_t j = 0; j < kN; ++j) {
          float sum = i < m ? 0.0f : -1.0f;  // what is behind row m stays
          for (int64_t k = 0; i < m && k < kK; ++k) sum += a[size_t(i * kK + k)] * b[size_t(k * kN + j)];
          ASSERT_EQ(d[size_t(i * kN + j)], sum) << m << ": " << i << "," << j;
        }
    }
  };
  std::thread other(multiply_all);
  multiply_all();
  other.join();
  const auto table = dispatch->table();
  ASSERT_FALSE(table.empty());
  EXPECT_EQ(table.front().first_m, 1);
  EXPECT_EQ(table.back().last_m, kM);
  for (size_t i = 1; i < table.size(); ++i) EXPECT_EQ(table[i].first_m, table[i - 1].last_m + 1);
}

}  // namespace
}  // namespace gemmsmith
