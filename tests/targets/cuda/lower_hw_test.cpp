// The PTX of hw operations: the text of each form, and that ptxas takes all of them.
#include <gtest/gtest.h>

#include "ir/hw.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "targets/cuda/cuda_target.h"
#include "targets/cuda/lower_hw.h"
#include "targets/hw_samples.h"

namespace gemmsmith {
namespace {

// "text | constraints" of the first assembly block, with "; side effects" if it has any.
std::string assembly_of(const std::string& lines) {
  IrContext context;
  const auto ir = gpu_kernel_text(hw_kernel(lines))(context);
  if (!ir.ok()) return ir.error().text();
  auto* const module = static_cast<mlir::Operation*>(ir->operation());
  lower_hw(module);
  std::string text;
  module->walk([&](mlir::LLVM::InlineAsmOp op) {
    if (!text.empty()) return;
    text =
        op.getAsmString().str() + " | " + op.getConstraints().str() + (op.getHasSideEffects() ? "; side effects" : "");
  });
  return text;
}

TEST(LowerHw, WgmmasOfABlock) {
  EXPECT_EQ(assembly_of(wgmma_sample({.instructions = 2, .k_steps = 2, .mn_major_b = true})),
            "{\n.reg .b64 da, db;\nwgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0,$1,$2,$3}, $18, $16, $17, 1, 1, 0, 1;\n"
            "add.s64 da, $18, 512;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$4,$5,$6,$7}, da, $16, $17, 1, 1, 0, 1;\n"
            "add.s64 db, $16, 2;\n"
            "add.s64 da, $18, 2;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0,$1,$2,$3}, da, db, 1, 1, 1, 0, 1;\n"
            "add.s64 da, $18, 514;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$4,$5,$6,$7}, da, db, 1, 1, 1, 0, 1;\n"
            "wgmma.commit_group.sync.aligned;\n} | "
            "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,l,b,l,~{memory}; side effects");
}

// From the fence to the commit, of one instruction.
std::string instruction_of(const WgmmaSample& sample) {
  const std::string text = assembly_of(wgmma_sample(sample));
  const size_t begin = text.find("wgmma.mma_async"), end = text.find('\n', begin);
  return text.substr(begin, end - begin);
}

TEST(LowerHw, WgmmaFormsOfTypes) {
  const std::string name = "wgmma.mma_async.sync.aligned.m64n8";
  EXPECT_EQ(instruction_of({.type = "f16", .mn_major_a = true}),
            name + "k16.f32.f16.f16 {$0,$1,$2,$3}, $10, $8, $9, 1, 1, 1, 0;");
  EXPECT_EQ(instruction_of({.type = "tf32"}), name + "k8.f32.tf32.tf32 {$0,$1,$2,$3}, $10, $8, $9, 1, 1;");
  EXPECT_EQ(instruction_of({.type = "e4m3"}), name + "k32.f32.e4m3.e4m3 {$0,$1,$2,$3}, $10, $8, $9, 1, 1;");
  EXPECT_EQ(instruction_of({.type = "e5m2"}), name + "k32.f32.e5m2.e5m2 {$0,$1,$2,$3}, $10, $8, $9, 1, 1;");
  EXPECT_EQ(instruction_of({.type = "s8"}), name + "k32.s32.s8.s8 {$0,$1,$2,$3}, $10, $8, $9;");
  EXPECT_EQ(instruction_of({.type = "u8"}), name + "k32.s32.u8.u8 {$0,$1,$2,$3}, $10, $8, $9;");
  EXPECT_EQ(instruction_of({.registers_a = true, .mn_major_b = true}),
            name + "k16.f32.bf16.bf16 {$0,$1,$2,$3}, {$10,$11,$12,$13}, $8, $9, 1, 1, 1;");
  EXPECT_EQ(instruction_of({.type = "s8", .registers_a = true}),
            name + "k32.s32.s8.s8 {$0,$1,$2,$3}, {$10,$11,$12,$13}, $8, $9;");
}

TEST(LowerHw, TheOthers) {
  const auto sample = [](const char* op, size_t i) { return assembly_of(hw_samples().at(op)[i]); };
  EXPECT_EQ(sample("hw.wgmma_wait", 0), "wgmma.wait_group.sync.aligned 1; | ~{memory}; side effects");
  EXPECT_EQ(
      sample("hw.mbarrier_wait", 0),
      "{\n.reg .pred done;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n@!done bra wait;\n} | "
      "l,r,~{memory}; side effects");
  EXPECT_EQ(sample("hw.mbarrier_wait", 1),
            "{\n.reg .pred done;\nwait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [$0], $1;\n"
            "@!done bra wait;\n} | l,r,~{memory}; side effects");
  EXPECT_EQ(sample("hw.mbarrier_arrive_remote", 0),
            "mbarrier.arrive.shared::cluster.b64 _, [$0]; | l,~{memory}; side effects")
      << "the default form: a scope of the cluster costs a fence of the whole GPU";
  EXPECT_EQ(sample("hw.mbarrier_arrive_remote", 1),
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0]; | l,~{memory}; side effects");
  EXPECT_EQ(
      sample("hw.flag_wait", 1),
      "{\n.reg .pred other;\n.reg .b32 now;\nwait:\nld.acquire.gpu.global.b32 now, [$0];\nsetp.ne.b32 other, now, $1;\n"
      "@other bra wait;\n} | l,r,~{memory}; side effects");
  EXPECT_EQ(
      sample("hw.store_async", 1),
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2]; | l,f,l,~{memory}; side effects");
  EXPECT_EQ(sample("hw.load_global", 0), "ld.global.nc.b32 $0, [$1]; | =r,l,~{memory}");
  EXPECT_EQ(
      sample("hw.load_global", 2),
      "{\n.reg .b64 policy;\ncreatepolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
      "ld.global.nc.L1::evict_last.L2::cache_hint.v4.b32 {$0,$1,$2,$3}, [$4], policy;\n} | =r,=r,=r,=r,l,~{memory}");
  EXPECT_EQ(sample("hw.tanh", 0), "tanh.approx.f32 $0, $1; | =f,f");
  EXPECT_EQ(sample("hw.exp2", 0), "ex2.approx.f32 $0, $1; | =f,f");
}

class Ptxas : public testing::Test {
 protected:
  void SetUp() override {
    auto target = make_cuda_target({.assembler = AssemblerKind::ptxas});
    if (!target.ok()) GTEST_SKIP() << "skipped: " << target.error().text();
    target_ = std::move(*target);
  }
  void expect_accepted(const std::string& lines) {
    const auto kernel = target_->compile(gpu_kernel_text(hw_kernel(lines)), {.verify = true, .report_only = true});
    EXPECT_TRUE(kernel.ok()) << kernel.error().text() << "\n" << lines;
  }
  std::unique_ptr<Target> target_;
};

TEST_F(Ptxas, TakesEverySample) {
  for (const auto& [name, samples] : hw_samples())
    for (const std::string& lines : samples) expect_accepted(lines);
}

TEST_F(Ptxas, TakesEveryNOfEveryType) {
  for (const char* type : {"bf16", "tf32", "e4m3", "s8"})
    for (int n = 8; n <= 256; n += 8) {
      if (std::string(type) == "s8" && n > 24 && n % 16 != 0) continue;
      // The forms are the same: every n of every type would take a minute.
      if (std::string(type) == "bf16" ? n > 64 && n % 64 != 0 : n != 8 && n != 24 && n != 64 && n != 256) continue;
      expect_accepted(wgmma_sample({.type = type, .n = n, .k_steps = 2}));
      expect_accepted(wgmma_sample({.type = type, .n = n, .registers_a = true}));
    }
}

}  // namespace
}  // namespace gemmsmith
