// Case files: problems as data, run for correctness and for speed by one runner.
//
// A file (`*.cases`) has one problem a line in the text form of problem.h; `#` starts a comment; lists in braces multiply out:
//   # every edge of the register tile
//   m={1,7,8,9} n={31,32,33} k={0,1,64} dtype={f32,bf16} b={row,col}
// An assignment line `sources=native,openblas` limits what follows to some sources.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gemmsmith/gemm.h"

namespace gemmsmith {

struct CaseLine {
  int line = 0;
  std::vector<std::string> sources;  // empty: all
  GemmProblem problem;
};
// Errors say file, line and column. A file whose name ends in .csv is a list of shapes (model.h).
Result<std::vector<CaseLine>> read_cases(const std::string& text, const std::string& file);

enum class CaseOutcome : uint8_t { passed, refused, failed };
struct CaseResult {
  int line = 0;
  GemmProblem problem;
  std::string source, config;
  CaseOutcome outcome = CaseOutcome::failed;
  std::string reason;  // of a refusal or failure
  Accuracy accuracy;
  std::optional<Timing> timing;  // when asked for
};

struct CaseOptions {
  std::vector<std::string> sources;  // empty: all
  int configs_per_source = 1;        // how many candidates of a source are run, best guess first; 0: all
  bool time = false;                 // measure too, interleaved over the candidates of one problem
  double seconds_per_problem = 0.5;  // of measuring
  uint64_t seed = 1;
  // Operands of one case; 0: half of the memory that this process may use. A case that needs more is refused by all.
  int64_t max_memory_bytes = 0;
  // The source `reference` computes in float64 on one thread: where it is not asked for by name, it refuses cases of
  // more work than this. They are checked all the same, at places taken at random (problem/compare.h).
  double max_reference_flops = 1e9;
  std::function<void(const CaseResult&, size_t done, size_t total)> progress;
  const std::atomic<bool>* cancel = nullptr;
};
Result<std::vector<CaseResult>> run_cases(const Device&, const std::vector<CaseLine>&, const CaseOptions& = {});

}  // namespace gemmsmith
