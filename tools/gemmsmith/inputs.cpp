#include "inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "output/text.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

namespace fs = std::filesystem;

Error unreadable(const fs::path& path, std::string why) {
  std::vector<std::string> beside;
  std::error_code code;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    beside.push_back(it->path().filename().string());
  std::sort(beside.begin(), beside.end());
  const std::vector<std::string> near = near_names(path.filename().string(), beside);
  return {path.string(), "the file", std::move(why), near.empty() ? "" : "near it: " + join(near, ", "), {}};
}

// The extents that a word gives: "m", "n", "k", "batch". MxNxK gives three or four of them at once.
std::set<std::string> extents_of(const std::string& word) {
  std::set<std::string> extents;
  std::istringstream tokens(word);
  for (std::string token; tokens >> token;) {
    const size_t assigned = token.find('=');
    const std::string key = token.substr(0, assigned);
    if (assigned != std::string::npos && (key == "m" || key == "n" || key == "k" || key == "batch"))
      extents.insert(key);
    const auto crosses = std::count(token.begin(), token.end(), 'x');
    if (token.find_first_not_of("0123456789x") == std::string::npos && crosses >= 2) {
      extents.insert({"m", "n", "k"});
      if (crosses > 2) extents.insert("batch");
    }
  }
  return extents;
}

// Whether the text ends within an epilogue, which the next word with a single = behind a name ends.
bool ends_in_epilogue(const std::string& text) {
  bool inside = false;
  std::istringstream tokens(text);
  for (std::string token; tokens >> token;) {
    const size_t equals = token.find('=');
    if (token.starts_with("epilogue="))
      inside = true;
    else if (equals != token.npos && token.compare(equals, 2, "==") != 0 &&
             token.find_first_of("<>!()[]+-*/,.") >= equals)
      inside = false;
  }
  return inside;
}

Result<std::vector<NamedProblem>> read_named(const Word& word, int64_t tokens) {
  GS_TRY(const std::string text, read_file(word.text));
  GS_TRY(auto named,
         word.kind == Word::Kind::model ? model_problems(text, tokens, word.text) : csv_problems(text, word.text));
  if (named.empty()) return Error{word.text, "the file", "has no problem in it", "", {}};
  return named;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return Error{path, "the path", "is a folder", "give a file in it", {}};
  if (!fs::exists(path, code)) return unreadable(path, "does not exist");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf() || file.eof())) {
    if (file && fs::file_size(path, code) == 0) return std::string();  // no bytes to copy counts as failed
    return Error{path, "the file", std::string("cannot be read: ") + std::strerror(errno), "", {}};
  }
  return std::move(text).str();
}

Status write_file(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), std::streamsize(content.size()));
  file.close();
  if (!file) return Error{path, "the file", std::string("cannot be written: ") + std::strerror(errno), "", {}};
  return Done{};
}

std::vector<Word> group_words(const std::vector<std::string>& words) {
  std::vector<Word> groups;
  bool open = false;  // the last group is a problem that may take more words
  std::set<std::string> given;
  for (const std::string& word : words) {
    const bool in_epilogue = open && ends_in_epilogue(groups.back().text);
    const bool json = word.ends_with(".json"), csv = word.ends_with(".csv");
    const bool path = !in_epilogue && word.find('/') != word.npos && word.find_first_of("=(: ") == word.npos;
    if (json || csv || path) {
      groups.push_back({csv ? Word::Kind::shapes : Word::Kind::model, word});
      open = false;
      continue;
    }
    const std::set<std::string> extents = extents_of(word);
    const bool again =
        std::any_of(extents.begin(), extents.end(), [&](const std::string& e) { return given.count(e) > 0; });
    if (!open || again) {
      groups.push_back({Word::Kind::problem, word});
      given.clear();
    } else {
      groups.back().text += " " + word;
    }
    given.insert(extents.begin(), extents.end());
    open = true;
  }
  return groups;
}

Result<Work> read_work(const std::vector<std::string>& words, const std::optional<std::string>& tokens) {
  GS_TRY(const std::vector<int64_t> counts, parse_counts("--tokens", tokens.value_or("1,128")));
  Work work;
  bool any_model = false;
  for (const Word& word : group_words(words)) {
    if (word.kind == Word::Kind::problem) {
      auto problem = GemmProblem::parse(word.text);
      if (!problem) return std::move(problem).error().note("in the problem `" + word.text + "`");
      work.items.push_back({NamedProblem{"", 1, std::move(*problem)}, -1, 0});
      continue;
    }
    const bool model = word.kind == Word::Kind::model;
    any_model |= model;
    for (int64_t count : model ? counts : std::vector<int64_t>{0}) {
      GS_TRY(auto named, read_named(word, count));
      work.groups.push_back({fs::path(word.text).stem().string(), count});
      for (NamedProblem& n : named) work.items.push_back({std::move(n), int(work.groups.size()) - 1, 0});
    }
  }
  if (tokens && !any_model)
    return Error{"--tokens",
                 *tokens,
                 "is for model configurations, and none is given",
                 "name a config.json, or leave --tokens out",
                 {}};

  for (const WorkItem& item : work.items) {
    if (auto valid = item.named.problem.validate(); !valid) return std::move(valid).error();
    if (std::find(work.distinct.begin(), work.distinct.end(), item.named.problem) == work.distinct.end())
      work.distinct.push_back(item.named.problem);
  }
  // The cheapest first: what they leave of their share of the budget goes to those that need more of it.
  std::stable_sort(work.distinct.begin(), work.distinct.end(),
                   [](const GemmProblem& x, const GemmProblem& y) { return x.flops() < y.flops(); });
  for (WorkItem& item : work.items)
    item.index =
        size_t(std::find(work.distinct.begin(), work.distinct.end(), item.named.problem) - work.distinct.begin());
  return work;
}

Result<GemmProblem> read_problem(const std::vector<std::string>& words) {
  const std::string text = join(words, " ");
  auto problem = GemmProblem::parse(text);
  if (!problem) return std::move(problem).error().note("in the problem `" + text + "`");
  GS_CHECK(problem->validate());
  return problem;
}

}  // namespace gemmsmith::cli
