#include "targets/hw_samples.h"

#include "compiler/diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace gemmsmith {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? ", " : "") + text;
  return out;
}

bool is_integer(const std::string& type) { return type == "s8" || type == "u8"; }

std::string steps(int count, int bytes) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? ", " : "") + std::to_string(i * bytes);
  return "array<i64: " + out + ">";
}

}  // namespace

// The sums that come out are waited for and stored, so that nothing of it is dead.
std::string wgmma_sample(const WgmmaSample& s) {
  const std::string sum = is_integer(s.type) ? "i32" : "f32", value = is_integer(s.type) ? "%i32" : "%f32";
  const int sums = s.instructions * s.n / 2, registers = s.registers_a ? 4 * s.k_steps * s.instructions : 0;
  const auto text = [](bool b) { return std::string(b ? "true" : "false"); };
  std::string operands = repeated(value, sums), types = repeated(sum, sums);
  operands += s.registers_a ? ", " + repeated("%i32", registers) : ", %descriptor_a";
  types += s.registers_a ? ", " + repeated("i32", registers) : ", i64";
  std::string out = "  %sums:" + std::to_string(sums) + " = \"hw.wgmma_block\"(" + operands +
                    ", %descriptor_b, %i1) <{a_k_steps = " + steps(s.k_steps, 32) +
                    ", a_mn_steps = " + steps(s.instructions, 8192) + ", b_k_steps = " + steps(s.k_steps, 32) +
                    ", mn_major_a = " + text(s.mn_major_a) + ", mn_major_b = " + text(s.mn_major_b) +
                    ", n = " + std::to_string(s.n) +
                    " : i32, operandSegmentSizes = array<i32: " + std::to_string(sums) +
                    (s.registers_a ? ", 0, " + std::to_string(registers) : std::string(", 1, 0")) +
                    ", 1, 1>, type_a = #hw<mma_type " + s.type + ">, type_b = #hw<mma_type " + s.type + ">}> : (" +
                    types + ", i64, i1) -> (" + repeated(sum, sums) + ")\n";
  std::string results;
  for (int i = 0; i < sums; ++i) results += (i ? ", %sums#" : "%sums#") + std::to_string(i);
  out += "  %done:" + std::to_string(sums) + " = \"hw.wgmma_wait\"(" + results + ") <{pending = 0 : i32}> : (" +
         repeated(sum, sums) + ") -> (" + repeated(sum, sums) + ")\n";
  for (int i = 0; i < sums; ++i)
    out += "  llvm.store volatile %done#" + std::to_string(i) + ", %global : " + sum + ", !llvm.ptr<1>\n";
  return out;
}

const std::map<std::string, std::vector<std::string>>& hw_samples() {
  static const auto scoped = [](const char* op, const char* operands, const char* types) {
    std::vector<std::string> out;
    for (const char* scope : {"cta", "cluster"})
      out.push_back("  \"" + std::string(op) + "\"(" + operands + ") <{scope = #hw<scope " + scope + ">}> : (" + types +
                    ") -> ()\n");
    return out;
  };
  static const auto load = [](int words, const char* hint) {
    std::string out = "  %words:" + std::to_string(words) + " = \"hw.load_global\"(%global) <{hint = #hw<cache_hint " +
                      hint + ">}> : (!llvm.ptr<1>) -> (" + repeated("i32", words) + ")\n";
    for (int i = 0; i < words; ++i)
      out += "  llvm.store volatile %words#" + std::to_string(i) + ", %shared : i32, !llvm.ptr<3>\n";
    return out;
  };
  static const auto store_async = [](const char* type) {
    return "  \"hw.store_async\"(%" + std::string(type) + ", %cluster, %other) : (" + type +
           ", !llvm.ptr<7>, !llvm.ptr<7>) -> ()\n";
  };
  static const auto approximate = [](const char* op) {
    return "  %y = \"" + std::string(op) +
           "\"(%f32) : (f32) -> f32\n  llvm.store volatile %y, %global : f32, !llvm.ptr<1>\n";
  };
  static const std::map<std::string, std::vector<std::string>> samples = {
      {"hw.wgmma_block",
       {wgmma_sample({}), wgmma_sample({.type = "f16", .mn_major_a = true, .mn_major_b = true}),
        wgmma_sample({.type = "tf32"}), wgmma_sample({.type = "e4m3"}), wgmma_sample({.type = "e5m2"}),
        wgmma_sample({.type = "s8"}), wgmma_sample({.type = "u8"}), wgmma_sample({.instructions = 2, .k_steps = 2}),
        wgmma_sample({.registers_a = true, .mn_major_b = true})}},
      {"hw.wgmma_wait", {"  \"hw.wgmma_wait\"() <{pending = 1 : i32}> : () -> ()\n"}},
      {"hw.mbarrier_wait", scoped("hw.mbarrier_wait", "%shared, %i32", "!llvm.ptr<3>, i32")},
      {"hw.mbarrier_arrive_remote", scoped("hw.mbarrier_arrive_remote", "%cluster", "!llvm.ptr<7>")},
      {"hw.store_async", {store_async("i32"), store_async("f32"), store_async("i64")}},
      {"hw.load_global", {load(1, "normal"), load(2, "evict_first"), load(4, "evict_last")}},
      {"hw.tanh", {approximate("hw.tanh")}},
      {"hw.exp2", {approximate("hw.exp2")}},
  };
  return samples;
}

std::string hw_kernel(const std::string& lines) {
  return R"(llvm.mlir.global external @gs_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%global: !llvm.ptr<1>, %i64: i64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %shared = llvm.mlir.addressof @gs_shared : !llvm.ptr<3>
  %cluster = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr<7>
  %other = llvm.getelementptr %cluster[64] : (!llvm.ptr<7>) -> !llvm.ptr<7>, i8
  %i32 = arith.trunci %i64 : i64 to i32
  %f32 = arith.sitofp %i32 : i32 to f32
  %zero = arith.constant 0 : i64
  %i1 = arith.cmpi ne, %i64, %zero : i64
  %descriptor_a = arith.addi %i64, %zero : i64
  %descriptor_b = arith.addi %i64, %i64 : i64
)" + lines +
         "  llvm.return\n}\n";
}

std::function<Result<KernelIr>(IrContext&)> gpu_kernel_text(const std::string& text) {
  return [=](IrContext& context) -> Result<KernelIr> {
    const DiagnosticCollector diagnostics(context.mlir());
    const mlir::ParserConfig config(&context.mlir());
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "kernel.mlir");
    if (!module) return diagnostics.error("the text", "is no MLIR");
    KernelSignature signature;
    signature.arguments = {{KernelArgument::Kind::pointer, "a"}, {KernelArgument::Kind::extent, "m"}};
    signature.gpu.threads = 128;
    signature.gpu.shared_bytes = 65536;
    return KernelIr(module.release().getOperation(), "kernel", signature);
  };
}

}  // namespace gemmsmith
