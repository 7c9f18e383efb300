// Who may touch the results of a wgmma, and when: whole texts, on small modules.
#include "ir/check_accumulators.h"

#include <gtest/gtest.h>

#include "ir/kernel_ir.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace gemmsmith::test {
namespace {

// One wgmma of n = 8, which has four sums. `name` is the result, `from` are the sums before.
std::string block(const std::string& name, const std::string& from, const std::string& line) {
  return name + R"(:4 = "hw.wgmma_block"()" + from +
         R"(, %da, %db, %on) <{n = 8 : i32, type_a = #hw<mma_type bf16>, type_b = #hw<mma_type bf16>, mn_major_a = false,
         mn_major_b = false, a_mn_steps = array<i64: 0>, a_k_steps = array<i64: 0>, b_k_steps = array<i64: 0>,
         operandSegmentSizes = array<i32: 4, 1, 0, 1, 1>}> : (f32, f32, f32, f32, i64, i64, i1) -> (f32, f32, f32, f32) loc("gemm.cpp":)" +
         line + ":1)\n";
}
std::string wait(const std::string& name, const std::string& sums, int pending = 0) {
  return name + R"(:4 = "hw.wgmma_wait"()" + sums + ") <{pending = " + std::to_string(pending) +
         " : i32}> : (f32, f32, f32, f32) -> (f32, f32, f32, f32)\n";
}
std::string four(const std::string& name) { return name + "#0, " + name + "#1, " + name + "#2, " + name + "#3"; }
std::string read(const std::string& value, const std::string& line) {
  return "%" + line + " = arith.addf " + value + ", %x : f32 loc(\"store\"(\"gemm.cpp\":" + line + ":1))\n";
}

// What is said about the body of a kernel with one sum %x, descriptors %da and %db, flags %on and numbers %i and %j.
std::string verdict(const std::string& body) {
  IrContext context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "llvm.func @kernel(%x: f32, %da: i64, %db: i64, %on: i1, %i: i32, %j: i32) {\n" + body + "llvm.return\n}\n",
      &context.mlir());
  if (!module) return "does not parse";
  const Status status = check_accumulators(*module);
  return status.ok() ? "fine" : status.error().text();
}
std::string early(const std::string& line, const std::string& reader = "store", const std::string& writer = "7") {
  return "gemm.cpp:" + line + ": a sum that " + reader +
         " reads may still be written by the wgmma of hw.wgmma_block at gemm.cpp:" + writer +
         "; an hw.wgmma_wait in between, and the values that it gives";
}

const std::string kBlock = block("%s", "%x, %x, %x, %x", "7");

TEST(CheckAccumulators, BlocksAndWaitsMayTakeThem) {
  EXPECT_EQ(verdict(""), "fine");
  EXPECT_EQ(verdict(kBlock), "fine");
  EXPECT_EQ(verdict(kBlock + block("%t", four("%s"), "8") + wait("%w", four("%t")) + read("%w#3", "9")), "fine");
}

TEST(CheckAccumulators, WhatElseReadsThemIsNamed) {
  EXPECT_EQ(verdict(kBlock + read("%s#2", "9")), early("9"));
  // The handle of before the wait is still what the tensor core wrote into: only what the wait gives is tied to it.
  EXPECT_EQ(verdict(kBlock + wait("%w", four("%s")) + read("%s#0", "9")), early("9"));
  EXPECT_EQ(verdict(kBlock + block("%t", four("%s"), "8") + read("%t#1", "9")), early("9", "store", "8"));
}

TEST(CheckAccumulators, AWaitThatLetsGroupsBePendingGivesNothing) {
  EXPECT_EQ(verdict(kBlock + wait("%w", four("%s"), 1) + read("%w#0", "9")), early("9"));
  EXPECT_EQ(verdict(kBlock + wait("%w", four("%s"), 1) + wait("%v", four("%w")) + read("%v#0", "9")), "fine");
}

TEST(CheckAccumulators, LoopsAndBranchesCarryThem) {
  const auto loop = [](const std::string& body) {
    return "%l:4 = scf.for %n = %i to %j step %i iter_args(%p = %x, %q = %x, %r = %x, %u = %x) -> (f32, f32, f32, f32) "
           ": i32 {\n" +
           body + "scf.yield " + four("%s") + " : f32, f32, f32, f32\n}\n";
  };
  const std::string inside = block("%s", "%p, %q, %r, %u", "7");
  EXPECT_EQ(verdict(loop(inside) + wait("%w", four("%l")) + read("%w#0", "9")), "fine");
  EXPECT_EQ(verdict(loop(inside) + read("%l#1", "9")), early("9"));
  EXPECT_EQ(verdict(loop(read("%q", "6") + inside)), early("6"));  // of the pass before
  EXPECT_EQ(verdict(loop(inside + read("%s#0", "8"))), early("8"));

  const auto branch = [](const std::string& after) {
    return "%l:4 = scf.if %on -> (f32, f32, f32, f32) {\n" + kBlock + "scf.yield " + four("%s") +
           " : f32, f32, f32, f32\n} else {\nscf.yield %x, %x, %x, %x : f32, f32, f32, f32\n}\n" + after;
  };
  EXPECT_EQ(verdict(branch(wait("%w", four("%l")) + read("%w#0", "9"))), "fine");
  EXPECT_EQ(verdict(branch(read("%l#0", "9"))), early("9"));
}

TEST(CheckAccumulators, TheFirstReaderOfTheKernelIsNamed) {
  const std::string reads = read("%s#3", "8") + read("%s#0", "9");
  EXPECT_EQ(verdict(kBlock + reads), early("8"));
  EXPECT_EQ(verdict(kBlock + read("%s#0", "8") + read("%s#3", "9")), early("8"));
}

}  // namespace
}  // namespace gemmsmith::test
