#include "api/c_call.h"

#include <cmath>
#include <cstdlib>
#include <span>

namespace gemmsmith {

std::optional<Failure> read_options(const Call& call, const gs_tune_options* given, TuneOptions& out) {
  gs_tune_options options;
  GS_NEED(read_struct(call, "options", given, options));
  if (!(options.budget_seconds >= 0) || std::isinf(options.budget_seconds))
    return call.invalid(concat("options.budget_seconds = ", options.budget_seconds), "is not a time",
                        "give seconds, or 0 for the default");
  if (options.max_memory_bytes < 0)
    return call.invalid(concat("options.max_memory_bytes = ", options.max_memory_bytes), "is negative",
                        "give bytes, or 0 for the default");
  if (options.reserved != 0)
    return call.invalid(concat("options.reserved = ", options.reserved), "is not 0", "begin with = {sizeof options}");
  if (options.budget_seconds > 0) out.budget_seconds = options.budget_seconds;
  if (options.max_memory_bytes > 0) out.max_memory_bytes = options.max_memory_bytes;
  if (options.seed > 0) out.seed = options.seed;
  if (options.source_count > 0 && !options.sources)
    return call.invalid("options.sources", concat("is NULL, with a source_count of ", options.source_count));
  for (size_t i = 0; i < options.source_count; ++i) {
    if (!options.sources[i]) return call.invalid(concat("options.sources[", i, "]"), "is NULL");
    out.sources.emplace_back(options.sources[i]);
  }
  if (options.workers < 0)
    return call.invalid(concat("options.workers = ", options.workers), "is negative", "give a number, or 0 for one");
  out.retune = options.retune != 0;
  out.isolate = options.in_process == 0;
  if (options.worker) out.worker = options.worker;
  if (options.workers > 0) out.workers = options.workers;
  if (options.cancel) out.cancel = &options.cancel->set;
  if (!options.progress) return {};
  out.progress = [call = options.progress, user = options.user](const TuneProgress& p) {
    const gs_tune_progress progress = {sizeof progress,  p.phase.c_str(), p.best.c_str(), p.best_us,    p.seconds,
                                       p.budget_seconds, p.built,         p.measured,     p.considered, 0};
    call(&progress, user);
  };
  return {};
}

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

std::optional<Failure> read_arguments(const Call& call, const GemmProblem& p, const gs_gemm_arguments* given,
                                      GemmArguments& out) {
  gs_gemm_arguments arguments;
  GS_NEED(read_struct(call, "arguments", given, arguments));
  const std::span<const void* const> inputs(arguments.inputs, arguments.inputs ? arguments.input_count : 0);
  if (inputs.size() != p.inputs.size())
    return call.invalid(concat("arguments has ", inputs.size(), " inputs"),
                        concat("where the epilogue ", p.epilogue.print(), " has ", p.inputs.size()),
                        "one pointer for each, in the order of their first use");
  const bool writes = p.m > 0 && p.n > 0 && p.batch > 0;
  const bool multiplies = writes && p.k > 0 && p.alpha != 0;
  const auto missing = [&](std::string name) {
    return call.invalid("arguments." + std::move(name), "is NULL", "\"" + p.print() + "\" needs it");
  };
  if (multiplies && !arguments.a) return missing("a");
  if (multiplies && !arguments.b) return missing("b");
  if (writes && p.reads_c() && !arguments.c) return missing("c");
  if (writes && !arguments.d) return missing("d");
  for (size_t i = 0; writes && i < inputs.size(); ++i)
    if (!inputs[i]) return missing(concat("inputs[", i, "], ", p.inputs[i].name, ","));
  out.a = arguments.a;
  out.b = arguments.b;
  out.c = arguments.c;
  out.d = arguments.d;
  out.inputs.assign(inputs.begin(), inputs.end());
  return {};
}

}  // namespace gemmsmith
