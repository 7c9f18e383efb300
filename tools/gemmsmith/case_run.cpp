#include "case_run.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "inputs.h"
#include "interrupt.h"
#include "output/progress.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

std::string_view name_of(CaseOutcome outcome) {
  switch (outcome) {
    case CaseOutcome::passed:
      return "passed";
    case CaseOutcome::refused:
      return "refused";
    case CaseOutcome::failed:
      return "failed";
  }
  return "?";
}

nlohmann::json to_json(const std::string& file, const CaseResult& result) {
  nlohmann::json entry = {{"file", file},
                          {"line", result.line},
                          {"problem", result.problem.print()},
                          {"source", result.source},
                          {"config", result.config},
                          {"outcome", name_of(result.outcome)},
                          {"reason", result.reason}};
  if (result.accuracy.compared > 0)
    entry["accuracy"] = {{"max_abs", result.accuracy.max_abs},
                         {"max_rel", result.accuracy.max_rel},
                         {"allowed_rel", result.accuracy.allowed_rel},
                         {"compared", result.accuracy.compared}};
  if (result.timing)
    entry["timing"] = {{"median_us", result.timing->median_us},
                       {"low_us", result.timing->low_us},
                       {"high_us", result.timing->high_us},
                       {"samples", result.timing->samples}};
  return entry;
}

// In the order of the file.
std::vector<CaseLine> sample_of(std::vector<CaseLine> lines, const CaseFlags& flags) {
  if (flags.sample == 0 || lines.size() <= flags.sample) return lines;
  std::vector<CaseLine> chosen;
  std::mt19937_64 random(flags.seed);
  for (size_t i = 0; i < lines.size(); ++i)  // each with the chance that makes all subsets equally likely
    if (random() % (lines.size() - i) < flags.sample - chosen.size()) chosen.push_back(std::move(lines[i]));
  return chosen;
}

}  // namespace

void add_case_flags(CLI::App* command, CaseFlags& flags) {
  command->add_option("files", flags.files, "Case files, or lists of shapes (.csv)")->required()->type_name("FILE");
  add_device_flags(command, flags.device);
  add_source_flag(command, flags.device);
  command->add_option("--configs", flags.configs, "Candidates of each source, best guess first; 0 for all of them")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--sample", flags.sample,
                   "Run so many cases of each file, chosen at random by --seed; all without it")
      ->type_name("N");
  command->add_option("--seed", flags.seed, "Of random inputs and of --sample")->type_name("N")->capture_default_str();
  command->add_flag("--json", flags.json, "Print JSON instead of text");
}

Result<std::vector<FileResults>> run_files(const CaseFlags& flags, const Device& device, bool time) {
  GS_TRY(const double seconds, parse_duration("--budget", flags.budget));
  std::vector<std::vector<CaseLine>> cases;  // all files are read before anything runs
  for (const std::string& file : flags.files) {
    GS_TRY(const std::string text, read_file(file));
    GS_TRY(auto lines, read_cases(text, file));
    if (lines.empty())
      return Error{file, "the file", "has no case", "one problem a line, e.g. m={1,8} n=64 k=64 dtype=f32", {}};
    cases.push_back(sample_of(std::move(lines), flags));
  }
  const Terminal terminal = standard_error();
  ProgressLine progress(std::cerr, terminal.style, terminal.live, now_seconds);
  std::vector<FileResults> files;
  for (size_t f = 0; f < cases.size() && !interrupted(); ++f) {
    size_t failed = 0;
    CaseOptions options;
    options.sources = source_names(flags.device);
    options.configs_per_source = flags.configs;
    options.time = time;
    options.seconds_per_problem = seconds;
    options.seed = flags.seed;
    options.cancel = &interrupt_flag();
    options.progress = [&](const CaseResult& result, size_t done, size_t total) {
      if (result.outcome == CaseOutcome::failed) {
        ++failed;
        progress.keep(tinted("failed", Tint::red, terminal.style.colour) + " " + failure_text(flags.files[f], result));
      }
      progress.show([&] {
        return case_line(done, total, failed, flags.files[f] + " " + shape_label(result.problem), terminal.style);
      });
    };
    GS_TRY(auto results, run_cases(device, cases[f], options));
    files.push_back({flags.files[f], std::move(results)});
  }
  return files;
}

std::string case_json(const std::vector<FileResults>& files, const Device& device) {
  const CaseCounts counts = count(files);
  nlohmann::json results = nlohmann::json::array();
  for (const FileResults& file : files)
    for (const CaseResult& result : file.results) results.push_back(to_json(file.file, result));
  return nlohmann::json{{"passed", counts.passed},
                        {"refused", counts.refused},
                        {"failed", counts.failed},
                        {"interrupted", interrupted()},
                        {"kernel_cache", cache_json(device.kernel_cache())},
                        {"results", std::move(results)}}
      .dump(2);
}

int case_exit_code(const std::vector<FileResults>& files) {
  if (interrupted()) return kInterrupted;
  return count(files).failed > 0 ? kFailed : kOk;
}

}  // namespace gemmsmith::cli
