// gemmsmith emit: one stage of one kernel.
#include <algorithm>
#include <iostream>

#include "command.h"
#include "inputs.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct EmitFlags {
  std::vector<std::string> words;
  DeviceFlags device;
  std::string arch, config, stage, output;
};

constexpr const char* kExamples =
    "Configurations are those that `gemmsmith explain PROBLEM --all` lists for the source native; without one it is "
    "the first guess.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith emit 128x4096x1024 dtype=bf16 --stage asm | less\n"
    "  gemmsmith emit m=8 n=4096 k=4096 --config 'gemm_packed mr=8 nr=32 kc=256' --stage mlir\n"
    "  gemmsmith emit 512x512x512 --stage object -o kernel.o\n"
    "  gemmsmith emit 4096x4096x4096 dtype=bf16 b=col --arch sm_90a --stage resources\n"
    "\n"
    "Stages of a CPU: mlir, llvm, asm, object. Of a GPU, which need not be there: mlir, llvm, ptx, resources, cubin,\n"
    "sass, object. A GPU's kernel that spills registers or whose wgmmas are serialized is printed all the same.\n";

Status check_stage(const std::string& stage) {
  const std::vector<std::string> known = {"mlir", "llvm", "asm", "ptx", "resources", "cubin", "sass", "object"};
  if (std::find(known.begin(), known.end(), stage) != known.end()) return Done{};
  const auto near = near_names(stage, known);
  return Error{"--stage",
               stage,
               "is not a stage",
               (near.empty() ? "" : "near it: " + join(near, ", ") + "; ") + "known: " + join(known, ", "),
               {}};
}

int run(const EmitFlags& flags) {
  const auto problem = read_problem(flags.words);
  if (!problem) return fail(problem.error(), kUsage);
  DeviceFlags device_flags = flags.device;
  if (!flags.arch.empty()) device_flags.device = flags.arch;
  const std::string stage = !flags.stage.empty() ? flags.stage : flags.arch.empty() ? "asm" : "ptx";
  if (const auto known = check_stage(stage); !known) return fail(known.error(), kUsage);
  if ((stage == "object" || stage == "cubin") && flags.output.empty() && standard_output().live)
    return fail({"--stage", stage, "is binary, and standard output is a terminal", "add -o FILE", {}}, kUsage);
  const auto device = open_device(device_flags, /*measure_peaks=*/false);
  if (!device) return fail(device.error(), kUsage);
  const auto emitted = emit(*device, *problem, flags.config, stage);
  // What is wrong with a configuration is said of the flag that gave it.
  if (!emitted) return fail(emitted.error(), emitted.error().where.starts_with("--") ? kUsage : kFailed);

  if (flags.output.empty()) std::cout << emitted->content << std::flush;
  if (!flags.output.empty())
    if (const auto written = write_file(flags.output, emitted->content); !written) return fail(written.error(), kUsage);
  std::cerr << emitted->config << ": " << emitted->stage << ", " << format_bytes(double(emitted->content.size()))
            << (emitted->from_cache ? ", from the cache" : ", compiled in " + format_time(emitted->total_ms * 1e3))
            << "\n";
  for (const auto& [phase, ms] : emitted->phases)
    std::cerr << "  " << pad_right(phase, 10) << pad_left(format_time(ms * 1e3), 8) << "\n";
  return kOk;
}

}  // namespace

void add_emit(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<EmitFlags>();
  CLI::App* command = add_command(
      app, chosen, "emit", "Print a native kernel at one stage of its compilation: MLIR to machine code", flags, run);
  command->add_option("problem", flags->words, "The problem, in one word or several")->required()->type_name("PROBLEM");
  add_device_flags(command, flags->device);
  command->add_option("--config", flags->config, "A configuration of the source native")->type_name("CONFIG");
  add_arch_flag(command, flags->arch);
  command->add_option("--stage", flags->stage, "What to print, as below; asm without it, ptx with --arch")
      ->type_name("STAGE");
  command->add_option("-o,--output", flags->output, "Write to a file instead of standard output")->type_name("FILE");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
