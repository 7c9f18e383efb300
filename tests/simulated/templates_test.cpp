// Every template in every class of configuration, at the trip counts where pipelines go wrong, race-checked under late, eager
// and three random orders of asynchronous operations. The kernels are those that go to PTX.
#include <gtest/gtest.h>

#include <random>

#include "simulated/simulated.h"
#include "templates/template.h"

namespace gemmsmith::test {
namespace {

struct Class {
  const char* name;
  const char* problem;  // without sizes
  const char* config;
  int stages, block_k, split = 1;
  // Of a problem with several tiles for each CTA and edges along m and n.
  int m = 200, n = 136;
};
std::ostream& operator<<(std::ostream& out, const Class& c) { return out << c.name; }

constexpr const char* kPlain = "dtype=bf16 b=col";

const Class kClasses[] = {
    // The cooperative schedule: clusters, consumers, rasters.
    {"ws", kPlain, "gemm_warp_specialized num_stages=4", 4, 64},
    {"ws_2x1", kPlain, "gemm_warp_specialized num_stages=4 cluster_m=2", 4, 64},
    {"ws_1x2", kPlain, "gemm_warp_specialized num_stages=3 cluster_n=2", 3, 64},
    {"ws_2x2", kPlain, "gemm_warp_specialized num_stages=3 cluster_m=2 cluster_n=2 block_n=64", 3, 64},
    {"ws_one_consumer", kPlain, "gemm_warp_specialized num_consumers=1 block_m=64 block_n=64 num_stages=5", 5, 64},
    {"ws_256x128", kPlain, "gemm_warp_specialized block_m=256 block_n=128 num_stages=3", 3, 64, 1, 520, 136},
    {"ws_three_consumers", kPlain,
     "gemm_warp_specialized num_consumers=3 block_m=192 block_n=64 consumer_registers=160 num_stages=4", 4, 64},
    {"ws_hilbert", kPlain, "gemm_warp_specialized block_m=128 block_n=16 raster=2 num_stages=6", 6, 64, 1, 1100, 144},
    {"ws_along_n", kPlain, "gemm_warp_specialized block_n=32 raster=1 raster_group=2 num_stages=6", 6, 64, 1, 400, 136},
    {"ws_narrow_k", kPlain, "gemm_warp_specialized block_k=32 num_stages=6 block_n=128", 6, 32},
    {"ws_wide_k", kPlain, "gemm_warp_specialized block_k=128 num_stages=2 block_n=128", 2, 128},
    {"ws_four_buffers", kPlain, "gemm_warp_specialized block_n=128 epilogue_buffers=4 num_stages=4", 4, 64},
    // Layouts: both operands in both majors, a column-major D, batches.
    {"ws_a_col", "dtype=bf16 a=col b=col", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64},
    {"ws_b_row", "dtype=bf16", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64},
    {"ws_both", "dtype=bf16 a=col", "gemm_warp_specialized block_n=128 num_stages=4 cluster_m=2", 4, 64},
    {"ws_d_col", "dtype=bf16 b=col d=col", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64},
    {"ws_batch", "dtype=bf16 b=col batch=3", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64, 1, 72, 136},
    // Types.
    {"ws_f16", "dtype=f16 b=col", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64},
    {"ws_to_f32", "dtype=bf16 b=col d=f32", "gemm_warp_specialized block_n=128 num_stages=4", 4, 64},
    {"ws_i8", "dtype=i8 b=col", "gemm_warp_specialized block_n=128 block_k=128 num_stages=4", 4, 128},
    // Epilogues: vectors that fit, that do not, everything that can be read.
    {"ws_gelu", "dtype=bf16 b=col epilogue=gelu(acc+bias[n])", "gemm_warp_specialized num_stages=3", 3, 64},
    {"ws_everything", "dtype=bf16 b=col alpha=0.5 beta=-2 epilogue=relu(acc*scale+row[m]+aux[m,n])",
     "gemm_warp_specialized block_n=128 num_stages=3", 3, 64},
    {"ws_no_vectors", "dtype=bf16 b=col epilogue=silu(acc+bias[n])",
     "gemm_warp_specialized block_n=128 num_stages=3 vectors=0", 3, 64, 1, 201, 136},
    {"sk_odd_n", "dtype=bf16 b=col epilogue=silu(acc+bias[n])",
     "gemm_split_k_cluster num_stages=3 block_k=64 vectors=0", 3, 64, 2, 71, 133},
    {"ws_d_col_gelu", "dtype=bf16 b=col d=col epilogue=gelu(acc+bias[n])",
     "gemm_warp_specialized block_n=64 num_stages=3", 3, 64},
    {"ws_i8_scaled", "dtype=i8 b=col d=bf16 alpha=0.01 epilogue=acc+bias[n]",
     "gemm_warp_specialized block_n=128 block_k=128 num_stages=3", 3, 128},
    // Ping-pong.
    {"pp", kPlain, "gemm_ping_pong num_stages=6", 6, 64},
    {"pp_2x1", kPlain, "gemm_ping_pong num_stages=4 cluster_m=2", 4, 64, 1, 400, 264},
    {"pp_1x2", kPlain, "gemm_ping_pong num_stages=4 cluster_n=2 block_n=64", 4, 64},
    {"pp_wide", kPlain, "gemm_ping_pong block_n=176 num_stages=5", 5, 64, 1, 400, 360},
    {"pp_swap", kPlain, "gemm_ping_pong swap=1 block_m=128 block_n=16 num_stages=6", 6, 64, 1, 9, 520},
    {"pp_swap_gelu", "dtype=bf16 b=col epilogue=gelu(acc+bias[n])",
     "gemm_ping_pong swap=1 block_m=64 block_n=16 num_stages=4", 4, 64, 1, 20, 264},
    {"pp_few_rows", kPlain, "gemm_ping_pong block_m=64 block_n=64 rows_loaded=16 num_stages=5", 5, 64, 1, 9, 264},
    {"pp_gelu", "dtype=f16 b=col epilogue=gelu(acc+bias[n])", "gemm_ping_pong num_stages=4", 4, 64},
    {"pp_hilbert", kPlain, "gemm_ping_pong block_m=64 block_n=16 raster=2 num_stages=4", 4, 64, 1, 640, 144},
    // Split K through distributed shared memory.
    {"sk_2", kPlain, "gemm_split_k_cluster num_stages=4 block_k=64", 4, 64, 2, 72, 136},
    {"sk_4", kPlain, "gemm_split_k_cluster split_k=4 num_stages=3 block_k=64", 3, 64, 4, 72, 136},
    {"sk_8", kPlain, "gemm_split_k_cluster split_k=8 num_stages=2 block_k=64", 2, 64, 8, 9, 72},
    {"sk_few_rows", kPlain, "gemm_split_k_cluster num_stages=4 rows_loaded=16", 4, 128, 2, 9, 136},
    {"sk_swap", kPlain, "gemm_split_k_cluster swap=1 block_n=16 num_stages=3 block_k=64 vectors=0", 3, 64, 2, 9, 136},
    {"sk_bias", "dtype=bf16 b=col epilogue=acc+bias[n]", "gemm_split_k_cluster num_stages=3 block_k=64", 3, 64, 2, 72,
     136},
    {"sk_d_col", "dtype=bf16 b=col d=col", "gemm_split_k_cluster num_stages=3 block_k=64", 3, 64, 2, 72, 137},
    {"sk_batch", "dtype=bf16 batch=2 b=col", "gemm_split_k_cluster num_stages=3 block_k=64", 3, 64, 2, 40, 72},
};

class Simulated : public testing::TestWithParam<Class> {};

// Blocks along K for each CTA: none, one, one fewer than there are stages, as many, one more, and one more than twice as
// many, where a wrong phase that two rounds hide shows. K itself is no multiple of a block where it can be.
TEST_P(Simulated, IsRightAndRaceFreeAtEveryTripCount) {
  const Class& c = GetParam();
  SimulatedGpu gpu;
  for (int blocks : {0, 1, c.stages - 1, c.stages, c.stages + 1, 2 * c.stages + 1}) {
    const int k = std::max(blocks * c.block_k * c.split - (blocks > 1 ? 24 : 0), 0);
    // i8 rows have to be multiples of 16 bytes for TMA.
    const int aligned = (k + 15) / 16 * 16;
    const std::string problem =
        std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(aligned) + " " + c.problem;
    ASSERT_EQ(gpu.run(problem, c.config), "");
  }
  EXPECT_GT(gpu.target().last_result().counters.ctas, 0);
}

INSTANTIATE_TEST_SUITE_P(Templates, Simulated, testing::ValuesIn(kClasses),
                         [](const auto& info) { return std::string(info.param.name); });

// What no legal() refuses is staged, lowered and right: random points of the whole space, on a problem with edges.
TEST(Simulated, WhatIsLegalRuns) {
  SimulatedGpu gpu(0);
  const DeviceFacts device = gpu.target().facts();
  std::mt19937_64 random(7);
  int runs = 0;
  for (const char* text : {"200x136x200 dtype=bf16 b=col", "72x264x136 dtype=f16 a=col epilogue=gelu(acc+bias[n])",
                           "9x520x136 dtype=bf16 b=col", "80x136x272 dtype=i8 b=col"}) {
    const auto problem = GemmProblem::parse(text);
    ASSERT_TRUE(problem.ok());
    std::vector<std::string> legal;
    for (const KernelTemplate& t : templates())
      if (t.device_kind == device.kind && t.supports(*problem, device))
        for (const ScoredConfig& c : t.configs(*problem, device))
          if (c.dropped.empty()) legal.push_back(t.name + " " + c.config);
    ASSERT_GT(legal.size(), 100u) << text;
    for (int i = 0; i < 12; ++i, ++runs) ASSERT_EQ(gpu.run(text, legal[random() % legal.size()]), "");
  }
  EXPECT_EQ(runs, 48);
}

}  // namespace
}  // namespace gemmsmith::test
