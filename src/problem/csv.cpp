#include <algorithm>
#include <limits>
#include <optional>

#include "gemmsmith/model.h"
#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

struct Record {
  int64_t line;  // where it begins
  std::vector<std::string> fields;
};

// RFC 4180: fields may be quoted, with "" for a quote, and hold commas and line breaks then. Blank lines are skipped.
Result<std::vector<Record>> read_records(std::string_view text, std::string_view file) {
  std::vector<Record> records;
  int64_t line = 1;
  size_t at = 0;
  while (at < text.size()) {
    Record record{line, {""}};
    bool quoted = false, any = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '\n') ++line;
      if (c == '\n' && !quoted) break;
      any |= c != '\r' && c != ' ';
      if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
        record.fields.back() += '"';
        ++at;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        record.fields.emplace_back();
      } else {
        record.fields.back() += c;
      }
    }
    ++at;  // the line break
    if (quoted)
      return Error{
          concat(file, ":", record.line), "a quote", "is never closed", "quotes inside a field are written twice", {}};
    for (std::string& field : record.fields) field = trim(field);
    if (any) records.push_back(std::move(record));
  }
  return records;
}

class Table {
 public:
  Table(std::vector<Record> records, std::string_view file) : records_(std::move(records)), file_(file) {
    for (const std::string& name : records_.front().fields) columns_.push_back(lower_case(name));
  }

  Status check_header() const {
    std::vector<std::string> missing;
    for (const char* name : {"m", "n", "k"})
      if (!column({name})) missing.emplace_back(name);
    if (missing.empty()) return Done{};
    return Error{concat(file_, ":", records_.front().line),
                 concat("column ", join(missing, ", ")),
                 "is missing in the header",
                 concat("it has ", shown(join(columns_, ", "), 400)),
                 {}};
  }

  Result<std::vector<NamedProblem>> problems() const {
    std::vector<NamedProblem> problems;
    for (size_t i = 1; i < records_.size(); ++i) {
      GS_TRY(NamedProblem problem, row(records_[i]));
      problems.push_back(std::move(problem));
    }
    return problems;
  }

 private:
  std::optional<size_t> column(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto found = std::find(columns_.begin(), columns_.end(), name);
      if (found != columns_.end()) return size_t(found - columns_.begin());
    }
    return std::nullopt;
  }

  Error error(const Record& record, size_t column, std::string limit, std::string remedy) const {
    return {concat(file_, ":", record.line, ", column ", columns_[column]),
            in_quotes(record.fields[column]),
            std::move(limit),
            std::move(remedy),
            {}};
  }

  Result<int64_t> size(const Record& record, std::initializer_list<const char*> names, int64_t least,
                       int64_t absent) const {
    const auto at = column(names);
    if (!at) return absent;
    const auto value = parse_integer(record.fields[*at]);
    if (value && *value >= least) return *value;
    return error(record, *at, concat("is not a whole number of ", least, " or more"), {});
  }

  Result<DataType> type(const Record& record) const {
    const auto at = column({"dtype"});
    if (!at || record.fields[*at].empty()) return DataType::bf16;
    const auto type = data_type_named(lower_case(record.fields[*at]));
    if (type && *type != DataType::f64 && *type != DataType::i32) return *type;
    return error(record, *at, "is not an element type of A and B", "use f32, f16, bf16 or i8");
  }

  Result<MatrixSpec> matrix(const Record& record, const char* name, std::string_view absent, const MatrixSpec& row,
                            const MatrixSpec& col) const {
    const auto at = column({name});
    const std::string layout = at ? record.fields[*at] : std::string(absent);
    if (layout == "R") return row;
    if (layout == "C") return col;
    if (layout == "B0") return MatrixSpec{row.type, 0, 1, 0};
    if (layout == "B1") return MatrixSpec{row.type, 1, 0, 0};
    return error(record, *at, "is not a layout",
                 "use R (row-major), C (column-major), B0 (one row for all) or B1 (one column for all)");
  }

  Result<NamedProblem> row(const Record& record) const {
    if (record.fields.size() != columns_.size())
      return Error{concat(file_, ":", record.line),
                   concat(record.fields.size(), record.fields.size() == 1 ? " field" : " fields"),
                   concat("where the header has ", columns_.size()),
                   {},
                   {}};
    NamedProblem named;
    named.line = record.line;
    if (const auto at = column({"name", "op"})) named.name = record.fields[*at];
    GS_TRY(named.count, size(record, {"count", "calls"}, 1, 1));
    GemmProblem& p = named.problem;
    GS_TRY(p.m, size(record, {"m"}, 0, 0));
    GS_TRY(p.n, size(record, {"n"}, 0, 0));
    GS_TRY(p.k, size(record, {"k"}, 0, 0));
    GS_TRY(p.batch, size(record, {"batch", "b"}, 0, 1));
    GS_TRY(const DataType t, type(record));
    GS_TRY(p.a, matrix(record, "laya", "R", row_major(t, p.m, p.k, p.batch), column_major(t, p.m, p.k, p.batch)));
    GS_TRY(p.b, matrix(record, "layb", "C", row_major(t, p.k, p.n, p.batch), column_major(t, p.k, p.n, p.batch)));
    p.c = p.d = row_major(default_output(t), p.m, p.n, p.batch);
    p.acc = default_accumulator(t);
    Status valid = p.validate();
    if (!valid.ok()) return std::move(valid).error().note(concat("in ", file_, ":", record.line));
    return named;
  }

  std::vector<Record> records_;
  std::string file_;
  std::vector<std::string> columns_;
};

}  // namespace

Result<std::vector<NamedProblem>> csv_problems(std::string_view text, std::string_view file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the byte order mark of some editors
  GS_TRY(std::vector<Record> records, read_records(text, file));
  if (records.empty())
    return Error{std::string(file), "the file", "is empty", "expected a header with the columns m, n and k", {}};
  const Table table(std::move(records), file);
  GS_CHECK(table.check_header());
  return table.problems();
}

}  // namespace gemmsmith
