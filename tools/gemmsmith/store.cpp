// gemmsmith store: what the store holds; to and from other stores and files; its upkeep.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "gemmsmith/json.h"
#include "inputs.h"
#include "output/explain_text.h"
#include "output/store_text.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

using Json = nlohmann::ordered_json;

// Of all subcommands; each uses what it has options for.
struct StoreFlags {
  std::string store, other, file;
  std::vector<std::string> words, others;
  std::string older_than;
  bool release = false;
  bool here = false, newest = false, history = false, all = false, damaged = false, dry_run = false, json = false;
};

// A store that has to be there: looking at one does not make it.
Result<Store> open_existing(const std::string& flag, const std::string& option) {
  const std::string path = flag.empty() ? Store::default_path() : flag;
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return Error{option, path, "does not exist", "name another file; gemmsmith tune makes the first", {}};
  auto store = Store::open(path);
  if (store) say_if_read_only(*store);
  return store;
}

Result<std::string> fingerprint(bool here) {
  if (!here) return std::string();
  GS_TRY(const Device device, open_device({}, /*measure_peaks=*/false));
  return device.facts().fingerprint();
}

int run_list(const StoreFlags& flags) {
  const auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto device = fingerprint(flags.here);
  if (!device) return fail(device.error(), kUsage);
  const auto reports = store->list(*device);
  if (!reports) return fail(reports.error(), kFailed);
  if (flags.json)
    std::cout << to_json(*reports) << std::endl;
  else if (reports->empty())
    std::cout << "no decisions in " << store->path() << std::endl;
  else
    std::cout << store_table(*reports, standard_output().style) << std::flush;
  return kOk;
}

// The newest of each device, in the order of `reports`, newest first.
void keep_newest(std::vector<TuneReport>& reports) {
  std::vector<std::string> seen;
  std::erase_if(reports, [&](const TuneReport& report) {
    const bool known = std::find(seen.begin(), seen.end(), report.provenance.device) != seen.end();
    if (!known) seen.push_back(report.provenance.device);
    return known;
  });
}

int run_show(const StoreFlags& flags) {
  const auto problem = read_problem(flags.words);
  if (!problem) return fail(problem.error(), kUsage);
  const auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto device = fingerprint(flags.here);
  if (!device) return fail(device.error(), kUsage);
  auto reports = store->history(*problem, *device);
  if (!reports) return fail(reports.error(), kFailed);
  if (!flags.history) keep_newest(*reports);
  if (reports->empty())
    return fail({"store " + store->path(),
                 problem->print(),
                 "is not in it",
                 "gemmsmith store list shows what is, gemmsmith tune measures it",
                 {}},
                kFailed);
  if (flags.json) {
    std::cout << to_json(*reports) << std::endl;
    return kOk;
  }
  for (size_t i = 0; i < reports->size(); ++i)
    std::cout << (i ? "\n" : "") << explain_text((*reports)[i], flags.all ? 0 : 15, standard_output().style);
  std::cout << std::flush;
  return kOk;
}

int run_diff(const StoreFlags& flags) {
  const auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto other = open_existing(flags.other, "OTHER");
  if (!other) return fail(other.error(), kUsage);
  const auto differences = store->diff(*other);
  if (!differences) return fail(differences.error(), kFailed);
  if (flags.json) {
    std::vector<Json> array;
    for (const StoreDifference& d : *differences)
      array.push_back({{"problem", d.problem.print()},
                       {"device", d.device},
                       {"same_winner", d.same_winner()},
                       {"time_ratio", d.time_ratio() > 0 ? Json(d.time_ratio()) : Json()},
                       {"here", d.here ? Json::parse(to_json(*d.here)) : Json()},
                       {"there", d.there ? Json::parse(to_json(*d.there)) : Json()}});
    std::cout << Json(array).dump(2) << std::endl;
  } else if (differences->empty()) {
    std::cout << "no differences" << std::endl;
  } else {
    std::cout << difference_table(*differences, standard_output().style) << std::flush;
  }
  return kOk;
}

int run_export(const StoreFlags& flags) {
  const auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto device = fingerprint(flags.here);
  if (!device) return fail(device.error(), kUsage);
  std::string lines;
  const auto exported = store->export_lines({*device, flags.newest}, [&](std::string_view line) { lines += line; });
  if (!exported) return fail(exported.error(), kFailed);
  if (flags.file.empty()) {
    std::cout << lines << std::flush;
  } else if (const auto written = write_file(flags.file, lines); !written) {
    return fail(written.error(), kUsage);
  }
  return kOk;
}

int print_added(const StoreAdded& count, bool json) {
  if (json)
    std::cout << Json{{"added", count.added}, {"known", count.known}}.dump(2) << std::endl;
  else
    std::cout << added_line(count) << std::endl;
  return kOk;
}

int run_import(const StoreFlags& flags) {
  const auto lines = read_file(flags.file);
  if (!lines) return fail(lines.error(), kUsage);
  auto store = Store::open(flags.store.empty() ? Store::default_path() : flags.store);
  if (!store) return fail(store.error(), kUsage);
  const auto count = store->import_lines(*lines, flags.file);
  return count ? print_added(*count, flags.json) : fail(count.error(), kFailed);
}

int run_merge(const StoreFlags& flags) {
  std::vector<Store> others;
  for (const std::string& path : flags.others) {
    auto other = open_existing(path, "OTHER");
    if (!other) return fail(other.error(), kUsage);
    others.push_back(std::move(*other));
  }
  auto store = Store::open(flags.store.empty() ? Store::default_path() : flags.store);
  if (!store) return fail(store.error(), kUsage);
  StoreAdded sum;
  for (const Store& other : others) {
    const auto count = store->merge(other);
    if (!count) return fail(count.error(), kFailed);
    sum.added += count->added;
    sum.known += count->known;
  }
  return print_added(sum, flags.json);
}

int run_verify(const StoreFlags& flags) {
  const auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kFailed);
  const auto findings = store->verify();
  if (!findings) return fail(findings.error(), kFailed);
  if (flags.json) {
    std::vector<Json> array;
    for (const Error& finding : *findings)
      array.push_back({{"where", finding.where},
                       {"given", finding.given},
                       {"limit", finding.limit},
                       {"remedy", finding.remedy},
                       {"notes", finding.notes}});
    std::cout << Json{{"store", store->path()}, {"sound", findings->empty()}, {"findings", array}}.dump(2) << std::endl;
  } else if (findings->empty()) {
    std::cout << store->path() << " is sound" << std::endl;
  } else {
    for (const Error& finding : *findings) std::cout << finding.text() << "\n";
    std::cout << plural(int64_t(findings->size()), "finding") << std::endl;
  }
  return findings->empty() ? kOk : kFailed;
}

// "90d" ago, as a timestamp.
Result<std::string> days_ago(const std::string& text) {
  const auto counts = text.ends_with('d') ? parse_counts("--older-than", text.substr(0, text.size() - 1))
                                          : Result<std::vector<int64_t>>(Error{});
  constexpr int64_t kMostDays = 100'000;
  if (!counts.ok() || counts->size() != 1 || counts->front() > kMostDays)
    return Error{"--older-than", text, "is not a number of days, 1d to 100000d", "try 90d", {}};
  using namespace std::chrono;
  const auto moment = floor<seconds>(system_clock::now()) - days(counts->front());
  const year_month_day day(floor<days>(moment));
  const hh_mm_ss time(moment - floor<days>(moment));
  std::array<char, 32> stamp{};
  std::snprintf(stamp.data(), stamp.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", int(day.year()), unsigned(day.month()),
                unsigned(day.day()), int(time.hours().count()), int(time.minutes().count()),
                int(time.seconds().count()));
  return std::string(stamp.data());
}

int run_gc(const StoreFlags& flags) {
  StoreGc options{.damaged = flags.damaged, .dry_run = flags.dry_run};
  if (!flags.older_than.empty()) {
    const auto moment = days_ago(flags.older_than);
    if (!moment) return fail(moment.error(), kUsage);
    options.measured_before = *moment;
  }
  auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto freed = store->gc(options);
  if (!freed) return fail(freed.error(), kFailed);
  if (flags.json)
    std::cout << Json{{"dropped", freed->dropped},
                      {"kept", freed->kept},
                      {"bytes", freed->bytes},
                      {"dry_run", flags.dry_run}}
                     .dump(2)
              << std::endl;
  else
    std::cout << freed_line(*freed, flags.dry_run) << std::endl;
  return kOk;
}

int run_quarantine(const StoreFlags& flags) {
  std::optional<GemmProblem> problem;
  if (!flags.words.empty()) {
    auto read = read_problem(flags.words);
    if (!read) return fail(read.error(), kUsage);
    problem = *std::move(read);
  }
  auto store = open_existing(flags.store, "--store");
  if (!store) return fail(store.error(), kUsage);
  const auto device = fingerprint(flags.here);
  if (!device) return fail(device.error(), kUsage);
  const auto entries = store->quarantine(problem, *device);
  if (!entries) return fail(entries.error(), kFailed);
  if (flags.release)
    if (const auto released = store->release(problem, *device); !released) return fail(released.error(), kFailed);
  if (flags.json)
    std::cout << quarantine_json(*entries) << std::endl;
  else
    std::cout << quarantine_text(*entries, flags.release) << std::flush;
  return kOk;
}

// The commands, each with its flags.
class Commands {
 public:
  Commands(CLI::App& group, Chosen& chosen) : group_(group), chosen_(chosen) {}

  CLI::App* add(const char* name, const char* summary, int (*run)(const StoreFlags&), const char* examples) {
    flags_ = std::make_shared<StoreFlags>();
    command_ = add_command(group_, chosen_, name, summary, flags_, run);
    command_->add_option("--store", flags_->store, "The store; " + Store::default_path() + " without it")
        ->type_name("PATH");
    command_->footer(std::string("Examples:\n") + examples);
    return command_;
  }
  StoreFlags& flags() { return *flags_; }
  void add_json() { command_->add_flag("--json", flags_->json, "Print JSON instead of text"); }
  void add_here() { command_->add_flag("--here", flags_->here, "Only decisions of this device"); }

 private:
  CLI::App& group_;
  Chosen& chosen_;
  CLI::App* command_ = nullptr;
  std::shared_ptr<StoreFlags> flags_;
};

void add_views(Commands& commands) {
  commands.add("list", "List the newest decision for each problem on each device", run_list,
               "  gemmsmith store list --here\n"
               "  gemmsmith store list --json | jq -r '.[].problem'\n");
  commands.add_here();
  commands.add_json();
  CLI::App* show = commands.add("show", "Print the decisions for a problem, losers and refusals too", run_show,
                                "  gemmsmith store show 128x4096x1024 dtype=bf16 b=col\n"
                                "  gemmsmith store show 8x8x8 --history --all\n");
  show->add_option("problem", commands.flags().words, "The problem, in one word or several")
      ->required()
      ->type_name("PROBLEM");
  show->add_flag("--history", commands.flags().history, "Those before the newest too");
  show->add_flag("--all", commands.flags().all, "List every candidate, not only the best 15");
  commands.add_here();
  commands.add_json();
  CLI::App* diff = commands.add("diff", "Show where the newest decisions of two stores differ", run_diff,
                                "  gemmsmith store diff team.sqlite\n"
                                "  gemmsmith store diff new.sqlite --store old.sqlite --json\n");
  diff->add_option("other", commands.flags().other, "The store to compare with")->required()->type_name("OTHER");
  commands.add_json();
}

void add_exchange(Commands& commands) {
  CLI::App* export_ =
      commands.add("export", "Print decisions as JSON lines that can be reviewed and kept in git", run_export,
                   "  gemmsmith store export --newest -o decisions.jsonl\n"
                   "  gemmsmith store export --here | xz > decisions.jsonl.xz\n");
  export_->add_option("-o,--output", commands.flags().file, "Write to a file instead of standard output")
      ->type_name("FILE");
  export_->add_flag("--newest", commands.flags().newest, "Only the newest for each problem and device");
  commands.add_here();
  CLI::App* import = commands.add("import", "Add the decisions of exported lines: all, or none if one is wrong",
                                  run_import, "  gemmsmith store import decisions.jsonl\n");
  import->add_option("file", commands.flags().file, "The lines")->required()->type_name("FILE");
  commands.add_json();
  CLI::App* merge = commands.add("merge", "Add the decisions of other stores", run_merge,
                                 "  gemmsmith store merge laptop.sqlite server.sqlite --store team.sqlite\n");
  merge->add_option("others", commands.flags().others, "The stores to read")->required()->type_name("OTHER");
  commands.add_json();
}

void add_quarantine(Commands& commands) {
  CLI::App* quarantine =
      commands.add("quarantine", "List candidates that crashed and are not tried again", run_quarantine,
                   "  gemmsmith store quarantine\n"
                   "  gemmsmith store quarantine 128x4096x1024 dtype=bf16 --release\n");
  quarantine->add_option("problem", commands.flags().words, "Only those of a problem")->type_name("PROBLEM");
  quarantine->add_flag("--release", commands.flags().release, "Let the next tuning try them again");
  commands.add_here();
  commands.add_json();
}

void add_upkeep(Commands& commands) {
  commands.add("verify", "Check the file and every decision in it; exit with 1 if anything is wrong", run_verify,
               "  gemmsmith store verify\n"
               "  gemmsmith store verify --store team.sqlite --json\n");
  commands.add_json();
  CLI::App* gc = commands.add("gc", "Drop decisions that newer ones have superseded", run_gc,
                              "  gemmsmith store gc --dry-run\n"
                              "  gemmsmith store gc --older-than 90d\n");
  gc->add_option("--older-than", commands.flags().older_than,
                 "Drop what is older too, of other versions, but for the newest for each problem and device")
      ->type_name("DAYS");
  gc->add_flag("--damaged", commands.flags().damaged, "Drop decisions that verify finds damaged too");
  gc->add_flag("--dry-run", commands.flags().dry_run, "Say what would go, and change nothing");
  commands.add_json();
}

}  // namespace

void add_store(CLI::App& app, Chosen& chosen) {
  CLI::App* group = app.add_subcommand("store", "List, compare, exchange, check and clean stored decisions");
  group->require_subcommand(1);
  group->footer(
      "Examples:\n"
      "  gemmsmith store list                        what has been decided\n"
      "  gemmsmith store export -o decisions.jsonl   to review it, or to keep it in git\n"
      "  gemmsmith store merge other.sqlite          to have another machine's decisions too\n"
      "  gemmsmith store verify\n");
  Commands commands(*group, chosen);
  add_views(commands);
  add_exchange(commands);
  add_quarantine(commands);
  add_upkeep(commands);
}

}  // namespace gemmsmith::cli
