#include "compiler/fatal_errors.h"

#include <gtest/gtest.h>

#include <thread>

#include "compiler/kernel_text.h"
#include "llvm/Support/ErrorHandling.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

TEST(FatalErrors, BecomeTheirMessage) {
  EXPECT_EQ(fatal_error_of([] {}), std::nullopt);
  EXPECT_EQ(fatal_error_of([] { llvm::report_fatal_error("cannot do it", /*gen_crash_diag=*/true); }), "cannot do it");
  EXPECT_EQ(fatal_error_of([] { llvm::report_fatal_error("nor that", /*gen_crash_diag=*/false); }), "nor that");
  EXPECT_EQ(fatal_error_of([] {}), std::nullopt) << "and it goes on";
}

TEST(FatalErrors, GoToTheInnermostOfTheirThread) {
  std::optional<std::string> inner;
  const auto outer = fatal_error_of([&] {
    inner = fatal_error_of([] { llvm::report_fatal_error("inner"); });
    llvm::report_fatal_error("outer");
  });
  EXPECT_EQ(inner, "inner");
  EXPECT_EQ(outer, "outer");
  std::vector<std::optional<std::string>> said(4);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < said.size(); ++t)
      threads.emplace_back([&said, t] {
        for (int i = 0; i < 200; ++i)
          said[t] = fatal_error_of([t] { llvm::report_fatal_error(("thread " + std::to_string(t)).c_str()); });
      });
  }
  for (size_t t = 0; t < said.size(); ++t) EXPECT_EQ(said[t], "thread " + std::to_string(t));
}

TEST(FatalErrorsDeathTest, EndTheProcessWhereNobodyAsked) {
  EXPECT_EQ(fatal_error_of([] {}), std::nullopt);  // the handler is set
  EXPECT_DEATH(llvm::report_fatal_error("nobody asked"), "LLVM ERROR: nobody asked");
}

// An operation of another machine: the code generator cannot select anything for it.
std::string kernel_that_cannot_be_selected() {
  return R"(llvm.func @kernel(%arguments: !llvm.ptr) {
  %id = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  llvm.store %id, %arguments : i32, !llvm.ptr
  llvm.return
})";
}

TEST(FatalErrors, OfTheCodeGeneratorAreErrorsOfOneCompile) {
  const auto target = make_cpu_target({.threads = 1, .measure_peaks = false, .features_limit = {}});
  ASSERT_TRUE(target.ok());
  const std::string good = map_kernel(16, "f32", "f32", "%y = arith.addf %x, %x : vector<16xf32>");
  for (const bool keep_stages : {false, true})
    for (int round = 0; round < 3; ++round) {
      const auto failed = (*target)->compile(kernel_text(kernel_that_cannot_be_selected()),
                                             {.verify = false, .keep_stages = keep_stages});
      ASSERT_FALSE(failed.ok());
      EXPECT_NE(failed.error().text().find("compiler: LLVM's code generator gave up: "), std::string::npos)
          << failed.error().text();
      EXPECT_NE(failed.error().text().find("annot select"), std::string::npos) << failed.error().text();
      EXPECT_NE(failed.error().text().find("\n  while compiling kernel for the CPU"), std::string::npos);
      const auto next = (*target)->compile(kernel_text(good));
      ASSERT_TRUE(next.ok()) << next.error().text();
      EXPECT_TRUE((*target)->load(*next).ok());
    }
}

}  // namespace
}  // namespace gemmsmith
