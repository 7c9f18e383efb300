// gemmsmith compile: a folder of kernels for problems and a device that need not be there.
#include "gemmsmith/compile.h"

#include <algorithm>
#include <iostream>

#include "command.h"
#include "inputs.h"
#include "interrupt.h"
#include "output/progress.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct CompileFlags {
  std::vector<std::string> words;
  DeviceFlags device;
  std::string arch, folder;
  std::optional<std::string> tokens;
  int top = 1;
};

constexpr const char* kExamples =
    "Kernels serve every problem of their class, so that there are fewer of them than problems. The folder's "
    "index.json\n"
    "says what each needs to be called. Kernels that are there from an earlier run, of equal code, are kept. Ctrl-C "
    "keeps\n"
    "what is done.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith compile models/qwen3-0.6b.json --tokens 1,128 --arch sm_90a --out kernels\n"
    "  gemmsmith compile shapes.csv --arch sm_90a --top 8 --out kernels\n"
    "  gemmsmith compile 4096x4096x4096 dtype=bf16 b=col --arch sm_90a --out kernels\n";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void print_report(const CompileFolderReport& report) {
  size_t made = 0, kept = 0, refused = 0;
  double ms = 0;
  for (const FolderKernel& kernel : report.kernels) {
    (!kernel.refused.empty() ? refused : kernel.kept ? kept : made) += 1;
    ms += kernel.kept ? 0 : kernel.ms;
    if (!kernel.refused.empty()) std::cout << "refused: " << kernel.config << "\n  " << kernel.refused << "\n";
  }
  for (const auto& [problem, reason] : report.unserved)
    std::cout << "not served: " << problem << "\n  " << reason << "\n";
  std::cout << plural(int64_t(made), "kernel") << " compiled";
  if (made + refused > 0) std::cout << " (" << format_time(ms * 1e3 / double(made + refused)) << " each)";
  if (kept > 0) std::cout << ", " << kept << " kept";
  if (refused > 0) std::cout << ", " << refused << " refused";
  std::cout << ", in " << format_seconds(report.seconds) << "; " << report.index << "\n" << std::flush;
}

int run(const CompileFlags& flags) {
  auto work = read_work(flags.words, flags.tokens);
  if (!work) return fail(work.error(), kUsage);
  DeviceFlags device_flags = flags.device;
  if (!flags.arch.empty()) device_flags.device = flags.arch;
  CompileFolderOptions options;
  options.top = flags.top;
  options.threads = device_flags.threads;
  options.cancel = &interrupt_flag();  // from here on Ctrl-C loses nothing
  const auto device = open_device(device_flags, /*measure_peaks=*/false);
  if (!device) return fail(device.error(), kUsage);

  const Terminal error_stream = standard_error();
  ProgressLine progress(std::cerr, error_stream.style, error_stream.live, [] { return now_seconds(); });
  size_t refused = 0;
  options.progress = [&](size_t done, size_t total, const FolderKernel& kernel) {
    refused += !kernel.refused.empty();
    progress.show([&] { return case_line(done, total, refused, first_line(kernel.config), progress.style()); });
  };
  const auto report = compile_folder(*device, work->distinct, flags.folder, options);
  progress.clear();
  if (!report) return fail(report.error(), kFailed);
  print_report(*report);
  if (report->cancelled) return kInterrupted;
  const bool complete = refused == 0 && report->unserved.empty();
  return complete ? kOk : kFailed;
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command =
      add_command(app, chosen, "compile", "Compile a model's kernels into a folder, without running them", flags, run);
  command->add_option("problems", flags->words, "Problems, model configurations (.json) or lists of shapes (.csv)")
      ->required()
      ->type_name("PROBLEM|FILE");
  add_device_flags(command, flags->device);
  add_arch_flag(command, flags->arch);
  command->add_option("--tokens", flags->tokens, "Tokens in a pass through a model: 1,128")->type_name("N,N");
  command->add_option("--top", flags->top, "Configurations for each problem, the model's best first")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--out", flags->folder, "Folder of the kernels; made if it is not there")
      ->required()
      ->type_name("FOLDER");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
