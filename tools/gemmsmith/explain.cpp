// gemmsmith explain: why the winner of a problem won, from the store.
#include <iostream>

#include "command.h"
#include "gemmsmith/json.h"
#include "inputs.h"
#include "interrupt.h"
#include "output/explain_text.h"
#include "output/progress.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct ExplainFlags {
  std::vector<std::string> words;
  DeviceFlags device;
  IsolationFlags isolation;
  std::string store, budget = "10s";
  bool all = false, json = false;
};

constexpr size_t kListed = 15;  // candidates without --all

constexpr const char* kExamples =
    "A problem without a stored decision that holds for this device is tuned first.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith explain 128x4096x1024 dtype=bf16 b=col\n"
    "  gemmsmith explain m=8 n=4096 k=4096 --all\n"
    "  gemmsmith explain 1x4096x4096 --json | jq '.candidates[] | select(.state == \"dropped\")'\n";

// What `tune` would use: the stored decision while it holds; a fresh one otherwise, with a word before the wait.
Result<TuneReport> decide(const ExplainFlags& flags, const Device& device, const GemmProblem& problem, double budget,
                          Store* store) {
  const Terminal terminal = standard_error();
  ProgressLine progress(std::cerr, terminal.style, terminal.live, now_seconds);
  TuneOptions options;
  GS_CHECK(set_isolation(flags.isolation, options));
  options.budget_seconds = budget;
  options.sources = source_names(flags.device);
  options.cancel = &interrupt_flag();
  bool said = false;
  options.progress = [&](const TuneProgress& step) {
    if (!said)
      std::cerr << "no stored decision that holds for this device: tuning it for " << format_seconds(budget)
                << std::endl;
    said = true;
    progress.show([&] { return tune_line(0, 1, shape_label(problem), step, terminal.style); });
  };
  return tune(device, problem, options, store);
}

int run(const ExplainFlags& flags) {
  const auto problem = read_problem(flags.words);
  if (!problem) return fail(problem.error(), kUsage);
  const auto budget = parse_duration("--budget", flags.budget);
  if (!budget) return fail(budget.error(), kUsage);
  auto store = open_store(flags.store);
  if (!store) return fail(store.error(), kUsage);
  const auto device = open_device(flags.device, /*measure_peaks=*/true);
  if (!device) return fail(device.error(), kUsage);
  const auto report = decide(flags, *device, *problem, *budget, store->has_value() ? &**store : nullptr);
  if (!report) return fail(report.error(), kFailed);
  if (flags.json) std::cout << to_json(*report) << std::endl;
  if (!flags.json) {
    std::cout << explain_text(*report, flags.all ? 0 : kListed, standard_output().style);
    if (const std::string cache = cache_line(device->kernel_cache()); !cache.empty())
      std::cout << "\nkernels       " << cache << "\n";
    std::cout << std::flush;
  }
  if (interrupted()) return kInterrupted;
  return report->best() != nullptr ? kOk : kFailed;
}

}  // namespace

void add_explain(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = add_command(app, chosen, "explain",
                                  "Print how a problem's winner was chosen, losers and refusals too", flags, run);
  command->add_option("problem", flags->words, "The problem, in one word or several")->required()->type_name("PROBLEM");
  add_device_flags(command, flags->device);
  add_source_flag(command, flags->device);
  add_store_flag(command, flags->store);
  add_isolation_flags(command, flags->isolation);
  command->add_option("--budget", flags->budget, "Time for a problem that has to be tuned first")
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_flag("--all", flags->all, "List every candidate, not only the best 15");
  command->add_flag("--json", flags->json, "Print the whole report as JSON");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
