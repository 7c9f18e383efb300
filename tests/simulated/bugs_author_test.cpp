// The bug corpus, second half: what an author can write wrong in the tile language. Most of what could be written wrong in the
// language's first version is derived now (counts, skips, releases): the last tests show what is said about the rest of it.
#include <gtest/gtest.h>

#include "simulated/bugs.h"
#include "simulated/wrong_templates.h"
#include "templates/hopper_gemm.h"

namespace gemmsmith::test {
namespace {

using Kind = simulator::FindingKind;

constexpr const char* kFile = "tests/simulated/wrong_templates.cpp";
const Statements& statements() {
  static const Statements kStatements = {{"ring.fill", "; // right"},
                                         {"ring.fill few", "// few"},
                                         {"half", "// half"},
                                         {"first", "const Vec first"},
                                         {"second", "const Vec second"},
                                         {"partial.store", "partial.store("},
                                         {"sk.store", "d.store(t, t.m * kBlockM + row"}};
  return kStatements;
}

struct WrongTemplate {
  Result<KernelIr> (*stage)(IrContext&, const GemmProblem&, std::string_view mistake);
  const char* config;  // of the template whose arguments it has
  const char* problem;
};
const WrongTemplate kWs = {wrong_warp_specialized, "gemm_warp_specialized block_n=64 num_stages=3", "384x136x440 dtype=bf16 b=col"};
const WrongTemplate kPp = {wrong_ping_pong, "gemm_ping_pong block_m=64 block_n=64 num_stages=3", "384x136x440 dtype=bf16 b=col"};
const WrongTemplate kSk = {wrong_split_k_cluster, "gemm_split_k_cluster block_k=64 num_stages=3", "72x136x888 dtype=bf16 b=col"};

Result<SimulatedGemm> simulated(const WrongTemplate& t, const std::string& mistake) {
  const GemmProblem problem = GemmProblem::parse(t.problem).value();
  return SimulatedGemm::create(t.problem, t.config, [&](IrContext& context) { return t.stage(context, problem, mistake); });
}

}  // namespace
}  // namespace gemmsmith::test
