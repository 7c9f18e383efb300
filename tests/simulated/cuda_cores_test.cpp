// gemv_rows, gemv_columns and gemm_unaligned: every alignment of operands, K of every length around their steps, edges along m and n,
// layouts, types, batches and epilogues, race-checked under late, eager and random orders.
#include <gtest/gtest.h>

#include <random>

#include "simulated/simulated.h"
#include "templates/template.h"

namespace gemmsmith::test {
namespace {

struct Form {
  const char *name, *sizes, *problem, *config;
  std::vector<int> k;
};
std::ostream& operator<<(std::ostream& out, const Form& f) { return out << f.name; }

class CudaCores : public testing::TestWithParam<Form> {};
TEST_P(CudaCores, AreRightAtEveryK) {
  const Form& f = GetParam();
  SimulatedGpu gpu(1);
  for (int k : f.k) ASSERT_EQ(gpu.run(std::string(f.sizes) + "x" + std::to_string(k) + " " + f.problem, f.config), "");
}

// A step of a warp is 32 loads of `load_bytes`; of 16 bytes, 256 k of bf16.
const Form kGemv[] = {
    {"one_row", "1x37", "dtype=bf16 b=col", "gemv_rows", {0, 8, 248, 256, 264, 1024, 1032, 2056}},
    {"row_by_row", "1x9", "dtype=bf16 b=col", "gemv_rows rows=1 unroll=1 warps=4", {0, 8, 256, 520}},
    {"odd_k",
     "1x21",
     "dtype=bf16 b=col",
     "gemv_rows load_bytes=2 small_bytes=2 unroll=2",
     {2, 3, 31, 33, 65, 127, 257}},
    {"odd_k_in_padded_rows", "1x21", "dtype=bf16 b=col:ld=1024", "gemv_rows", {2, 7, 9, 255, 257, 1023}},
    {"four_bytes",
     "2x21",
     "dtype=bf16 a=ld=1002 b=col:ld=1002",
     "gemv_rows few=2 load_bytes=4 small_bytes=4",
     {2, 63, 64, 65, 999}},
    {"eight_bytes",
     "2x21",
     "dtype=f16 a=ld=1004 b=col:ld=1004",
     "gemv_rows few=2 load_bytes=8 small_bytes=8",
     {2, 127, 129, 1003}},
    {"eight_rows", "8x37", "dtype=bf16 b=col", "gemv_rows few=8 rows=4 unroll=1 warps=4", {0, 8, 256, 520}},
    {"seven_of_eight", "7x37", "dtype=bf16 b=col", "gemv_rows few=8 rows=2 unroll=2", {8, 264}},
    {"split_k", "3x37", "dtype=bf16 b=col", "gemv_rows few=3 rows=2 split_k=4 unroll=2", {0, 8, 256, 1024, 2056}},
    {"split_k_all", "1x37", "dtype=bf16 b=col", "gemv_rows rows=1 split_k=8", {0, 8, 2048, 2056}},
    {"strided_small", "3x37", "dtype=bf16 a=col b=col", "gemv_rows few=3 small_bytes=0 unroll=2", {8, 264}},
    {"swap", "37x1", "dtype=bf16", "gemv_rows swap=1", {0, 8, 264, 1032}},
    {"swap_few", "37x5", "dtype=bf16 b=col epilogue=gelu(acc+bias[n])", "gemv_rows swap=1 few=5", {8, 264}},
    {"swap_column_major", "37x5", "dtype=bf16 d=col", "gemv_rows swap=1 few=5 small_bytes=0", {8, 264}},
    {"f32", "2x37", "dtype=f32 b=col", "gemv_rows few=2", {0, 4, 128, 132, 520}},
    {"i8", "2x37", "dtype=i8 b=col", "gemv_rows few=2", {0, 16, 512, 528, 2064}},
    {"i8_odd", "2x37", "dtype=i8 b=col d=i8 alpha=0.01", "gemv_rows few=2 load_bytes=1 small_bytes=0", {2, 33, 129}},
    {"to_f32", "1x37", "dtype=bf16 b=col d=f32", "gemv_rows", {264}},
    {"batch", "2x37", "dtype=bf16 b=col batch=3", "gemv_rows few=2 split_k=2", {0, 8, 264}},
    {"everything",
     "2x37",
     "dtype=bf16 b=col alpha=0.5 beta=-2 epilogue=relu(acc*scale+row[m]+aux[m,n])",
     "gemv_rows few=2",
     {0, 8, 264}},
};
// Rows at once are threads / column_lanes: 128 for the default.
const Form kColumns[] = {
    {"columns", "1x77", "dtype=bf16 b=ld=80", "gemv_columns warps=8", {1, 63, 64, 65, 192, 256, 257, 600}},
    {"columns_16_warps", "2x200", "dtype=bf16", "gemv_columns few=2", {1, 128, 129, 513}},
    {"columns_eight",
     "8x77",
     "dtype=f16 b=ld=80",
     "gemv_columns few=8 warps=4 unroll=2 column_lanes=8",
     {1, 16, 17, 100}},
    {"columns_seven_of_eight",
     "7x77",
     "dtype=bf16 b=ld=80",
     "gemv_columns few=8 warps=2 unroll=2 column_lanes=2",
     {33, 100}},
    {"columns_three", "3x77", "dtype=bf16 b=ld=80", "gemv_columns few=3 warps=2 unroll=1", {33, 100}},
    {"columns_odd", "1x37", "dtype=bf16", "gemv_columns load_bytes=2 warps=4 column_lanes=16", {1, 9, 100}},
    {"columns_four_bytes",
     "1x37",
     "dtype=bf16 b=ld=38",
     "gemv_columns load_bytes=4 warps=4 column_lanes=32",
     {1, 9, 100}},
    {"columns_swap", "77x2", "dtype=bf16 a=col:ld=80", "gemv_columns swap=1 few=2 warps=4", {1, 33, 200}},
    {"columns_f32", "2x77", "dtype=f32 b=ld=80", "gemv_columns few=2 warps=4", {1, 33, 200}},
    {"columns_i8", "2x77", "dtype=i8 b=ld=80", "gemv_columns few=2 warps=4 unroll=2", {1, 33, 200}},
    {"columns_batch", "2x40", "dtype=bf16 batch=3", "gemv_columns few=2 warps=4", {1, 33, 200}},
    {"columns_everything",
     "2x77",
     "dtype=bf16 b=ld=80 alpha=0.5 beta=-2 epilogue=relu(acc*scale+row[m]+aux[m,n])",
     "gemv_columns few=2 warps=4",
     {1, 33}},
};
INSTANTIATE_TEST_SUITE_P(Columns, CudaCores, testing::ValuesIn(kColumns),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Gemv, CudaCores, testing::ValuesIn(kGemv),
                         [](const auto& info) { return std::string(info.param.name); });

// Blocks along K: none, one, one fewer than there are stages, as many, one more, many.
const Form kUnaligned[] = {
    {"odd",
     "67x45",
     "dtype=bf16 b=col",
     "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2",
     {0, 1, 31, 33, 63, 97, 129, 225}},
    {"four_bytes",
     "67x45",
     "dtype=bf16 a=ld=250 b=col:ld=254",
     "gemm_unaligned block_m=64 block_n=32",
     {0, 1, 31, 32, 65, 97, 129, 225}},
    {"eight_bytes",
     "67x45",
     "dtype=f16 a=ld=252 b=col:ld=244",
     "gemm_unaligned block_m=64 block_n=32 copy_a=8 copy_b=8",
     {1, 33, 97, 225}},
    {"sixteen_bytes",
     "67x45",
     "dtype=bf16 a=ld=248 b=col:ld=240",
     "gemm_unaligned block_m=64 block_n=32 copy_a=16 copy_b=16",
     {0, 1, 8, 33, 97, 225}},
    {"two_stages",
     "67x45",
     "dtype=bf16 b=col",
     "gemm_unaligned block_m=64 block_n=32 num_stages=2 copy_a=2 copy_b=2",
     {1, 32, 64, 65, 97}},
    {"five_stages",
     "67x45",
     "dtype=bf16 a=ld=250 b=col:ld=254",
     "gemm_unaligned block_m=64 block_n=32 num_stages=5",
     {1, 128, 160, 192, 249}},
    {"wide_k",
     "67x45",
     "dtype=bf16 a=ld=250 b=col:ld=254",
     "gemm_unaligned block_m=64 block_n=32 block_k=64",
     {1, 65, 129, 193, 249}},
    {"narrow_k",
     "67x45",
     "dtype=bf16 a=ld=250 b=col:ld=254",
     "gemm_unaligned block_m=64 block_n=32 block_k=16",
     {1, 17, 33, 49, 249}},
    {"a_col", "67x45", "dtype=bf16 a=col:ld=70 b=col:ld=254", "gemm_unaligned block_m=64 block_n=32", {0, 1, 33, 97}},
    {"b_row", "67x45", "dtype=bf16 b=ld=46 a=ld=254", "gemm_unaligned block_m=64 block_n=32", {0, 1, 33, 97}},
    {"both_odd", "67x45", "dtype=bf16 a=col", "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2", {0, 1, 33, 97}},
    {"b_row_16",
     "67x45",
     "dtype=bf16 b=ld=48 a=ld=256",
     "gemm_unaligned block_m=64 block_n=32 copy_a=16 copy_b=16",
     {1, 33, 97}},
    {"strided",
     "67x45",
     "dtype=bf16 a=strides(511,2) b=strides(3,999)",
     "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2",
     {0, 1, 33, 97}},
    {"d_col", "67x45", "dtype=bf16 b=col d=col", "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2", {33, 97}},
    {"d_strided",
     "67x45",
     "dtype=bf16 b=col d=strides(91,2)",
     "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2",
     {33}},
    {"one_warp",
     "17x18",
     "dtype=bf16 b=col",
     "gemm_unaligned block_m=16 block_n=16 warps_m=1 warps_n=1 copy_a=2 copy_b=2",
     {0, 33, 97}},
    {"eight_warps", "150x150", "dtype=bf16 a=ld=250 b=col:ld=254", "gemm_unaligned warps_m=2 warps_n=4", {33, 249}},
    {"vectors",
     "67x48",
     "dtype=bf16 a=ld=250 b=col:ld=254 epilogue=gelu(acc+bias[n])",
     "gemm_unaligned block_m=64 block_n=32 vectors=1",
     {0, 33, 97}},
    {"i8",
     "67x45",
     "dtype=i8 a=ld=252 b=col:ld=260",
     "gemm_unaligned block_m=64 block_n=32 block_k=64",
     {0, 1, 63, 65, 193, 250}},
    {"i8_odd", "67x45", "dtype=i8 b=col", "gemm_unaligned block_m=64 block_n=32 copy_a=1 copy_b=1", {0, 1, 33, 97}},
    {"i8_mn_major",
     "67x45",
     "dtype=i8 a=col",
     "gemm_unaligned block_m=64 block_n=32 copy_a=1 copy_b=1",
     {0, 1, 33, 97}},
    {"i8_to_i8",
     "67x45",
     "dtype=i8 b=col d=i8 alpha=0.01",
     "gemm_unaligned block_m=64 block_n=32 copy_a=1 copy_b=1",
     {97}},
    {"batch",
     "37x45",
     "dtype=bf16 b=col batch=3",
     "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2",
     {0, 33, 97}},
    {"everything",
     "67x45",
     "dtype=bf16 b=col alpha=0.5 beta=-2 epilogue=relu(acc*scale+row[m]+aux[m,n])",
     "gemm_unaligned block_m=64 block_n=32 copy_a=2 copy_b=2",
     {0, 33, 97}},
};
INSTANTIATE_TEST_SUITE_P(Unaligned, CudaCores, testing::ValuesIn(kUnaligned),
                         [](const auto& info) { return std::string(info.param.name); });

// Random problems of every type, layout, step and size: the fallback serves all of them, with the best of what is legal.
TEST(CudaCores, TheFallbackServesWhateverThereIs) {
  SimulatedGpu gpu(0);
  const DeviceFacts device = gpu.target().facts();
  std::mt19937_64 random(11);
  const auto one_of = [&](std::vector<std::string> list) { return list[random() % list.size()]; };
  const auto up_to = [&](int n) { return 1 + int(random() % uint64_t(n)); };
  for (int i = 0; i < 40; ++i) {
    const int m = up_to(90), n = up_to(90), k = int(random() % 150), batch = random() % 4 ? 1 : 2;
    const auto matrix = [&](int rows, int columns) {
      const std::string layout = one_of({"row", "col", "strided"});
      const int step = int(random() % 9);
      if (layout != "strided") {
        const int ld = std::max(layout == "row" ? columns : rows, 1) + step;
        if (batch == 1) return layout + ":ld=" + std::to_string(ld);
        const int other = layout == "row" ? rows : columns, member = ld * std::max(other, 1) + int(random() % 5);
        return layout == "row" ? "strides(" + std::to_string(ld) + ",1," + std::to_string(member) + ")"
                               : "strides(1," + std::to_string(ld) + "," + std::to_string(member) + ")";
      }
      const int inner = 2 + step, outer = std::max(columns, 1) * inner + 1;
      return "strides(" + std::to_string(outer) + "," + std::to_string(inner) +
             (batch > 1 ? "," + std::to_string(outer * std::max(rows, 1)) : std::string()) + ")";
    };
    const std::string text = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                             (batch > 1 ? " batch=2" : "") + " dtype=" + one_of({"bf16", "f16", "i8"}) +
                             " a=" + matrix(m, k) + " b=" + matrix(k, n) + " d=" + matrix(m, n) +
                             one_of({"", " epilogue=relu(acc+bias[n])", " alpha=0.5 beta=1"});
    const auto parsed = GemmProblem::parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    const KernelTemplate& fallback = *template_named("gemm_unaligned");
    ASSERT_TRUE(fallback.supports(*parsed, device)) << text;
    std::vector<std::string> legal;
    for (const ScoredConfig& c : fallback.configs(*parsed, device))
      if (c.dropped.empty()) legal.push_back(c.config);
    ASSERT_FALSE(legal.empty()) << text;
    ASSERT_EQ(gpu.run(text, "gemm_unaligned " + legal[random() % legal.size()]), "");
  }
}

}  // namespace
}  // namespace gemmsmith::test
