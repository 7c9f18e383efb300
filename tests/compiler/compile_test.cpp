// From MLIR text to running code: results, errors, threads, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "compiler/kernel_text.h"
#include "support/file.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

std::unique_ptr<Target> make_target(const std::string& features_limit = {}, int threads = 2) {
  auto target = make_cpu_target({.threads = threads, .measure_peaks = false, .features_limit = features_limit});
  GS_ASSERT(target.ok(), "these tests need a CPU that the target covers");
  return std::move(*target);
}

// kernel(word): *arguments[0] = `value`.
std::string constant_kernel(int64_t value) {
  return concat(R"(llvm.func @kernel(%arguments: !llvm.ptr) {
  %out = llvm.load %arguments : !llvm.ptr -> !llvm.ptr
  %value = arith.constant )",
                value, R"( : i64
  llvm.store %value, %out : i64, !llvm.ptr
  llvm.return
})");
}

int64_t run_constant(LoadedKernel& kernel) {
  int64_t result = 0, argument = reinterpret_cast<int64_t>(&result);
  EXPECT_TRUE(kernel.launch(&argument).ok());
  return result;
}

TEST(Compile, ReportsItsStagesAndTheirTimes) {
  const auto target = make_target();
  const std::string body = "%y = arith.addf %x, %x : vector<16xf32>";
  const auto kernel =
      target->compile(kernel_text(map_kernel(16, "f32", "f32", body)), {.verify = true, .keep_stages = true});
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ(kernel->name, "kernel");
  EXPECT_NE(kernel->stages.at("mlir").find("scf.for"), std::string::npos);
  EXPECT_NE(kernel->stages.at("llvm").find("fadd <16 x float>"), std::string::npos);
  EXPECT_NE(kernel->stages.at("asm").find("vaddps"), std::string::npos);
  for (double ms : {kernel->ms.stage, kernel->ms.passes, kernel->ms.translate, kernel->ms.optimize, kernel->ms.codegen})
    EXPECT_GT(ms, 0);

  const auto without = target->compile(kernel_text(map_kernel(16, "f32", "f32", body)));
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(without->stages.empty());
  EXPECT_EQ(without->object, kernel->object) << "keeping stages changes the code";
}

TEST(Compile, UsesTheWidthOfTheTargetAndNoMore) {
  const std::string text = map_kernel(16, "f32", "f32", "%y = arith.addf %x, %x : vector<16xf32>");
  auto assembly = [&](const std::string& limit) {
    const auto target = make_target(limit);
    const auto kernel = target->compile(kernel_text(text), {.verify = false, .keep_stages = true});
    return kernel.ok() ? kernel->stages.at("asm") : kernel.error().text();
  };
  EXPECT_NE(assembly("avx2").find("ymm"), std::string::npos);
  EXPECT_EQ(assembly("avx2").find("zmm"), std::string::npos);
  if (make_target()->facts().vector_bytes < 64) GTEST_SKIP() << "no AVX-512 here";
  EXPECT_NE(assembly("").find("zmm"), std::string::npos);
  EXPECT_NE(assembly("avx512").find("zmm"), std::string::npos);
}

TEST(Compile, FillsCoresAndScratch) {
  const auto target = make_target({}, 3);
  using Kind = KernelArgument::Kind;
  const KernelSignature signature{{{Kind::pointer, "d"}, {Kind::scratch, ""}, {Kind::cores, ""}}, 5000};
  // out[0] = cores, out[1] = address of the scratch memory, whose last word of the last core is written.
  const auto kernel = target->compile(kernel_text(R"(llvm.func @kernel(%arguments: !llvm.ptr) {
    %scratch_word = llvm.getelementptr %arguments[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %cores_word = llvm.getelementptr %arguments[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %out = llvm.load %arguments : !llvm.ptr -> !llvm.ptr
    %scratch = llvm.load %scratch_word : !llvm.ptr -> !llvm.ptr
    %cores = llvm.load %cores_word : !llvm.ptr -> i64
    llvm.store %cores, %out : i64, !llvm.ptr
    %second = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %scratch, %second : !llvm.ptr, !llvm.ptr
    %bytes = arith.constant 8192 : i64
    %end = arith.muli %cores, %bytes : i64
    %eight = arith.constant 8 : i64
    %last = arith.subi %end, %eight : i64
    %address = llvm.getelementptr %scratch[%last] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %cores, %address : i64, !llvm.ptr
    llvm.return
  })",
                                                  signature));
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ(kernel->signature.arguments, signature.arguments);
  const auto loaded = target->load(*kernel);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  std::array<int64_t, 2> out{}, first{};
  for (int launch = 0; launch < 3; ++launch) {
    int64_t arguments[3] = {reinterpret_cast<int64_t>(out.data()), 0, 0};
    ASSERT_TRUE((*loaded)->launch(arguments).ok());
    EXPECT_EQ(out[0], 3);
    EXPECT_NE(out[1], 0);
    EXPECT_EQ(out[1] % (2 << 20), 0);
    if (launch == 0) first = out;
    EXPECT_EQ(out, first) << "launches one after the other use the same memory";
  }
}

TEST(Compile, KernelsOutliveTheirTargetAndNamesDoNotClash) {
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  {
    const auto target = make_target();
    for (int64_t value : {11, 22, 33}) {
      const auto kernel = target->compile(kernel_text(constant_kernel(value)));
      ASSERT_TRUE(kernel.ok());
      auto loaded = target->load(*kernel);
      ASSERT_TRUE(loaded.ok()) << loaded.error().text();
      kernels.push_back(std::move(*loaded));
    }
  }
  EXPECT_EQ(run_constant(*kernels[0]), 11);
  EXPECT_EQ(run_constant(*kernels[1]), 22);
  EXPECT_EQ(run_constant(*kernels[2]), 33);
}

// Errors, whole.

std::string compile_error(const std::string& text, bool verify = true) {
  const auto kernel = make_target()->compile(kernel_text(text), {.verify = verify, .keep_stages = false});
  return kernel.ok() ? "no error" : kernel.error().text();
}

TEST(CompileErrors, AModuleThatDoesNotVerifyNamesTheAuthorsLine) {
  EXPECT_EQ(compile_error(R"(llvm.func @kernel(%arguments: !llvm.ptr) {
  %x = "arith.constant"() {value = 1.0 : f32} : () -> f32
  %y = "arith.addi"(%x, %x) : (f32, f32) -> f32
  llvm.return
})"),
            "kernel.mlir:3: the staged module does not verify: 'arith.addi' op operand #0 must be "
            "signless-integer-like, but got 'f32'\n"
            "  while compiling kernel for the CPU");
}

TEST(CompileErrors, AnOperationThatNothingLowersIsNamed) {
  EXPECT_EQ(compile_error(R"(llvm.func @kernel(%arguments: !llvm.ptr) {
  %x = llvm.load %arguments : !llvm.ptr -> f64
  %y = math.cbrt %x : f64
  llvm.store %y, %arguments : f64, !llvm.ptr
  llvm.return
})"),
            "kernel.mlir:3: the operation math.cbrt is not lowered to LLVM by any pass of lower_to_llvm; lower it in "
            "src/compiler, or do "
            "not record it for this target\n"
            "  while compiling kernel for the CPU");
}

TEST(CompileErrors, AnErrorOfStagingPassesThrough) {
  const auto kernel =
      make_target()->compile([](IrContext&) -> Result<KernelIr> { return Error{"a", "b", "c", "d", {"e"}}; });
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().text(), (Error{"a", "b", "c", "d", {"e"}}).text());
}

TEST(LoadErrors, AnUndefinedSymbolIsNamed) {
  const auto target = make_target();
  auto kernel = target->compile(kernel_text(R"(llvm.func @nowhere()
llvm.func @kernel(%arguments: !llvm.ptr) {
  llvm.call @nowhere() : () -> ()
  llvm.return
})"));
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  const auto loaded = target->load(*kernel);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().text(),
            "kernel kernel: nowhere is called but is not part of the run time of CPU kernels; use operations that "
            "src/compiler expands, or "
            "add it to src/targets/cpu/loader.cpp");
}

TEST(LoadErrors, DamagedObjectsAndMissingEntriesAreErrors) {
  const auto target = make_target();
  auto kernel = target->compile(kernel_text(constant_kernel(1)));
  ASSERT_TRUE(kernel.ok());
  CompiledKernel other = *kernel;
  other.object = "not an object";
  auto loaded = target->load(other);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(
      loaded.error().text(),
      "kernel kernel: its object cannot be read: The file was not recognized as a valid object file; compile it again");

  other = *kernel;
  other.name = "missing";
  loaded = target->load(other);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().text(), "kernel missing: its object has no function missing; compile it again");

  for (size_t bytes = 0; bytes < kernel->object.size();
       bytes += 8) {  // cut off anywhere: an error or, late enough, none
    other = *kernel;
    other.object.resize(bytes);
    EXPECT_FALSE(target->load(other).ok()) << bytes << " of " << kernel->object.size();
  }
  auto whole = target->load(*kernel);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(run_constant(**whole), 1);
}

// Threads and memory.

TEST(Compile, RunsInSeveralThreadsAtOnce) {
  const auto target = make_target();
  constexpr int kThreads = 4, kKernels = 6;
  std::vector<std::string> objects(kThreads * kKernels);
  std::vector<int64_t> results(objects.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < kKernels; ++k) {
        const auto kernel = target->compile(kernel_text(constant_kernel(k)), {.verify = true, .keep_stages = false});
        if (!kernel.ok()) continue;
        objects[size_t(t * kKernels + k)] = kernel->object;
        auto loaded = target->load(*kernel);
        results[size_t(t * kKernels + k)] = loaded.ok() ? run_constant(**loaded) : -1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t)
    for (int k = 0; k < kKernels; ++k) {
      EXPECT_EQ(results[size_t(t * kKernels + k)], k);
      EXPECT_FALSE(objects[size_t(k)].empty());
      EXPECT_EQ(objects[size_t(t * kKernels + k)], objects[size_t(k)]) << "code depends on the thread";
    }
}

int64_t resident_bytes() {
  const auto statm = read_file("/proc/self/statm");
  return statm.ok() ? *parse_integer(split_words(*statm)[1]) * 4096 : 0;
}

int64_t executable_mapped_bytes() {
  int64_t bytes = 0;
  const auto maps = read_file("/proc/self/maps");
  if (!maps.ok()) return 0;
  for (std::string_view line : split(*maps, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 5 || words[1].find('x') == std::string_view::npos) continue;  // a sixth word names a file
    const auto ends = split(words[0], '-');
    bytes += int64_t(std::stoull(std::string(ends[1]), nullptr, 16) - std::stoull(std::string(ends[0]), nullptr, 16));
  }
  return bytes;
}

TEST(Memory, UnloadedKernelsLeaveNoCodeBehind) {
  const auto target = make_target();
  const auto kernel = target->compile(kernel_text(constant_kernel(7)));
  ASSERT_TRUE(kernel.ok());
  ASSERT_TRUE(target->load(*kernel).ok());
  const int64_t before = executable_mapped_bytes();
  {
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (int i = 0; i < 100; ++i) kernels.push_back(std::move(target->load(*kernel)).value());
    EXPECT_GE(executable_mapped_bytes(), before + 100 * 4096);
    EXPECT_EQ(run_constant(*kernels[50]), 7);
  }
  EXPECT_EQ(executable_mapped_bytes(), before);
}

TEST(Memory, CompilingLoadingAndFreeingDoesNotGrow) {
  const auto target = make_target();
  auto cycle = [&](int64_t value) {
    const auto kernel = target->compile(kernel_text(constant_kernel(value)));
    ASSERT_TRUE(kernel.ok());
    auto loaded = target->load(*kernel);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(run_constant(**loaded), value);
  };
  for (int64_t i = 0; i < 40; ++i) cycle(i);
  const int64_t before = resident_bytes();
  for (int64_t i = 0; i < 200; ++i) cycle(1000 + i);
  RecordProperty("grown_kbytes", int((resident_bytes() - before) / 1024));
  // A context with its dialects is more than 0.2 MB: one that leaked in each cycle would show.
  EXPECT_LT(resident_bytes() - before, int64_t(16) << 20);
}

TEST(Target, RefusesOptionsWithTheirLimits) {
  auto error = [](const CpuTargetOptions& options) {
    auto target = make_cpu_target(options);
    return target.ok() ? "no error" : target.error().text();
  };
  EXPECT_EQ(error({.threads = -1, .measure_peaks = false, .features_limit = {}}),
            "threads: -1 is not between 0 and 4096; 0 for all cores");
  EXPECT_EQ(error({.threads = 1, .measure_peaks = false, .features_limit = "sse9"}),
            "features_limit: sse9 is no limit of the CPU target; known: avx2, avx512; empty for all that the CPU has");
}

TEST(Target, MeasuresPeaksOfWhatItHas) {
  for (const char* limit : {"avx2", ""}) {
    auto target = make_cpu_target({.threads = 0, .measure_peaks = true, .features_limit = limit});
    ASSERT_TRUE(target.ok());
    const DeviceFacts& facts = (*target)->facts();
    EXPECT_GT(facts.peak_f32_gflops, 0);
    EXPECT_GT(facts.read_gbytes_per_s, 0);
    EXPECT_EQ(facts.peak_bf16_gflops > 0, facts.vector_bytes == 64 && facts.has("avx512_bf16"));
    EXPECT_EQ(facts.peak_i8_gops > 0, facts.has("avx_vnni") || (facts.vector_bytes == 64 && facts.has("avx512_vnni")));
  }
}

}  // namespace
}  // namespace gemmsmith
