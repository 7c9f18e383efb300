#include "tuner/memory_plan.h"

#include <algorithm>

#include "problem/operands.h"
#include "support/text.h"

namespace gemmsmith {

Result<MemoryPlan> plan_memory(const GemmProblem& problem, const DeviceFacts& device, int64_t limit_bytes,
                               int workers) {
  const bool half = device.memory_bytes > 0 && device.memory_bytes / 2 < limit_bytes;
  MemoryPlan plan;
  plan.limit_bytes = half ? device.memory_bytes / 2 : limit_bytes;
  plan.operand_bytes = operand_bytes(problem);
  plan.last_level_bytes = device.last_level_bytes;
  plan.workers = workers;
  if (plan.operand_bytes > plan.limit_bytes)
    return Error{"memory",
                 concat("operands of ", print_bytes(double(plan.operand_bytes))),
                 concat("are more than the ", half ? "half of this process's memory that tuning may take, " : "cap of ",
                        print_bytes(double(plan.limit_bytes))),
                 half ? "free memory, or raise the limit of this process's group"
                      : "raise --max-memory, in a program TuneOptions::max_memory_bytes",
                 {}};
  plan.reference_bytes = check_bytes(problem, plan.check);
  if (plan.reference_bytes > plan.limit_bytes / 4) {
    plan.check.max_elements = 0;
    const int64_t bytes_of_element = check_bytes(make_problem(1, 1, 1, DataType::f32));
    plan.check.max_samples =
        std::clamp(plan.limit_bytes / 4 / bytes_of_element, plan.check.min_samples, plan.check.max_samples);
    plan.reference_bytes = check_bytes(problem, plan.check);
  }
  if (plan.operand_bytes == 0) return plan;
  const int64_t wanted =
      std::max<int64_t>(1, (4 * plan.last_level_bytes + plan.operand_bytes - 1) / plan.operand_bytes);
  const int64_t room =
      std::max<int64_t>(0, plan.limit_bytes - plan.operand_bytes - plan.reference_bytes) / plan.operand_bytes / workers;
  plan.shared = room == 0;
  plan.copies = std::max<int64_t>(1, std::min({wanted, room, MemoryPlan::kMaxCopies}));
  return plan;
}

std::string MemoryPlan::conditions() const {
  const std::string set =
      concat(copies, copies == 1 ? " copy, " : " copies, ", print_bytes(double(copies) * double(operand_bytes)));
  if (last_level_bytes == 0) return concat("operands in ", set, "; size of the last-level cache not known");
  if (cold()) return concat("operands cold: ", set);
  return concat("operands partly warm: ", set, ", less than four times the last-level cache of ",
                print_bytes(double(last_level_bytes)),
                copies == kMaxCopies ? " because the problem is tiny" : " because memory is limited");
}

std::string MemoryPlan::text() const {
  const int64_t rotation = shared ? 0 : copies * workers * operand_bytes;
  return concat(print_bytes(double(total_bytes())), " of the cap of ", print_bytes(double(limit_bytes)), ": operands ",
                print_bytes(double(operand_bytes)), ", copies ", print_bytes(double(rotation)), ", reference ",
                print_bytes(double(reference_bytes)), check.max_elements == 0 ? " (samples)" : "",
                "; the rest is for the kernels' own");
}

}  // namespace gemmsmith
