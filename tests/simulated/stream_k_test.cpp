// Stream-K at every way in which tiles and their k-blocks can be shared out: fewer tiles than CTAs, as many, more, shares
// that are empty, that are one k-block, that end on a tile's edge. Race-checked, under late, eager and random orders, with
// CTAs one after another and all at once.
#include <gtest/gtest.h>

#include "simulated/simulated.h"

namespace gemmsmith::test {
namespace {

void set_residency(SimulatedGpu& gpu, int ctas, bool all_at_once) {
  SimulatorOptions options = gpu.target().options();
  options.resident_clusters = ctas;
  options.launch.residency = all_at_once ? simulator::Residency::all : simulator::Residency::one_cluster;
  gpu.target().set_options(options);
}

constexpr const char* kSmall = "gemm_stream_k block_m=64 block_n=64 num_consumers=1 num_stages=3 max_splits=";

std::string problem(int m, int n, int k, const std::string& rest = "dtype=bf16 b=col") {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " + rest;
}

class StreamK : public testing::TestWithParam<int> {};  // CTAs

TEST_P(StreamK, IsRightHoweverTilesAreShared) {
  SimulatedGpu gpu(1);
  for (const bool all_at_once : {false, true}) {
    set_residency(gpu, GetParam(), all_at_once);
    for (int tiles : {1, 2, 3, 5})
      for (int blocks : {0, 1, 2, 3, 4, 7}) {
        const int k = std::max(blocks * 64 - (blocks > 1 ? 24 : 0), 0);
        ASSERT_EQ(gpu.run(problem(40 + 64 * (tiles - 1), 56, k), kSmall + std::string("16")), "")
            << GetParam() << " CTAs";
      }
  }
}
INSTANTIATE_TEST_SUITE_P(Ctas, StreamK, testing::Values(1, 2, 3, 4, 7, 12));

TEST(StreamK, NoMoreCtasThanItsConfigurationAllowsForATile) {
  SimulatedGpu gpu(0);
  set_residency(gpu, 100, true);
  for (int splits : {1, 2, 3, 16}) {
    ASSERT_EQ(gpu.run(problem(64, 64, 64 * 9), kSmall + std::to_string(splits)), "");
    EXPECT_EQ(gpu.target().last_result().counters.ctas, splits);
  }
}

struct Form {
  const char *name, *problem, *config;
};
std::ostream& operator<<(std::ostream& out, const Form& f) { return out << f.name; }
class StreamKForms : public testing::TestWithParam<Form> {};

// Stages of the ring: none, one, one fewer than there are, as many, one more, for the whole K and for a share of it.
TEST_P(StreamKForms, AreRightAtEveryTripCount) {
  SimulatedGpu gpu;
  for (const int ctas : {2, 5}) {
    set_residency(gpu, ctas, false);
    for (int blocks : {0, 1, 3, 4, 5, 9}) {
      const int k = std::max(blocks * 64 - (blocks > 1 ? 16 : 0), 0);
      ASSERT_EQ(gpu.run(problem(200, 136, k, GetParam().problem), GetParam().config), "") << ctas << " CTAs";
    }
  }
}
const Form kForms[] = {
    {"two_consumers", "dtype=bf16 b=col", "gemm_stream_k block_n=64 num_stages=4"},
    {"b_row", "dtype=f16", "gemm_stream_k block_n=64 num_stages=4"},
    {"gelu", "dtype=bf16 b=col epilogue=gelu(acc+bias[n])", "gemm_stream_k block_n=64 num_stages=4"},
    {"everything", "dtype=bf16 b=col alpha=0.5 beta=-2 epilogue=relu(acc*scale+row[m]+aux[m,n])",
     "gemm_stream_k block_n=64 num_stages=4"},
    {"i8", "dtype=i8 b=col", "gemm_stream_k block_n=64 block_k=64 num_stages=4"},
    {"swap", "dtype=bf16 b=col", "gemm_stream_k block_n=64 num_stages=4 swap=1"},
    {"batch", "dtype=bf16 b=col batch=2", "gemm_stream_k block_n=64 num_stages=4 raster=1 raster_group=2"},
    {"one_consumer", "dtype=bf16 b=col d=f32",
     "gemm_stream_k block_m=64 num_consumers=1 block_n=128 num_stages=4 epilogue_buffers=4"},
};
INSTANTIATE_TEST_SUITE_P(Forms, StreamKForms, testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gemmsmith::test
