// Logs of ptxas 13.0.88, recorded by assembling a kernel as it is, without its fence, for linking, and at -O0.
#include "targets/cuda/resources.h"

#include <gtest/gtest.h>

namespace gemmsmith {
namespace {

constexpr const char* kPtx = R"(.version 8.1
.visible .entry gemm_warp_specialized()
{
  .loc  1 43 0
  mov.b64   %rd5, p;
  .loc  2 39 43
  wgmma.mma_async;
  .loc  2 0 0
  ret;
}
  .file  1 "src/templates/templates.cpp"
  .file  2 "../../src/templates/gemm_warp_specialized.cpp"
)";

constexpr const char* kClean =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'gemm_warp_specialized' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm_warp_specialized\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 16 barriers\n"
    "ptxas info    : Compile time = 303.396 ms\n";

constexpr const char* kWithoutOptimization =
    "ptxas info    : (C7517) warpgroup.wait is injected in around line 7 by compiler to allow use of registers defined "
    "by "
    "GMMA in function 'gemm_warp_specialized'\n"
    "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    "insufficient "
    "register resources for the wgmma pipeline in the function 'gemm_warp_specialized'\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'gemm_warp_specialized' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm_warp_specialized\n"
    "    48 bytes stack frame, 52 bytes spill stores, 120 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 16 barriers, 48 bytes cumulative stack size, 1024 bytes smem, 560 bytes "
    "cmem[0]\n"
    "ptxas info    : Compile time = 393.509 ms\n";

KernelSignature signature(int threads) {
  KernelSignature s;
  s.gpu.threads = threads;
  s.gpu.cluster = 2;
  s.gpu.shared_bytes = 180272;
  s.tensor_maps.resize(3);
  return s;
}

TEST(Resources, OfACleanKernel) {
  KernelResources r = parse_resources(kClean, kPtx);
  r.assembler = "ptxas 13.0.88";
  EXPECT_EQ(r, (KernelResources{.assembler = "ptxas 13.0.88", .registers = 168, .barriers = 16}));
  EXPECT_TRUE(check_resources(r, signature(384)).ok());
  EXPECT_EQ(print_resources(r, signature(384)),
            "assembler             ptxas 13.0.88\n"
            "registers             168 a thread at the entry, 64512 a CTA\n"
            "threads               384 a CTA, 2 CTAs a cluster\n"
            "shared memory         180272 bytes dynamic, 0 static\n"
            "spills                0 bytes of stores, 0 bytes of loads\n"
            "stack                 0 bytes\n"
            "named barriers        16\n"
            "tensor maps           3\n"
            "warnings              none\n");
  EXPECT_EQ(
      check_resources(r, signature(512)).error().text(),
      "ptxas 13.0.88: the kernel needs 168 registers in each of 512 threads, more than the 65536 of an SM; a smaller "
      "tile, or fewer sums for each consumer");
}

TEST(Resources, OfAKernelThatSpillsAndSerializes) {
  KernelResources r = parse_resources(kWithoutOptimization, kPtx);
  r.assembler = "ptxas 13.0.88";
  EXPECT_EQ(r.spill_store_bytes, 52);
  EXPECT_EQ(r.spill_load_bytes, 120);
  EXPECT_EQ(r.stack_bytes, 48);
  EXPECT_EQ(r.static_shared_bytes, 1024);
  EXPECT_EQ(r.constant_bytes, 560);
  ASSERT_EQ(r.warnings.size(), 2u);
  EXPECT_EQ(r.warnings[0].code, "C7517");
  EXPECT_EQ(r.warnings[0].where, "gemm_warp_specialized.cpp:39");
  EXPECT_EQ(r.warnings[1].code, "C7511");
  EXPECT_EQ(r.warnings[1].where, "");
  EXPECT_EQ(
      check_resources(r, signature(384)).error().text(),
      "ptxas 13.0.88: the kernel spills registers: 52 bytes of stores and 120 of loads, and is slowed down by its "
      "assembler: sums are used without a wait: the assembler has put one where it saw fit; a smaller tile, or fewer "
      "sums for each consumer\n"
      "  C7517: warpgroup.wait is injected in around line 7 by compiler to allow use of registers defined by GMMA in "
      "function 'gemm_warp_specialized' [gemm_warp_specialized.cpp:39]\n"
      "  C7511: Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register "
      "resources for the wgmma pipeline in the function 'gemm_warp_specialized'");
}

// Sentences of ptxas 13.0.
TEST(Resources, EveryWarningHasAMeaning) {
  const std::string loss = "Potential Performance Loss: ";
  const std::string serialized = loss + "wgmma.mma_async instructions are serialized due to ";
  const std::vector<std::string> sentences = {
      loss + "'setmaxnreg' ignored to allow debugging.",
      loss + "'setmaxnreg' ignored to maintain compatibility across compilation units.",
      loss + "'setmaxnreg' ignored; unable to determine register count at entry.",
      loss + "'setmaxnreg' ignored to maintain compatibility into 'extern' call.",
      loss + "'setmaxnreg' ignored to maintain minimum register requirements.",
      "setmaxnreg.dec has register count (240) which is larger than the largest temporal register count in the program "
      "(168)",
      serialized + "the presence of Extern calls in the function 'f'",
      serialized + "wgmma pipeline crossing function boundary at a function call in the function 'f'",
      serialized + "insufficient register resources for the wgmma pipeline in the function 'f'",
      serialized + "insufficient register resources for the function 'f'",
      serialized +
          "non wgmma instructions defining input registers of a wgmma between start and end of the pipeline stage",
      serialized + "non wgmma instructions reading accumulator registers of  a wgmma between start and end",
      serialized + "non wgmma instructions defining accumulator registers of a wgmma between start and end",
      serialized + "ill formed pipeline stage in the function 'f'",
      serialized + "program dependence on compiler-inserted WG.DP in divergent path in the function 'f'",
      "warpgroup.arrive is injected in around line 212 by compiler to allow use of registers in GMMA in function 'f'"};
  for (const std::string& sentence : sentences) {
    const KernelResources r = parse_resources("ptxas info    : (C7500) " + sentence + "\n", "");
    ASSERT_EQ(r.warnings.size(), 1u) << sentence;
    EXPECT_EQ(r.warnings[0].text, sentence);
    EXPECT_NE(r.warnings[0].meaning, "") << sentence;
    EXPECT_FALSE(check_resources(r, signature(384)).ok());
  }
}

TEST(Resources, OtherRemarksAreNoWarnings) {
  EXPECT_EQ(parse_resources("", ""), KernelResources{});
  EXPECT_TRUE(parse_resources("ptxas info    : (Cannot) say\nptxas info    : Overriding global maxrregcount 64 with "
                              "entry-specific value 168 computed using thread count\n",
                              "")
                  .warnings.empty());
}

TEST(Resources, LinesOfPtxAreLinesOfTemplates) {
  EXPECT_EQ(source_of_ptx_line(kPtx, 3), "");
  EXPECT_EQ(source_of_ptx_line(kPtx, 5), "templates.cpp:43");
  EXPECT_EQ(source_of_ptx_line(kPtx, 7), "gemm_warp_specialized.cpp:39");
  EXPECT_EQ(source_of_ptx_line(kPtx, 9), "gemm_warp_specialized.cpp:39") << "line 0 is no line";
  EXPECT_EQ(source_of_ptx_line("", 9), "");
}

}  // namespace
}  // namespace gemmsmith
