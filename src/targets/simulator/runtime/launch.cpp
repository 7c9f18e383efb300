#include "targets/simulator/runtime/launch.h"

#include <algorithm>

#include "support/text.h"
#include "targets/simulator/runtime/engine.h"
#include "targets/simulator/runtime/wgmma_operands.h"

namespace gemmsmith::simulator {

struct Simulator::State {
  Engine::Pools pools;
};

Simulator::Simulator() : state_(std::make_unique<State>()) {}
Simulator::~Simulator() = default;

namespace {

constexpr int kMostThreads = 1024, kMostClusterCtas = 16;

Status check(const Launch& l) {
  const auto refuse = [&l](std::string given, std::string limit, std::string remedy = "") {
    return Error{concat("launch of ", l.name), std::move(given), std::move(limit), std::move(remedy), {}};
  };
  const auto text = [](const Dim3& d) { return concat(d.x, "x", d.y, "x", d.z); };
  for (const Dim3* d : {&l.grid, &l.cluster, &l.block})
    if (d->x < 1 || d->y < 1 || d->z < 1) return refuse(text(*d), "has a dimension below 1");
  if (!l.kernel) return refuse("no kernel", "cannot be run");
  if (l.block.count() > kMostThreads) return refuse(concat("block = ", text(l.block)), "has more than 1024 threads");
  if (l.cluster.count() > kMostClusterCtas)
    return refuse(concat("cluster = ", text(l.cluster)), "has more than 16 CTAs");
  if (l.grid.x % l.cluster.x || l.grid.y % l.cluster.y || l.grid.z % l.cluster.z)
    return refuse(concat("grid = ", text(l.grid)), concat("is not a multiple of the cluster, ", text(l.cluster)));
  if (l.shared_bytes > SharedWindows::kMaxSharedBytes)
    return refuse(concat("shared_bytes = ", l.shared_bytes),
                  concat("is more than the ", SharedWindows::kMaxSharedBytes, " of a CTA on sm_90"));
  for (size_t i = 0; i < l.wgmma_blocks.size(); ++i) GS_CHECK(check(l.wgmma_blocks[i], int(i)));
  return Done{};
}

}  // namespace

std::string LaunchResult::text() const {
  std::string text;
  for (const Finding& finding : findings) text += concat(text.empty() ? "" : "\n\n", finding.text);
  return text;
}

Result<LaunchResult> Simulator::run(const Launch& launch, const LaunchOptions& options) {
  return run(std::span(&launch, 1), options);
}

Result<LaunchResult> Simulator::run(std::span<const Launch> stream, const LaunchOptions& options) {
  int windows = 0, threads = 0;
  for (const Launch& launch : stream) {
    GS_CHECK(check(launch));
    const int ctas = options.residency == Residency::all ? launch.grid.count() : launch.cluster.count();
    if (ctas > SharedWindows::kMaxWindows)
      return Error{concat("launch of ", launch.name),
                   concat(ctas, " CTAs at a time"),
                   concat("are more than the ", SharedWindows::kMaxWindows, " windows of shared memory below 4 GiB"),
                   "a smaller grid, or Residency::one_cluster",
                   {}};
    windows = std::max(windows, ctas);
    threads = std::max(threads, ctas * launch.block.count());
  }
  GS_CHECK(state_->pools.windows.reserve(windows));
  GS_CHECK(state_->pools.stacks.reserve(threads, size_t(options.stack_bytes)));
  LaunchResult result;
  {
    Engine engine(state_->pools, options, result);
    for (const Launch& launch : stream) {
      engine.run(launch);
      if (engine.failed()) break;
    }
    engine.finish_timeline();
  }
  state_->pools.clocks.forget();
  return result;
}

}  // namespace gemmsmith::simulator
