// gemmsmith tune: the fastest correct kernel for each problem, within a budget shared by all of them.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "gemmsmith/json.h"
#include "inputs.h"
#include "interrupt.h"
#include "output/explain_text.h"
#include "output/progress.h"
#include "output/tune_table.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct TuneFlags {
  std::vector<std::string> words;
  DeviceFlags device;
  IsolationFlags isolation;
  std::string store, budget;
  std::optional<std::string> tokens;
  uint64_t seed = 1;
  bool retune = false, verbose = false, json = false;
};

constexpr double kProblemSeconds = 10;  // of a single problem, unless --budget says otherwise
constexpr double kTotalSeconds = 55;    // at most, of all problems together
constexpr double kLeastSeconds = 0.5;   // of each problem: less measures nothing

constexpr const char* kExamples =
    "Words that are not files form one problem; a word that gives m, n, k or batch once more begins the next.\n"
    "A model configuration has the Hugging Face form. A CSV file has the columns "
    "m,n,k[,name,batch,dtype,count,layA,layB];\n"
    "dtype is bf16, A is row-major and B column-major (layB C, a weight stored n x k) unless it says otherwise.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith tune 128x4096x1024 dtype=bf16 b=col\n"
    "  gemmsmith tune m=8 n=11008 k=4096 'epilogue=gelu(acc + bias[n])' --budget 5s\n"
    "  gemmsmith tune models/qwen3-0.6b.json --tokens 1,128\n"
    "  gemmsmith tune shapes.csv --sources native,openblas --json > tuned.json\n";

// Tunes the problems one after the other. What one of them leaves of its share is shared by those after it.
std::vector<Outcome> tune_all(const TuneFlags& flags, const TuneOptions& common, const Device& device, const Work& work,
                              double budget, Store* store, ProgressLine& progress) {
  std::vector<Outcome> outcomes(work.distinct.size());
  const double end = now_seconds() + budget;
  for (size_t i = 0; i < work.distinct.size() && !interrupted(); ++i) {
    const auto item =
        std::find_if(work.items.begin(), work.items.end(), [&](const WorkItem& w) { return w.index == i; });
    const std::string label = item_label(*item);
    TuneOptions options = common;
    options.budget_seconds = std::max(kLeastSeconds, (end - now_seconds()) / double(work.distinct.size() - i));
    options.sources = source_names(flags.device);
    options.retune = flags.retune;
    options.seed = flags.seed;
    options.cancel = &interrupt_flag();
    options.progress = [&](const TuneProgress& step) {
      progress.show([&] { return tune_line(i, work.distinct.size(), label, step, progress.style()); });
    };
    auto report = tune(device, work.distinct[i], options, store);
    if (report) outcomes[i].report = std::move(*report);
    if (!report) outcomes[i].error = report.error().text();
    // Whatever comes from the store is only in the table: nobody has waited for it.
    // What is cut here stands whole in the report, or below the table.
    const Style& style = progress.style();
    if (!outcomes[i].report || !outcomes[i].report->from_store)
      progress.keep(fit(outcome_line(label, outcomes[i]), style.width, style.unicode));
    if (flags.verbose && outcomes[i].report) progress.keep(surroundings(*outcomes[i].report));
  }
  return outcomes;
}

nlohmann::json to_json_document(const Work& work, const std::vector<Outcome>& outcomes, const Device& device,
                                double seconds) {
  nlohmann::json problems = nlohmann::json::array();
  for (const WorkItem& item : work.items) {
    const Outcome& outcome = outcomes[item.index];
    nlohmann::json entry = {{"problem", item.named.problem.print()}};
    if (!item.named.name.empty()) entry.update({{"name", item.named.name}, {"count", item.named.count}});
    if (item.group >= 0) entry["group"] = work.groups[size_t(item.group)].name;
    if (item.group >= 0 && work.groups[size_t(item.group)].tokens > 0)
      entry["tokens"] = work.groups[size_t(item.group)].tokens;
    if (outcome.report) entry["report"] = nlohmann::json::parse(to_json(*outcome.report));
    if (!outcome.error.empty()) entry["error"] = outcome.error;
    problems.push_back(std::move(entry));
  }
  nlohmann::json passes = nlohmann::json::array();
  for (const PassTotal& total : pass_totals(work, outcomes)) {
    nlohmann::json alone = nlohmann::json::object();
    for (const auto& [source, time_us] : total.alone_us) alone[source] = time_us;
    passes.push_back({{"group", total.group.name},
                      {"tokens", total.group.tokens},
                      {"gemms", total.gemms},
                      {"time_us", total.time_us},
                      {"alone_us", alone}});
  }
  return {{"device", device.facts().fingerprint()},
          {"kernel_cache", cache_json(device.kernel_cache())},
          {"seconds", seconds},
          {"interrupted", interrupted()},
          {"problems", std::move(problems)},
          {"passes", std::move(passes)}};
}

// What to type to learn more: with the flags that decide which device and which store are meant.
std::string explain_command(const TuneFlags& flags, const GemmProblem& problem) {
  std::string text = "gemmsmith explain '" + problem.print() + "'";
  if (flags.device.threads > 0) text += " --threads " + std::to_string(flags.device.threads);
  if (!flags.store.empty()) text += " --store " + flags.store;
  return text;
}

int run(const TuneFlags& flags) {
  const double start = now_seconds();
  auto work = read_work(flags.words, flags.tokens);
  if (!work) return fail(work.error(), kUsage);
  double budget = std::min(kTotalSeconds, kProblemSeconds * double(work->distinct.size()));
  if (!flags.budget.empty()) {
    const auto given = parse_duration("--budget", flags.budget);
    if (!given) return fail(given.error(), kUsage);
    budget = *given;
  }
  TuneOptions common;
  if (const Status set = set_isolation(flags.isolation, common); !set) return fail(set.error(), kUsage);
  auto device = open_device(flags.device, /*measure_peaks=*/true);
  if (!device) return fail(device.error(), kUsage);
  interrupt_flag();  // from here on there is something that Ctrl-C must not lose
  auto store = open_store(flags.store);
  if (!store) return fail(store.error(), kUsage);
  Store* kept = store->has_value() ? &**store : nullptr;

  const Terminal error_stream = standard_error();
  ProgressLine progress(std::cerr, error_stream.style, error_stream.live, now_seconds);
  const std::vector<Outcome> outcomes = tune_all(flags, common, *device, *work, budget, kept, progress);
  progress.clear();

  const double seconds = now_seconds() - start;
  if (flags.json) {
    std::cout << to_json_document(*work, outcomes, *device, seconds).dump(2) << std::endl;
  } else {
    std::cout << tune_summary(*work, outcomes, device->facts(), standard_output().style);
    const auto stored = std::count_if(outcomes.begin(), outcomes.end(),
                                      [](const Outcome& o) { return o.report && o.report->from_store; });
    std::cout << plural(int64_t(outcomes.size()), "distinct problem") << ", " << stored << " from the store, in "
              << format_seconds(seconds);
    if (kept != nullptr && !kept->read_only()) std::cout << "; kept in " << kept->path();
    std::cout << "\n";
    if (const std::string cache = cache_line(device->kernel_cache()); !cache.empty()) std::cout << cache << "\n";
    // Without a store there is nothing to read: explain would tune it again.
    if (kept != nullptr)
      std::cout << "Why a winner won: " << explain_command(flags, work->items.front().named.problem) << "\n";
    std::cout << std::flush;
  }
  if (interrupted()) return kInterrupted;
  const bool all_won =
      std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.report && o.report->best(); });
  return all_won ? kOk : kFailed;
}

}  // namespace

void add_tune(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command =
      add_command(app, chosen, "tune", "Find the fastest correct kernel for problems, models or shapes", flags, run);
  command->add_option("problems", flags->words, "Problems, model configurations (.json), lists of shapes (.csv)")
      ->required()
      ->type_name("PROBLEM|FILE");
  add_device_flags(command, flags->device);
  add_source_flag(command, flags->device);
  command
      ->add_option("--budget", flags->budget, "Time for all problems together; 10s a problem, at most 55s without it")
      ->type_name("DURATION");
  command->add_option("--tokens", flags->tokens, "Tokens in one pass through a model; 1,128 without it")
      ->type_name("N,N");
  add_store_flag(command, flags->store);
  add_isolation_flags(command, flags->isolation);
  command->add_flag("--retune", flags->retune, "Measure even where the store has a choice that holds");
  command->add_option("--seed", flags->seed, "Of random inputs and the order of measuring")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--verbose", flags->verbose,
                    "Print for each problem what it was measured with: copies, memory, worker, load");
  command->add_flag("--json", flags->json, "Print JSON instead of a table");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
