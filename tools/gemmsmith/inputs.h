// What the words of a command line stand for: problems, model configurations, lists of shapes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/model.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"

namespace gemmsmith::cli {

// The whole file; what cannot be read says why, and which files beside it have a similar name.
Result<std::string> read_file(const std::string& path);
Status write_file(const std::string& path, std::string_view content);

struct Word {
  enum class Kind { problem, model, shapes };
  Kind kind;
  std::string text;  // of a problem, or the path of a file
  friend bool operator==(const Word&, const Word&) = default;
};

// Words that end in .json or .csv, and words with a slash outside an epilogue, are files. All others are joined into
// problems, so that quotes are needed only where the shell wants them; a word that gives an extent (m, n, k, batch or
// MxNxK) which the problem at hand already has starts the next one.
std::vector<Word> group_words(const std::vector<std::string>& words);

// One line of a summary: a problem with its name in its model, if it has one.
struct WorkItem {
  NamedProblem named;
  int group = -1;    // index into Work::groups
  size_t index = 0;  // into Work::distinct
};

// What one pass through a model runs, or one CSV file's rows.
struct WorkGroup {
  std::string name;    // "qwen3-0.6b"
  int64_t tokens = 0;  // of a model; 0 of a CSV file
};

struct Work {
  std::vector<WorkItem> items;
  std::vector<WorkGroup> groups;
  std::vector<GemmProblem> distinct;  // each problem once, the cheapest first
};

// `tokens` is text as --tokens gives it; without it models are taken at 1 and 128. It is an error where no word is a
// model.
Result<Work> read_work(const std::vector<std::string>& words, const std::optional<std::string>& tokens);

// The one problem that all words form together.
Result<GemmProblem> read_problem(const std::vector<std::string>& words);

}  // namespace gemmsmith::cli
