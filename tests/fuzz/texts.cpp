// Problems, expressions, configurations, lists of shapes, case files, words of the command line.
#include <algorithm>
#include <cmath>

#include "fuzz/targets.h"
#include "gemmsmith/cases.h"
#include "gemmsmith/expr.h"
#include "gemmsmith/model.h"
#include "gemmsmith/problem.h"
#include "inputs.h"
#include "support/text.h"
#include "templates/config.h"

namespace gemmsmith::fuzz {
namespace {

// Problems are equal exactly if their texts are.
void require_round_trip(const GemmProblem& p) {
  const std::string text = p.print();
  const auto back = GemmProblem::parse(text);
  require(back.ok(), "a printed problem parses", text);
  require(*back == p, "a printed problem parses back to itself", text);
  require(back->print() == text, "the printed text is canonical", text);
  require(p.flops() >= 0 && p.bytes() >= 0, "work is not negative", text);
}

template <class Named>
void require_valid(const Result<std::vector<Named>>& list) {
  if (!list.ok()) return require_readable(list.error());
  for (const auto& named : *list) {
    require(named.problem.validate().ok(), "what is read is valid", named.problem.print());
    require_round_trip(named.problem);
  }
}

struct ExampleConfig {
  int mr = 8, nr = 32, kc = 256, prefetch = 0;
  template <class F>
  void fields(F&& f) {
    f("mr", mr), f("nr", nr), f("kc", kc), f("prefetch", prefetch);
  }
};

}  // namespace

void problem(std::string_view text) {
  const auto parsed = GemmProblem::parse(text);
  if (!parsed.ok()) return require_readable(parsed.error());
  require_round_trip(*parsed);
}

void expression(std::string_view text) {
  const auto parsed = Expr::parse(text);
  if (!parsed.ok()) return require_readable(parsed.error());
  const std::string printed = parsed->print();
  const auto back = Expr::parse(printed);
  require(back.ok(), "a printed expression parses", printed);
  require(*back == *parsed && back->print() == printed, "a printed expression parses back to itself", printed);
  if (const auto inputs = inputs_of(*parsed); !inputs.ok()) require_readable(inputs.error());
  const auto input = [](const std::string& name) { return double(name.size()) - 2.5; };
  for (const double accumulator : {0.0, -1.5, 1e30, HUGE_VAL}) {
    const double value = evaluate(*parsed, accumulator, input), again = evaluate(*back, accumulator, input);
    require(value == again || (std::isnan(value) && std::isnan(again)), "equal trees have equal values", printed);
  }
}

void model(std::string_view json) {
  for (const int64_t tokens : {int64_t(1), int64_t(128), int64_t(1) << 40}) require_valid(model_problems(json, tokens));
}

void csv(std::string_view text) { require_valid(csv_problems(text)); }

// Files of many cases only take longer: commas are a bound of what a line multiplies out to.
void cases(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    double most = 1;
    for (const std::string_view list : split(line, '{')) most *= 1 + double(std::count(list.begin(), list.end(), ','));
    if (most > 500) return;
  }
  require_valid(read_cases(std::string(text), "fuzzed.cases"));
}

void config(std::string_view text) {
  const auto read = read_config<ExampleConfig>(text);
  if (!read.ok()) return require_readable(read.error());
  const std::string printed = print_config(*read);
  const auto back = read_config<ExampleConfig>(printed);
  require(back.ok() && print_config(*back) == printed, "a printed configuration reads back as itself", printed);
}

void command_words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\n')) words.emplace_back(word);
  size_t grouped = 0;
  for (const cli::Word& word : cli::group_words(words)) {
    grouped += word.text.size();
    if (word.kind == cli::Word::Kind::problem) problem(word.text);
  }
  require(grouped <= text.size(), "no word is grouped twice", text);
  if (const auto parsed = cli::read_problem(words); !parsed.ok()) require_readable(parsed.error());
}

}  // namespace gemmsmith::fuzz
