// Public bug reports as cases: tests/data/report_cases.csv, whose format tests/data/README.md describes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

struct ReportCase {
  std::string id;
  std::string text;  // the problem in its text form, with types and layouts as the row has them
  std::map<std::string, std::string> special;     // "a" -> "const:nan"
  std::string expected;                           // as it stands there
  bool may_refuse = false, may_be_error = false;  // "refuse|", "error|", "error"

  bool has(const std::string& key) const { return special.contains(key); }
  std::string at(const std::string& key) const { return has(key) ? special.at(key) : std::string(); }
};

// Every row, in order. Asserts that the header is the one that is known.
std::vector<ReportCase> read_report_cases(std::string_view csv);

// Puts the row's data into the operands (memory that the test owns), and makes those that share memory share it.
void fill_report_operands(const ReportCase&, const GemmProblem&, GemmArguments&);

// What D has to be, element by element in the order batch, row, column, rounded to D's type. Also holds the row's sum
// and corners against the reference; `failure` says what does not agree.
struct ReportAnswer {
  std::vector<double> d;
  std::string failure;
};
ReportAnswer expected_answer(const ReportCase&, const GemmProblem&, const GemmArguments&);

// Whether the D of the arguments is what the row asks for; says what is wrong, or nothing.
std::string judge(const ReportCase&, const GemmProblem&, const ReportAnswer&, const GemmArguments&);

}  // namespace gemmsmith
