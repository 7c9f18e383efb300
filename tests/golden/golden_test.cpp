// The simulator against a GPU: every hardware operation has been compared once. tests/golden/h200.json says when and on what;
// `build/dev/tests/golden record tests/golden/h200.json` makes it anew on a machine with a GPU.
#include <gtest/gtest.h>

#include <set>

#include "golden/golden.h"
#include "targets/cuda/cuda_target.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith::test {
namespace {

const char* const kFile = GEMMSMITH_SOURCE_DIR "/tests/golden/h200.json";

std::string ptx_of(const GoldenKernel& kernel) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::driver}).value();
  auto compiled =
      target->compile([&](IrContext& c) { return record_gpu(c, kernel.name, kernel.stage); }, {.keep_stages = true});
  EXPECT_TRUE(compiled.ok()) << compiled.error().text();
  return compiled->stages.at("ptx");
}

TEST(Golden, TheSimulatorAgreesWithTheGpu) {
  const auto file = read_golden(kFile);
  ASSERT_TRUE(file.ok()) << file.error().text();
  for (const GoldenKernel& kernel : golden_kernels()) {
    const auto recorded = file->kernels.find(kernel.name);
    ASSERT_NE(recorded, file->kernels.end()) << kernel.name << " was never recorded";
    for (auto schedule : {simulator::Schedule::late, simulator::Schedule::eager}) {
      SimulatorOptions options;
      options.launch.detect_races = true;
      options.launch.schedule = schedule;
      const auto target = make_simulator_target("sm_90a", options).value();
      const auto output = run_golden(*target, kernel);
      ASSERT_TRUE(output.ok()) << kernel.name << ": " << output.error().text();
      EXPECT_EQ(compare_golden(kernel, recorded->second, *output), "") << kernel.name;
    }
  }
}

// A record is of the code that was run: where the code has changed, it says nothing any more.
TEST(Golden, RecordsAreOfTodaysPtx) {
  const auto file = read_golden(kFile);
  ASSERT_TRUE(file.ok()) << file.error().text();
  std::set<std::string> names;
  for (const GoldenKernel& kernel : golden_kernels()) {
    names.insert(kernel.name);
    const auto recorded = file->kernels.find(kernel.name);
    if (recorded == file->kernels.end()) continue;
    EXPECT_EQ(ptx_hash(ptx_of(kernel)), recorded->second.ptx_hash)
        << kernel.name << ": record it again on a GPU: golden record tests/golden/h200.json";
  }
  for (const auto& [name, record] : file->kernels)
    EXPECT_TRUE(names.count(name)) << name << " is recorded and no kernel";
}

}  // namespace
}  // namespace gemmsmith::test
