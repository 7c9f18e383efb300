#include "targets/cuda/assembler.h"

#include <gtest/gtest.h>

#include "targets/cuda/cuda_target.h"
#include "targets/hw_samples.h"

namespace gemmsmith {
namespace {

constexpr const char* kPtx = R"(.version 8.1
.target sm_90a
.address_size 64

.extern .shared .align 1024 .b8 gs_shared[];

.visible .entry kernel(
  .param .align 64 .b8 kernel_param_0[128],
  .param .u64 kernel_param_1
)
.reqntid 256, 1, 1
.explicitcluster
.reqnctapercluster 4, 1, 1
{
  .reg .b64   %rd<2>;
  .loc  1 43 0
  ld.param.b64   %rd1, [kernel_param_1];
  ret;
$L__func_end0:
}
  .file  1 "a.cpp"
)";

TEST(Assembler, NvrtcIsGivenTheBodyAsOneBlock) {
  KernelSignature signature;
  signature.tensor_maps.resize(1);
  signature.arguments.resize(1);
  signature.gpu.threads = 256;
  signature.gpu.cluster = 4;
  EXPECT_EQ(nvrtc_source(kPtx, "kernel", signature),
            "struct alignas(64) TensorMap { unsigned long long words[16]; };\n"
            "extern __shared__ __align__(1024) unsigned char gs_shared[];\n"
            "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(256, 1) kernel("
            "const __grid_constant__ TensorMap map0, unsigned long long word0) {\n"
            "asm volatile(R\"PTX({\n"
            "  .reg .b64   %%rd<2>;\n"
            "  ld.param.b64   %%rd1, [kernel_param_1];\n"
            "  ret;\n"
            "$L__func_end0:\n"
            "}\n"
            ")PTX\" :: \"l\"(gs_shared) : \"memory\");\n"
            "}\n");
}

TEST(Assembler, TheDriverIsLeftOverWhereNothingIsFound) {
  const ToolkitPaths nowhere{{"/nonexistent"}, {"/nonexistent"}};
  const auto found = find_assembler(AssemblerKind::automatic, nowhere).value();
  EXPECT_EQ(found->name(), "driver");
  ASSERT_EQ(found->passed_over().size(), 2u);
  EXPECT_EQ(found->passed_over()[0].text(), "ptxas: the program is not there\n  looked for in /nonexistent");
  EXPECT_TRUE(found->passed_over()[1].text().starts_with("/nonexistent/libnvrtc.so.13: cannot be opened"))
      << found->passed_over()[1].text();
  EXPECT_TRUE(found->assemble("", "kernel", {}, "sm_90a").value().cubin.empty());
  EXPECT_EQ(find_assembler(AssemblerKind::ptxas, nowhere).error().text(),
            "ptxas: the program is not there\n  looked for in /nonexistent");
  EXPECT_EQ(disassemble("", nowhere).error().text(),
            "disassembler: nvdisasm or cuobjdump is not there: they come with a CUDA toolkit; add it to PATH\n"
            "  looked for in /nonexistent");
  EXPECT_EQ(assembler_named("ptas").error().text(),
            "assembler: \"ptas\" is not an assembler; known: ptxas, nvrtc, driver");
}

// Without a toolkit the object is the PTX, and what else there is not says why.
TEST(Assembler, WithoutOneTheObjectIsPtx) {
  const auto target = make_cuda_target({.arch = "sm_90a", .paths = {{"/nonexistent"}, {"/nonexistent"}}}).value();
  EXPECT_EQ(target->code_id(), "cuda sm_90a ptx81 driver");
  const auto kernel = target->compile(gpu_kernel_text(hw_kernel("")), {.keep_stages = true}).value();
  EXPECT_FALSE(is_cubin(kernel.object));
  EXPECT_EQ(kernel.object, kernel.stages.at("ptx"));
  EXPECT_FALSE(kernel.resources);
  for (const char* stage : {"resources", "cubin", "sass"})
    EXPECT_TRUE(kernel.absent_stages.at(stage).text().starts_with(
        "assembler: the PTX is left to the driver, which assembles it when it loads the kernel\n"
        "  ptxas: the program is not there\n  looked for in /nonexistent\n  /nonexistent/libnvrtc.so.13: "))
        << kernel.absent_stages.at(stage).text();
}

class EachAssembler : public testing::TestWithParam<AssemblerKind> {
 protected:
  void SetUp() override {
    auto found = find_assembler(GetParam(), toolkit_paths());
    if (!found.ok()) GTEST_SKIP() << "skipped: " << found.error().text();
    assembler_ = std::move(*found);
  }
  std::unique_ptr<Assembler> assembler_;
};

TEST_P(EachAssembler, MakesCubinsWithResources) {
  const auto target = make_cuda_target({.assembler = GetParam()}).value();
  const std::string lines = wgmma_sample({.n = 128, .k_steps = 4});
  const auto kernel = target->compile(gpu_kernel_text(hw_kernel(lines)), {.report_only = true});
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_TRUE(is_cubin(kernel->object));
  ASSERT_TRUE(kernel->resources);
  EXPECT_EQ(kernel->resources->assembler, assembler_->name());
  EXPECT_GE(kernel->resources->registers, 64) << "the sums alone are as many";
  EXPECT_EQ(kernel->resources->spill_store_bytes, 0);
}

TEST_P(EachAssembler, RefusesWhatIsNoPtx) {
  KernelSignature signature;
  signature.gpu.threads = 128;
  const std::string wrong =
      ".version 8.1\n.target sm_90a\n.address_size 64\n.visible .entry kernel()\n{\n\tfrobnicate;\n}\n";
  const auto refused = assembler_->assemble(wrong, "kernel", signature, "sm_90a");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().text().starts_with(assembler_->name() + ": the PTX of kernel is refused\n  "))
      << refused.error().text();
  EXPECT_NE(refused.error().text().find("frobnicate"), std::string::npos) << refused.error().text();
}

INSTANTIATE_TEST_SUITE_P(Assemblers, EachAssembler, testing::Values(AssemblerKind::ptxas, AssemblerKind::nvrtc),
                         [](const auto& info) { return info.param == AssemblerKind::ptxas ? "ptxas" : "nvrtc"; });

}  // namespace
}  // namespace gemmsmith
