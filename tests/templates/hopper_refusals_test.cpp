// What the templates of Hopper refuse, and the rule and the numbers that they say.
#include <gtest/gtest.h>

#include "gemmsmith/problem.h"
#include "ir/signature.h"
#include "targets/cuda/arch.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

const DeviceFacts& h200() {
  static const DeviceFacts facts = describe_arch("sm_90a").value();
  return facts;
}

std::string supports(const std::string& name, const std::string& problem) {
  return template_named(name)->supports(GemmProblem::parse(problem).value(), h200()).reason;
}

TEST(HopperRefusals, OfProblems) {
  const struct {
    const char *name, *problem, *reason;
  } cases[] = {
      {"gemm_stream_k", "128x128x128 dtype=f32", "f32 is not multiplied exactly by tensor cores; f16, bf16 and i8 are"},
      {"gemm_stream_k", "128x128x129 dtype=bf16 b=col",
       "A has a leading dimension of 129 elements, 258 bytes; TMA needs a positive multiple of 16"},
      {"gemv_rows", "9x4096x4096 dtype=bf16 b=col",
       "m = 9 > 8, the rows whose products fit the registers of a thread; swapped: n = 4096 > 8, the rows whose "
       "products fit the "
       "registers of a thread"},
      {"gemv_rows", "1x4096x4096 dtype=bf16",
       "columns of B are not contiguous along k: their steps are 4096 elements; gemv_columns reads across them; "
       "swapped: n = 4096 > 8, "
       "the rows whose products fit the registers of a thread"},
      {"gemv_columns", "1x4096x4096 dtype=bf16 b=col",
       "B is not row-major: its columns have steps of 4096 elements; swapped: n = 4096 > 8, the rows whose products "
       "fit the "
       "registers of a thread"},
      {"gemv_rows", "1x8x8 a=bf16 b=f16", "A is bf16 and B f16; both have to be f32, f16, bf16 or i8"},
      {"gemm_unaligned", "128x128x128 dtype=f32",
       "A is f32 and B f32; mma.sync multiplies f16, bf16 or i8 exactly, and equal types; f32 would be rounded to "
       "tf32"},
      {"gemm_unaligned", "128x128x128 a=bf16 b=f16",
       "A is bf16 and B f16; mma.sync multiplies f16, bf16 or i8 exactly, and equal types"},
  };
  for (const auto& c : cases) EXPECT_EQ(supports(c.name, c.problem), c.reason) << c.name << " " << c.problem;
}

std::string legal(const std::string& problem, const std::string& candidate) {
  const Status status = check_candidate(candidate, GemmProblem::parse(problem).value(), h200());
  if (status.ok()) return {};
  const std::string limit = status.error().limit, prefix = "is not legal: ";
  return limit.starts_with(prefix) ? limit.substr(prefix.size()) : limit;
}

TEST(HopperRefusals, OfConfigurations) {
  const char* const wide = "1024x1024x1024 dtype=bf16 b=col";
  const char* const row = "1x1024x1026 dtype=bf16 b=col";
  const char* const odd = "1001x1003x1006 dtype=bf16 b=col";
  const struct {
    const char *problem, *candidate, *reason;
  } cases[] = {
      {wide, "gemm_stream_k max_splits=0", "max_splits = 0 is not 1 to 1024"},
      {wide, "gemm_stream_k num_consumers=4", "num_consumers = 4 is not 1 to 3"},
      {"1x8x33554496 dtype=bf16 b=col", "gemm_stream_k block_m=64 block_n=8 block_k=16 num_consumers=1",
       "2097156 k-blocks of 16 are more than 2097152, what 32-bit numbers of shared blocks allow"},
      {wide, "gemm_stream_k block_n=176 num_consumers=1",
       "block_n = 176 is stored in boxes of 16 columns, whose addresses do not fit beside 176 sums; a multiple of 32"},
      {"1024x1024x1024 dtype=bf16 b=col epilogue=gelu(acc)", "gemm_stream_k block_n=160 num_consumers=1",
       "160 sums and 88 other registers do not fit the 240 of a consumer"},
      {wide, "gemm_warp_specialized block_m=192 block_n=224 num_consumers=3 consumer_registers=160 num_stages=2",
       "138 registers of one wgmma do not fit the 128 that a thread of 3 consumers is launched with"},
      {row, "gemv_rows few=9", "few = 9 is not from 1, the rows that there are, to 8"},
      {row, "gemv_rows rows=3", "rows = 3 is not 1, 2, 4 or 8"},
      {row, "gemv_rows rows=8 few=8", "8 x 8 sums are more than 32, one for each thread of a warp"},
      {row, "gemv_rows unroll=3", "unroll = 3 is not 1, 2, 4 or 8"},
      {row, "gemv_rows warps=6", "warps = 6 is not 1, 2, 4, 8 or 16"},
      {row, "gemv_rows warps=4 split_k=8", "split_k = 8 is not a power of two up to the 4 warps of a CTA"},
      {row, "gemv_rows", "load_bytes = 16 is not from 2 to 4, what the strides of the large operand are multiples of"},
      {row, "gemv_rows load_bytes=4 small_bytes=8",
       "small_bytes = 8 is neither 0 nor load_bytes = 4 on strides that are multiples of it; those of the small "
       "operand allow 16"},
      {"8x1024x1024 dtype=bf16 b=col", "gemv_rows few=8 rows=4 warps=16",
       "about 296 registers do not fit a thread of 16 warps; fewer rows or a smaller unroll"},
      {odd, "gemm_unaligned warps_m=3", "warps_m = 3 is not 1, 2, 4 or 8"},
      {odd, "gemm_unaligned warps_m=8 warps_n=4", "32 warps are more than 16, what their registers allow"},
      {odd, "gemm_unaligned block_m=48",
       "block_m = 48 is not a multiple of 32 up to 256, 16 rows of mma for each of 2 warps"},
      {odd, "gemm_unaligned block_n=40",
       "block_n = 40 is not a multiple of 32 up to 256, 16 columns for each of 2 warps"},
      {odd, "gemm_unaligned block_k=24", "block_k = 24 is not a multiple of 16 up to 128, the k of mma.sync"},
      {odd, "gemm_unaligned num_stages=1", "num_stages = 1 is not 2 to 8"},
      {odd, "gemm_unaligned copy_a=8",
       "copy_a = 8 is not 2 or one of 4, 8, 16 up to 4, what the operand's strides are multiples of"},
      {odd, "gemm_unaligned vectors=1", "vectors = 1: n = 1003 is not a multiple of 8, a vector of 16 bytes of D"},
      {odd, "gemm_unaligned block_m=256 block_n=256 warps_m=2 warps_n=2",
       "512 sums, 64 of operands and 32 addresses do not fit the registers of a thread; smaller tiles or more warps"},
      {odd, "gemm_unaligned num_stages=8 block_k=64",
       "331776 bytes of shared memory do not fit the 232448 of a CTA on sm_90; fewer stages or a smaller tile"},
  };
  for (const auto& c : cases) EXPECT_EQ(legal(c.problem, c.candidate), c.reason) << c.problem << " | " << c.candidate;
}

TEST(HopperRefusals, OfAddressesAtLaunch) {
  KernelSignature signature;
  signature.arguments = {{KernelArgument::Kind::pointer, "b", 16},
                         {KernelArgument::Kind::extent, "m"},
                         {KernelArgument::Kind::extent, "n"}};
  signature.gpu.threads = 32;
  for (int64_t offset = 0; offset < 64; ++offset) {
    const int64_t words[] = {4096 + offset, 1, 1};
    const auto grid = grid_size(signature, words, 1);
    EXPECT_EQ(grid.ok(), offset % 16 == 0) << offset;
    if (grid.ok()) continue;
    EXPECT_EQ(grid.error().text(),
              "operand b: an address that ends in " + std::to_string(offset % 16) +
                  " is not a multiple of 16 bytes, what this kernel loads or stores at once; memory that starts "
                  "at a multiple of 16 bytes, or a kernel of another alignment");
  }
}

}  // namespace
}  // namespace gemmsmith
