// The GEMMs of a model, from its configuration in the Hugging Face form, or of a list in a CSV file.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/problem.h"

namespace gemmsmith {

struct NamedProblem {
  std::string name;   // "qkv", "gate_up", "lm_head"
  int64_t count = 1;  // how often one pass through the model runs it
  GemmProblem problem;
  int64_t line = 0;  // where it stands in a CSV file, from 1
};

// The GEMMs of one forward pass over `tokens` tokens, in the order in which they run; projections that read the same
// input are fused (qkv, gate_up). Families: bert gemma gpt2 llama mistral mixtral phi3 qwen2 qwen3. Weights are stored
// n x k (b=col; gpt2: k x n), types follow torch_dtype (bf16 if absent), biases and activations of dense layers are
// epilogues.
//
// Experts: tokens are taken as spread evenly, so each of the min(experts, tokens * experts_per_token) active ones gets
// the same number of rows, rounded up; their problem counts once for each, and its name says how many: "gate_up, 8
// experts x 32 tokens".
//
// Errors: an unknown model_type (lists the known), missing keys (names all of them), text that is not JSON (line and
// column), sizes out of range (1 to 2^40; layers, heads and experts to 2^20).
Result<std::vector<NamedProblem>> model_problems(std::string_view config_json, int64_t tokens,
                                                 std::string_view file = "config.json");

// A CSV file (RFC 4180) with a header. Columns, in any order and case: m, n, k; and if there name (or op), batch (or
// b), dtype, count (or calls), layA and layB: R row-major, C column-major, B0 or B1 one row or column for all. Others
// are ignored. By default the data type is bf16, A is row-major and B column-major (a weight stored n x k). Errors say
// line and column.
Result<std::vector<NamedProblem>> csv_problems(std::string_view text, std::string_view file = "shapes.csv");

}  // namespace gemmsmith
