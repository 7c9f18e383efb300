#include "gemmsmith/cases.h"
#include "gemmsmith/model.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr size_t kMaxCasesPerLine = 100'000;
constexpr size_t kMaxBytesPerLine = 64'000'000;  // of all cases of a line together

Error case_error(const std::string& file, int line, Error error) {
  error.where = file + ":" + std::to_string(line) + (error.where.empty() ? "" : ": " + error.where);
  return error;
}

// "m={1,2} n={3,4}" -> "m=1 n=3", "m=1 n=4", "m=2 n=3", "m=2 n=4". Braces do not nest.
Result<std::vector<std::string>> multiply_out(const std::string& text) {
  std::vector<std::string> done = {""};
  size_t bytes = 0;  // of all of it
  const auto too_long = [] {
    return Error{"",
                 "its cases",
                 "take more than " + std::to_string(kMaxBytesPerLine) + " bytes, the limit for one line",
                 "shorten its lists",
                 {}};
  };
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find('{', at);
    const std::string plain = text.substr(at, open == text.npos ? text.npos : open - at);
    if (plain.find('}') != plain.npos)
      return Error{"", "\"}\"", "has no \"{\" before it", "lists look like m={1,2,3}", {}};
    bytes += done.size() * plain.size();
    if (bytes > kMaxBytesPerLine) return too_long();
    for (std::string& s : done) s += plain;
    if (open == text.npos) break;
    const size_t close = text.find('}', open);
    if (close == text.npos) return Error{"", "\"{\"", "has no \"}\" after it", "lists look like m={1,2,3}", {}};
    const std::string inside = text.substr(open + 1, close - open - 1);
    if (inside.find('{') != inside.npos)
      return Error{"", "\"{" + shown(inside) + "}\"", "has a list inside a list", "lists look like m={1,2,3}", {}};
    std::vector<std::string> next;
    bytes = 0;
    for (const std::string& s : done) {
      // Commas inside parentheses belong to the alternative: epilogue={acc,clamp(acc, 0, 6)}.
      int depth = 0;
      std::string alternative;
      for (size_t i = 0; i <= inside.size(); ++i) {
        const char c = i < inside.size() ? inside[i] : ',';
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c == ',' && (depth == 0 || i == inside.size())) {
          next.push_back(s + std::string(trim(alternative)));
          bytes += next.back().size();
          alternative.clear();
        } else {
          alternative += c;
        }
      }
      if (next.size() > kMaxCasesPerLine)
        return Error{"",
                     std::to_string(next.size()) + " or more cases",
                     "are over the limit of " + std::to_string(kMaxCasesPerLine) + " for one line",
                     "shorten its lists",
                     {}};
      if (bytes > kMaxBytesPerLine) return too_long();
    }
    done = std::move(next);
    at = close + 1;
  }
  return done;
}

Result<std::vector<CaseLine>> read_shapes(const std::string& text, const std::string& file) {
  GS_TRY(std::vector<NamedProblem> named, csv_problems(text, file));
  std::vector<CaseLine> cases;
  for (NamedProblem& n : named) cases.push_back({int(n.line), {}, std::move(n.problem)});
  return cases;
}

}  // namespace

Result<std::vector<CaseLine>> read_cases(const std::string& text, const std::string& file) {
  if (file.ends_with(".csv")) return read_shapes(text, file);
  std::vector<CaseLine> cases;
  std::vector<std::string> sources;
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string line(trim(raw.substr(0, raw.find('#'))));
    if (line.empty()) continue;
    if (line.starts_with("sources=")) {
      sources.clear();
      for (const std::string_view name : split(std::string_view(line).substr(8), ','))
        if (!trim(name).empty()) sources.emplace_back(trim(name));
      continue;
    }
    Result<std::vector<std::string>> problems = multiply_out(line);
    if (!problems.ok()) return case_error(file, number, problems.error());
    for (const std::string& problem : *problems) {
      Result<GemmProblem> parsed = GemmProblem::parse(problem);
      if (!parsed.ok()) return case_error(file, number, parsed.error()).note("in \"" + shown(problem, 400) + "\"");
      cases.push_back({number, sources, std::move(parsed).value()});
    }
  }
  return cases;
}

}  // namespace gemmsmith
