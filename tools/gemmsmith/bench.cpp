// gemmsmith bench: the problems of case files, timed with their candidates interleaved.
#include <iostream>

#include "case_run.h"
#include "interrupt.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  gemmsmith bench llm.cases\n"
    "  gemmsmith bench llm.cases --sources native,openblas --configs 8 --budget 2s --json > bench.json\n";

int run(const CaseFlags& flags) {
  const auto device = open_device(flags.device, /*measure_peaks=*/!flags.json);
  if (!device) return fail(device.error(), kUsage);
  interrupt_flag();
  const auto files = run_files(flags, *device, /*time=*/true);
  if (!files) return fail(files.error(), kUsage);
  if (flags.json) std::cout << case_json(*files, *device) << std::endl;
  if (!flags.json)
    std::cout << bench_table(*files, device->facts(), standard_output().style) << summary_line(count(*files))
              << std::endl;
  return case_exit_code(*files);
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<CaseFlags>();
  CLI::App* command = add_command(app, chosen, "bench", "Run case files and time every candidate", flags, run);
  add_case_flags(command, *flags);
  command->add_option("--budget", flags->budget, "Time to measure each problem")
      ->type_name("DURATION")
      ->capture_default_str();
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
