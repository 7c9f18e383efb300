// Every template, in configurations of every class, as PTX and through ptxas.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "gemmsmith/problem.h"
#include "targets/cuda/arch.h"
#include "targets/cuda/cuda_target.h"
#include "targets/cuda/resources.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

const DeviceFacts& h200() {
  static const DeviceFacts facts = describe_arch("sm_90a").value();
  return facts;
}

// Types, layouts and epilogues that make different kernels.
const std::vector<std::string>& problems() {
  static const std::vector<std::string> texts = {
      "4096x4096x4096 dtype=bf16 b=col",
      "4096x4096x4096 dtype=bf16",
      "4096x4096x4096 dtype=bf16 a=col b=col d=col",
      "4096x4096x4096 dtype=f16 b=col d=f32",
      "4096x4096x4096 dtype=i8 b=col",
      "4096x4096x4096 dtype=bf16 b=col epilogue=gelu(acc + bias[n])",
      "4096x4096x4096 dtype=bf16 b=col epilogue=relu(acc*scale[m] + aux[m,n])",
      "4096x4096x4096 dtype=bf16 b=col alpha=0.5 beta=2",
      "512x512x512 dtype=bf16 b=col batch=8",
      "16x4096x4096 dtype=bf16 b=col",
      "1000x1032x328 dtype=bf16 b=col",
  };
  return texts;
}

std::vector<KernelTemplate> gpu_templates() {
  std::vector<KernelTemplate> found;
  for (const KernelTemplate& t : templates())
    if (t.device_kind == "sm_90a") found.push_back(t);
  return found;
}

// Legal configurations from all over the space: the best few, then others with a fixed stride.
std::vector<std::string> some_configs(const KernelTemplate& t, const GemmProblem& p, size_t best, size_t others) {
  std::vector<std::string> legal, chosen;
  for (const ScoredConfig& c : t.configs(p, h200()))
    if (c.dropped.empty()) legal.push_back(c.config);
  for (size_t i = 0; i < std::min(best, legal.size()); ++i) chosen.push_back(legal[i]);
  for (size_t i = 0; i < others && legal.size() > best; ++i)
    chosen.push_back(legal[best + i * (legal.size() - best) / others]);
  return chosen;
}

Result<CompiledKernel> compile(Target& target, const std::string& candidate, const GemmProblem& p,
                               const CompileOptions& options) {
  return target.compile([&](IrContext& context) { return stage_kernel(context, candidate, p, h200()); }, options);
}

std::unique_ptr<Target> without_assembler() { return make_cuda_target({.assembler = AssemblerKind::driver}).value(); }

TEST(HopperTemplates, EveryLegalConfigurationBecomesPtx) {
  const auto target = without_assembler();
  size_t compiled = 0;
  for (const KernelTemplate& t : gpu_templates())
    for (const std::string& text : problems()) {
      const GemmProblem p = GemmProblem::parse(text).value();
      if (!t.supports(p, h200())) continue;
      for (const std::string& config : some_configs(t, p, 1, 5)) {
        const auto kernel = compile(*target, t.name + " " + config, p, {.verify = true});
        EXPECT_TRUE(kernel.ok()) << text << "\n" << t.name << " " << config << "\n" << kernel.error().text();
        ++compiled;
      }
    }
  EXPECT_GT(compiled, 100u);
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

TEST(HopperTemplates, PtxHasWhatTheyAreMadeOf) {
  const auto target = without_assembler();
  const GemmProblem p = GemmProblem::parse(problems()[0]).value();
  struct Case {
    const char* candidate;
    int threads, cluster;
    size_t wgmmas, loads;
    std::vector<std::string> has;
  };
  const Case cases[] = {
      {"gemm_warp_specialized block_m=128 block_n=256 block_k=64 num_stages=3 cluster_m=2",
       384,
       2,
       4,
       2,
       {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 ", ".multicast::cluster",
        "setmaxnreg.inc.sync.aligned.u32 \t240", "setmaxnreg.dec.sync.aligned.u32 \t24",
        "stmatrix.sync.aligned.m8n8.x4", "cp.async.bulk.tensor.2d.global.shared::cta",
        "mbarrier.arrive.shared::cluster.b64 _"}},
      {"gemm_ping_pong block_m=128 block_n=128 block_k=64 num_stages=4",
       384,
       1,
       8,
       2,
       {"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 ", "setmaxnreg.inc.sync.aligned.u32 \t240"}},
      {"gemm_split_k_cluster block_m=64 block_n=64 block_k=128 num_stages=6 split_k=2",
       256,
       2,
       8,
       4,
       {"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 ", "mbarrier.try_wait.parity.acquire.cluster",
        "ld.shared::cluster.v4", "mapa.shared::cluster"}},
  };
  for (const Case& c : cases) {
    const auto kernel = compile(*target, c.candidate, p, {.verify = true, .keep_stages = true});
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    const std::string& ptx = kernel->stages.at("ptx");
    SCOPED_TRACE(c.candidate);
    EXPECT_EQ(kernel->signature.gpu.threads, c.threads);
    EXPECT_EQ(kernel->signature.gpu.cluster, c.cluster);
    EXPECT_NE(ptx.find(".version 8.1\n.target sm_90a\n"), ptx.npos) << "not to be debugged: ptxas would not optimize";
    EXPECT_NE(ptx.find(".reqntid " + std::to_string(c.threads) + ", 1, 1\n.minnctapersm 1\n"), ptx.npos);
    EXPECT_EQ(ptx.find(".reqnctapercluster " + std::to_string(c.cluster) + ", 1, 1") != ptx.npos, c.cluster > 1);
    EXPECT_EQ(count(ptx, "wgmma.mma_async"), c.wgmmas) << "the k loop is not unrolled, its first block not peeled";
    EXPECT_EQ(count(ptx, "cp.async.bulk.tensor.2d.shared::cluster.global"), c.loads);
    EXPECT_EQ(count(ptx, ".local"), 0u) << "no local memory";
    for (const std::string& text : c.has) EXPECT_NE(ptx.find(text), ptx.npos) << text;
    // Parameters: the maps of 128 bytes, then one word for each argument.
    EXPECT_EQ(count(ptx, "[128]"), kernel->signature.tensor_maps.size());
    EXPECT_EQ(count(ptx, "\t.param ."), kernel->signature.tensor_maps.size() + kernel->signature.arguments.size());
  }
}

// Each line of PTX that a template made leads back to its file, and most of its lines appear.
TEST(HopperTemplates, LinesOfPtxLeadToTheTemplate) {
  const auto target = without_assembler();
  const GemmProblem p = GemmProblem::parse(problems()[0]).value();
  for (const KernelTemplate& t : gpu_templates()) {
    const auto kernel = compile(*target, t.name + " " + some_configs(t, p, 1, 0).front(), p, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    const std::string& ptx = kernel->object;
    std::set<std::string> lines;
    const int64_t total = std::count(ptx.begin(), ptx.end(), '\n');
    int64_t at = 0;
    for (size_t begin = 0; at < total; ++at, begin = ptx.find('\n', begin) + 1)
      if (ptx.compare(begin, 6, "wgmma.") == 0) lines.insert(source_of_ptx_line(ptx, at + 1));
    ASSERT_FALSE(lines.empty());
    for (const std::string& line : lines) EXPECT_TRUE(line.starts_with(t.name + ".cpp:")) << line;
  }
}

TEST(HopperTemplates, AreCompiledToTheSamePtxByEveryThread) {
  const auto target = without_assembler();
  const GemmProblem p = GemmProblem::parse(problems()[0]).value();
  const std::string candidate = "gemm_ping_pong block_m=64 block_n=64 num_stages=2";
  std::vector<std::string> ptx(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : ptx)
      threads.emplace_back([&] {
        auto kernel = compile(*target, candidate, p, {});
        text = kernel.ok() ? kernel->object : kernel.error().text();
      });
  }
  EXPECT_NE(ptx[0].find("wgmma"), std::string::npos) << ptx[0];
  for (const std::string& text : ptx) EXPECT_EQ(text, ptx[0]);
}

class AssembledTemplates : public testing::TestWithParam<std::string> {};

// The cubins: neither spills nor serialized wgmmas in any of them.
TEST_P(AssembledTemplates, NeitherSpillNorSerialize) {
  const auto target = make_cuda_target({.assembler = AssemblerKind::ptxas});
  if (!target.ok()) GTEST_SKIP() << "skipped: " << target.error().text();
  const KernelTemplate& t = *template_named(GetParam());
  for (const std::string& text : problems()) {
    const GemmProblem p = GemmProblem::parse(text).value();
    if (!t.supports(p, h200())) continue;
    for (const std::string& config : some_configs(t, p, 1, 2)) {
      const auto kernel = compile(**target, t.name + " " + config, p, {});
      EXPECT_TRUE(kernel.ok()) << text << "\n" << t.name << " " << config << "\n" << kernel.error().text();
    }
  }
}

std::vector<std::string> names_of_templates() {
  std::vector<std::string> names;
  for (const KernelTemplate& t : gpu_templates()) names.push_back(t.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Templates, AssembledTemplates, testing::ValuesIn(names_of_templates()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gemmsmith
