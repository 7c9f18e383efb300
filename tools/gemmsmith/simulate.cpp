// gemmsmith simulate: one kernel on a simulated GPU.
#include "gemmsmith/simulate.h"

#include <iostream>

#include "command.h"
#include "inputs.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct SimulateFlags {
  std::vector<std::string> words;
  SimulateOptions options;
  std::string timeline;
  bool no_race = false, json = false;
};

constexpr const char* kExamples =
    "Runs the very kernel that goes to PTX on the CPU, thread by thread, against the float64 reference. What the "
    "simulator\n"
    "finds (races, deadlocks, missing fences, misused barriers) is printed with thread, operation, line and barrier. "
    "Counters\n"
    "are exact for the operands given; times are not simulated.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith simulate 256x256x256 dtype=bf16 b=col\n"
    "  gemmsmith simulate 512x512x512 dtype=bf16 b=col --config 'gemm_ping_pong block_n=176' --schedules 5\n"
    "  gemmsmith simulate 256x512x512 dtype=bf16 b=col --timeline cta.json     (open in ui.perfetto.dev)\n";

nlohmann::json to_json(const GemmProblem& problem, const SimulationReport& r) {
  nlohmann::json counters = nlohmann::json::object();
  for (const auto& [name, value] : r.counters) counters[name] = value;
  return {{"problem", problem.print()}, {"config", r.config},   {"passed", r.findings.empty() && r.accuracy.passed},
          {"findings", r.findings},     {"counters", counters}, {"failure", r.accuracy.failure},
          {"build_ms", r.build_ms},     {"run_ms", r.run_ms},   {"max_rel", r.accuracy.max_rel}};
}

void print_text(const SimulationReport& r) {
  std::cout << r.config << "\n";
  if (!r.findings.empty()) std::cout << r.findings << "\n";
  if (r.findings.empty())
    std::cout << (r.accuracy.passed ? "right: " : "WRONG: " + r.accuracy.failure + "; ") << r.accuracy.compared
              << " elements compared, nothing found\n";
  for (const auto& [name, value] : r.counters)
    if (value != 0) std::cout << "  " << pad_right(name, 20) << pad_left(std::to_string(value), 14) << "\n";
  std::cout << "  built in " << format_time(r.build_ms * 1e3) << ", simulated and checked in "
            << format_time(r.run_ms * 1e3) << std::endl;
}

int run(const SimulateFlags& flags) {
  const auto problem = read_problem(flags.words);
  if (!problem) return fail(problem.error(), kUsage);
  SimulateOptions options = flags.options;
  options.detect_races = !flags.no_race;
  options.timeline = !flags.timeline.empty();
  const auto report = simulate(*problem, options);
  if (!report) return fail(report.error(), kUsage);
  if (options.timeline)
    if (const auto written = write_file(flags.timeline, report->timeline); !written)
      return fail(written.error(), kUsage);
  if (flags.json)
    std::cout << to_json(*problem, *report).dump(2) << std::endl;
  else
    print_text(*report);
  return report->findings.empty() && report->accuracy.passed ? kOk : kFailed;
}

}  // namespace

void add_simulate(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = add_command(app, chosen, "simulate",
                                  "Run a GPU kernel on the CPU: races, deadlocks, counters, a timeline", flags, run);
  command->add_option("problem", flags->words, "The problem, in one word or several")->required()->type_name("PROBLEM");
  command->add_option("--arch", flags->options.arch, "The simulated architecture")
      ->type_name("ARCH")
      ->capture_default_str();
  command->add_option("--config", flags->options.config, "A configuration of the source native")->type_name("CONFIG");
  command->add_flag("--no-race", flags->no_race, "Leave the race detector out");
  command
      ->add_option("--schedules", flags->options.schedules,
                   "Orders of asynchronous operations: late, eager, then random ones")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--clusters", flags->options.resident_clusters,
                   "Clusters that share the tiles of a persistent kernel")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--seed", flags->options.seed, "Of the operands")->type_name("N")->capture_default_str();
  command->add_option("--timeline", flags->timeline, "Write a Chrome trace of CTA 0: who waited for what")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print JSON instead of text");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
