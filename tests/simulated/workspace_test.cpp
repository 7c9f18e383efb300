// Flags between CTAs: the protocol of partial sums, and what the simulator says when one of its steps is missing.
#include <gtest/gtest.h>

#include "dsl/hopper.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith::test {
namespace {

struct Protocol {
  bool waits = true, releases = true, resets = true;
};

// Every CTA but the last leaves its number plus one in its part of the workspace; the last adds them all up.
void stage(GpuBuilder& k, const Protocol& protocol) {
  const Tensor d = k.matrix({"d", "m", "n", Major::row, DataType::i32});
  const Workspace numbers = k.workspace(4), flags = k.workspace(4, /*zeroed=*/true);
  k.grid("m", 1, "n", 1);
  k.threads(32, [&](const Cta& self) {
    const Int cta = op::block_id(), last = op::grid_size() - 1;
    when(self.thread == 0, [&] {
      when(
          cta == last,
          [&] {
            Var<Int> sum(0);
            for (Int peer : range(last)) {
              if (protocol.waits) op::wait_flag(flags.of_cta(peer), 1);
              if (protocol.resets) op::store_relaxed(flags.of_cta(peer), 0);
              const Vec number = op::load(numbers.of_cta(peer), Kind::i32, 1, {});
              sum = sum + Int(Scalar{Kind::index, 1, number.value, 0, 0});
            }
            d.store({0, 0}, Vec(Scalar{Kind::i32, 1, sum.get().value, sum.get().integer, 0}));
          },
          [&] {
            op::store(numbers.of_cta(cta), Vec(Scalar{Kind::i32, 1, (cta + 1).value, 0, 0}), {});
            if (protocol.releases) op::store_release(flags.of_cta(cta), 1);
          });
    });
  });
}

struct Outcome {
  std::vector<std::string> errors;  // of each launch; empty: all is well
  std::vector<int32_t> results;
};
Outcome run(const Protocol& protocol, int ctas, simulator::Residency residency = simulator::Residency::all,
            int launches = 1, int schedules = 1) {
  SimulatorOptions options;
  options.launch.detect_races = true;
  options.launch.residency = residency;
  options.schedules = schedules;
  const auto target = make_simulator_target("sm_90a", options).value();
  Outcome out;
  const auto compiled = target->compile(
      [&](IrContext& context) { return record_gpu(context, "workspace", [&](GpuBuilder& k) { stage(k, protocol); }); },
      {.verify = true});
  if (!compiled.ok()) return {{compiled.error().text()}, {}};
  const auto kernel = target->load(*compiled);
  if (!kernel.ok()) return {{kernel.error().text()}, {}};
  for (int i = 0; i < launches; ++i) {
    int32_t d = -1;
    std::vector<int64_t> words;
    for (const KernelArgument& a : (*kernel)->signature().arguments) {
      if (a.kind == KernelArgument::Kind::pointer)
        words.push_back(int64_t(reinterpret_cast<uintptr_t>(&d)));
      else
        words.push_back(a.kind == KernelArgument::Kind::extent && a.name == "m" ? ctas : 1);
    }
    (*kernel)->set_memory({{"d", &d, sizeof d, true}});
    const Status launched = (*kernel)->launch(words.data());
    out.errors.push_back(launched.ok() ? std::string() : launched.error().text());
    out.results.push_back(d);
  }
  return out;
}

TEST(Workspace, CtasHandNumbersToEachOther) {
  for (const auto residency : {simulator::Residency::one_cluster, simulator::Residency::all})
    for (int ctas : {1, 2, 5}) {
      const Outcome all = run({}, ctas, residency, 3);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(all.errors[i], "");
        EXPECT_EQ(all.results[i], ctas * (ctas - 1) / 2);
      }
    }
}

TEST(Workspace, NumbersThatAreNotWaitedForAreARace) {
  const std::string error = run({.waits = false}, 3).errors[0];
  EXPECT_NE(error.find("race"), error.npos) << error;
  EXPECT_NE(error.find("the workspace"), error.npos) << error;
  EXPECT_NE(error.find("workspace_test.cpp"), error.npos) << error;
}

TEST(Workspace, FlagsThatNobodyReleasesAreALivelock) {
  const std::string error = run({.releases = false}, 3).errors[0];
  EXPECT_NE(error.find("workspace_test.cpp"), error.npos) << error;
  EXPECT_NE(error.find("livelock"), error.npos) << error;
}

// The next launch finds them set, and in some orders does not wait. Every schedule is a launch.
TEST(Workspace, FlagsThatAreNotResetAreARaceInTheNextLaunch) {
  EXPECT_EQ(run({}, 3, simulator::Residency::all, 1, 8).errors[0], "");
  const std::string error = run({.resets = false}, 3, simulator::Residency::all, 1, 8).errors[0];
  EXPECT_NE(error.find("race"), error.npos) << error;
}

}  // namespace
}  // namespace gemmsmith::test
