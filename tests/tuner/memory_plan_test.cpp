#include "tuner/memory_plan.h"

#include <gtest/gtest.h>

#include "problem/operands.h"
#include "support/random.h"

namespace gemmsmith {
namespace {

TEST(MemoryPlan, Laws) {
  Random random(9);
  const auto extent = [&] { return int64_t(1) << random.below(15); };
  for (int i = 0; i < 10'000; ++i) {
    const GemmProblem problem = make_problem(extent(), extent(), extent(), DataType::f32);
    DeviceFacts device;
    device.last_level_bytes = int64_t(random.below(1 << 30));
    device.memory_bytes = random.below(2) ? int64_t(random.below(uint64_t(1) << 36)) : 0;
    const int64_t asked = int64_t(random.below(uint64_t(1) << (20 + random.below(18))));
    const int workers = 1 + int(random.below(4));
    const int64_t limit = device.memory_bytes > 0 ? std::min(asked, device.memory_bytes / 2) : asked;
    const int64_t bytes = operand_bytes(problem);
    const auto plan = plan_memory(problem, device, asked, workers);
    ASSERT_EQ(plan.ok(), bytes <= limit) << "rotation and reference give way first";
    if (!plan.ok()) continue;
    ASSERT_EQ(plan->limit_bytes, limit);
    ASSERT_GE(plan->copies, 1);
    if (!plan->shared) {
      ASSERT_LE(plan->total_bytes(), limit);
    }
    ASSERT_LE(plan->copies, MemoryPlan::kMaxCopies) << "a problem of a few bytes is not worth gigabytes";
    ASSERT_EQ(plan->cold(), plan->copies * bytes >= 4 * device.last_level_bytes);
    ASSERT_TRUE(plan->copies == 1 || (plan->copies - 1) * bytes < 4 * device.last_level_bytes)
        << "not more than needed";
    ASSERT_EQ(plan->reference_bytes, check_bytes(problem, plan->check));
    ASSERT_LE(plan->reference_bytes,
              std::max(limit / 4, plan->check.min_samples * check_bytes(make_problem(1, 1, 1, DataType::f32))));
  }
}

TEST(MemoryPlan, SaysWhatIsTaken) {
  DeviceFacts device;
  device.last_level_bytes = 32 << 20;
  const auto plan = plan_memory(make_problem(128, 4096, 1024, DataType::f32), device, int64_t(2) << 30, 2).value();
  EXPECT_EQ(plan.conditions(), "operands cold: 7 copies, 136 MB");
  EXPECT_EQ(plan.text(),
            "297 MB of the cap of 2.15 GB: operands 19.4 MB, copies 272 MB, reference 6.29 MB; the rest is for the "
            "kernels' own");
}

}  // namespace
}  // namespace gemmsmith
