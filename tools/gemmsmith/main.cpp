// gemmsmith: the command line. One file a subcommand; they use the public headers and nothing else of the library.
#include <algorithm>
#include <iostream>

#include "command.h"
#include "gemmsmith/worker.h"
#include "output/text.h"

namespace gemmsmith::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  gemmsmith tune models/qwen3-0.6b.json --tokens 1,128   every GEMM of a model, tuned on this machine\n"
    "  gemmsmith tune 128x4096x1024 dtype=bf16 b=col          one GEMM\n"
    "  gemmsmith explain 128x4096x1024 dtype=bf16 b=col       why its winner won\n"
    "  gemmsmith doctor                                       what this machine offers\n"
    "\n"
    "Exit codes: 0 done, 1 what was asked for failed, 2 wrong usage or input, 130 interrupted\n";

std::vector<std::string> option_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The parser's complaint with the names that may have been meant.
Error explain_parse_error(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  std::string program = "gemmsmith";
  size_t depth = 0;  // of the words that named commands
  for (auto parsed = app.get_subcommands(); !parsed.empty(); parsed = command->get_subcommands(), ++depth) {
    command = parsed.front();
    program += " " + command->get_name();
  }
  std::vector<std::string> commands;
  for (const CLI::App* known : command->get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(known->get_name());
  const std::string help = "see " + program + " --help";
  if (!commands.empty()) {
    if (arguments.size() <= depth)
      return {program, "no command", "is given", "one of " + join(commands, ", ") + "; " + help, {}};
    const std::string& word = arguments[depth];
    const auto near = near_names(word, commands);
    if (!word.starts_with('-'))
      return {program,
              word,
              "is not a command",
              (near.empty() ? "" : "near it: " + join(near, ", ") + "; ") + "known: " + join(commands, ", "),
              {}};
  }
  const std::vector<std::string> known = option_names(command);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = near_names(name, known);
    return {program, name, "is not an option", (near.empty() ? "" : "near it: " + join(near, ", ") + "; ") + help, {}};
  }
  return {program, error.what(), "", help, {}};
}

int run(int argc, char** argv) {
  CLI::App app("Finds the fastest correct kernel for every matrix multiplication on the machine at hand.", "gemmsmith");
  app.set_version_flag("--version", std::string("gemmsmith ") + GEMMSMITH_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  Chosen chosen;
  add_tune(app, chosen);
  add_explain(app, chosen);
  add_check(app, chosen);
  add_bench(app, chosen);
  add_emit(app, chosen);
  add_compile(app, chosen);
  add_layout(app, chosen);
  add_simulate(app, chosen);
  add_doctor(app, chosen);
  add_store(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return fail(explain_parse_error(app, error, {argv + 1, argv + argc}), kUsage);
  }
  const int code = chosen();
  std::cout.flush();
  if (code == kOk && !std::cout)
    return fail(
        {"standard output", "the result", "could not be written: the disk is full or the reader is gone", "", {}},
        kFailed);
  return code;
}

}  // namespace
}  // namespace gemmsmith::cli

// Tuning starts this program again, to build and run candidates in it.
int main(int argc, char** argv) {
  if (gemmsmith::is_worker(argc, argv)) return gemmsmith::serve_worker();
  return gemmsmith::cli::run(argc, argv);
}
