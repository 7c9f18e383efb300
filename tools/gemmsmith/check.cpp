// gemmsmith check: case files against the float64 reference.
#include <iostream>

#include "case_run.h"
#include "interrupt.h"

namespace gemmsmith::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  gemmsmith check tests/cases/*.cases\n"
    "  gemmsmith check edges.cases --sources native --configs 0\n"
    "  gemmsmith check tests/cases/hopper.cases --device sim:sm_90a --sources native --race --schedules 5\n"
    "  gemmsmith check shapes.csv --sample 40\n";

int run(const CaseFlags& flags) {
  interrupt_flag();
  const auto device = open_device(flags.device, /*measure_peaks=*/false);
  if (!device) return fail(device.error(), kUsage);
  const auto files = run_files(flags, *device, /*time=*/false);
  if (!files) return fail(files.error(), kUsage);
  const std::string cache = cache_line(device->kernel_cache());
  if (flags.json) std::cout << case_json(*files, *device) << std::endl;
  if (!flags.json) std::cout << cache << (cache.empty() ? "" : "\n") << summary_line(count(*files)) << std::endl;
  return case_exit_code(*files);
}

}  // namespace

void add_check(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<CaseFlags>();
  CLI::App* command =
      add_command(app, chosen, "check", "Run case files and compare every result with the reference", flags, run);
  add_case_flags(command, *flags);
  command->add_flag("--race", flags->device.simulation.detect_races,
                    "Simulated devices: report accesses that nothing orders");
  command
      ->add_option(
          "--schedules", flags->device.simulation.schedules,
          "Simulated devices: orders of asynchronous operations for every launch: late, eager, then random ones")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
