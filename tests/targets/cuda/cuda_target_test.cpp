#include "targets/cuda/cuda_target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/dynamic_library.h"
#include "targets/cuda/arch.h"
#include "targets/hw_samples.h"

namespace gemmsmith {
namespace {

TEST(CudaTarget, UnknownArchitecturesAreNamedWithTheKnown) {
  EXPECT_EQ(gpu_arch("sm_90").error().text(),
            "arch: \"sm_90\" is not an architecture that kernels are compiled for; did you mean sm_90a?; known: sm_80, "
            "sm_89, sm_90a, sm_100a");
  EXPECT_EQ(make_cuda_target({.arch = "avx2"}).error().text(),
            "arch: \"avx2\" is not an architecture that kernels are compiled for; known: sm_80, sm_89, sm_90a, sm_100a");
}

TEST(CudaTarget, FactsOfAnArchitectureAreNominal) {
  for (const std::string& name : gpu_arch_names()) {
    const DeviceFacts facts = describe_arch(name).value();
    EXPECT_EQ(facts.kind, name);
    EXPECT_TRUE(facts.model.ends_with("(nominal)")) << facts.model;
    EXPECT_TRUE(std::is_sorted(facts.features.begin(), facts.features.end()));
    EXPECT_GT(facts.cores, 0);
    EXPECT_GT(facts.last_level_bytes, 0);
    EXPECT_GT(facts.peak_bf16_gflops, facts.peak_f32_gflops);
    EXPECT_GT(facts.read_gbytes_per_s, 0);
  }
}

TEST(CudaTarget, LoadsNothingAndSaysWhy) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::driver}).value();
  const auto kernel = target->compile(gpu_kernel_text(hw_kernel(""))).value();
  const auto loaded = target->load(kernel);
  ASSERT_FALSE(loaded.ok());
  const std::vector<std::string> names = {"libcuda.so.1"};
  const bool driver = DynamicLibrary::open(names).ok();
  EXPECT_EQ(loaded.error().text().substr(0, loaded.error().text().find('\n')),
            driver ? "device sm_90a: kernel kernel cannot be loaded: launching on a GPU is not there yet; the simulator: "
                     "sim:sm_90a"
                   : "device sm_90a: kernel kernel cannot be loaded: no CUDA device, libcuda.so.1 could not be opened; the "
                     "simulator: sim:sm_90a");
}

// What LLVM cannot select ends one compile and nothing else.
TEST(CudaTarget, FatalErrorsOfTheCodeGeneratorAreErrorsOfOneCompile) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::driver}).value();
  const std::string wrong = hw_kernel("  %x = llvm.call_intrinsic \"llvm.x86.rdtsc\"() : () -> i64\n"
                                      "  llvm.store volatile %x, %global : i64, !llvm.ptr<1>\n");
  for (int round = 0; round < 3; ++round) {
    const auto failed = target->compile(gpu_kernel_text(wrong));
    ASSERT_FALSE(failed.ok());
    EXPECT_TRUE(failed.error().text().starts_with("compiler: LLVM's code generator for PTX gave up: "))
        << failed.error().text();
    EXPECT_TRUE(failed.error().text().ends_with("\n  while compiling kernel for sm_90a")) << failed.error().text();
    EXPECT_TRUE(target->compile(gpu_kernel_text(hw_kernel(""))).ok());
  }
}

TEST(CudaTarget, OperationsThatNothingLowersAreNamed) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::driver}).value();
  const auto failed = target->compile(gpu_kernel_text(hw_kernel("  %v = vector.step : vector<4xindex>\n")));
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(failed.error().text().starts_with("kernel.mlir:")) << failed.error().text();
}

// A small kernel from its hw operation to PTX, whole.
TEST(CudaTarget, TheWholePtxOfASmallKernel) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::driver}).value();
  const auto kernel = target->compile(gpu_kernel_text(hw_kernel(hw_samples().at("hw.tanh")[0]))).value();
  EXPECT_EQ(kernel.object, "");
}

}  // namespace
}  // namespace gemmsmith
