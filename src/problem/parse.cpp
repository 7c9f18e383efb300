// The text form of a problem: words are collected first and understood in an order of their own, since a word may come
// before the one that it depends on (b=col before the extents).
#include <algorithm>
#include <map>
#include <optional>

#include "expr/parse.h"
#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

const std::vector<std::string> kKeys = {"m", "n", "k",   "batch", "dtype", "a",       "b",
                                        "c", "d", "acc", "alpha", "beta",  "epilogue"};
constexpr std::string_view kTypeNames = "f32, f16, bf16, i8, i32";
constexpr std::string_view kInputPrefix = "epilogue.";

struct Word {
  std::string_view value;
  int64_t column = 0;  // of the value
};

Error error_at(int64_t column, std::string given, std::string limit, std::string remedy) {
  return {concat("problem, column ", column), std::move(given), std::move(limit), std::move(remedy), {}};
}

// What an operand's text says; what it does not say stays open.
struct OperandText {
  std::optional<DataType> type;
  enum class Form { none, row, column, strides } form = Form::none;
  std::optional<int64_t> ld;
  std::vector<int64_t> strides;
  int64_t column = 1;
};

class ProblemParser {
 public:
  explicit ProblemParser(std::string_view text) : text_(text) {}

  Result<GemmProblem> parse() {
    GS_CHECK(collect());
    GS_CHECK(read_extents());
    GS_CHECK(read_operands());
    GS_CHECK(read_number("alpha", p_.alpha));
    GS_CHECK(read_number("beta", p_.beta));
    GS_CHECK(read_epilogue());
    GS_CHECK(read_input_types());
    GS_CHECK(p_.validate());
    return std::move(p_);
  }

 private:
  // ---- words
  Status collect() {
    size_t at = 0;
    for (;;) {
      at = text_.find_first_not_of(" \t\r\n", at);
      if (at == std::string_view::npos) return Done{};
      size_t end = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
      const std::string_view word = text_.substr(at, end - at);
      if (word.starts_with("epilogue=")) end = end_of_epilogue(end);
      GS_CHECK(add(text_.substr(at, end - at), int64_t(at) + 1));
      at = end;
    }
  }

  // An epilogue goes on to the next word of a problem. No expression has such a word in it: there is no single = in one,
  // and no number is followed by an x.
  size_t end_of_epilogue(size_t at) const {
    size_t end = at;
    for (;;) {
      at = text_.find_first_not_of(" \t\r\n", at);
      if (at == std::string_view::npos) return end;
      const size_t word_end = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
      if (begins_word(text_.substr(at, word_end - at))) return end;
      at = end = word_end;
    }
  }

  static bool begins_word(std::string_view word) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return is_extents(word);
    std::string_view key = word.substr(0, equals);
    if (key.starts_with(kInputPrefix)) key.remove_prefix(kInputPrefix.size());
    return is_name(key) && !word.substr(equals + 1).starts_with('=');
  }

  static bool is_extents(std::string_view word) {
    const std::vector<std::string_view> parts = split(word, 'x');
    return parts.size() >= 3 && parts.size() <= 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
             return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
           });
  }

  Status add(std::string_view word, int64_t column) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return add_extents(word, column);
    const std::string key(word.substr(0, equals));
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      const std::string name = key.starts_with(kInputPrefix) ? key.substr(kInputPrefix.size()) : key;
      if (!is_name(name))
        return error_at(column, in_quotes(word), "is not a word of a problem", "words are like dtype=bf16 or b=col");
      input_columns_.emplace(name, column);
      return insert(input_words_, name, {word.substr(equals + 1), column + int64_t(equals) + 1}, column);
    }
    return insert(words_, key, {word.substr(equals + 1), column + int64_t(equals) + 1}, column);
  }

  Status insert(std::map<std::string, Word>& words, const std::string& key, Word word, int64_t column) {
    if (!words.emplace(key, word).second) return error_at(column, shown(key), "is given twice", "give it once");
    return Done{};
  }

  // "128x4096x1024" or "4x128x4096x1024".
  Status add_extents(std::string_view word, int64_t column) {
    if (!is_extents(word))
      return error_at(column, in_quotes(word), "is not a word of a problem", remedy_for_bare(word));
    const std::vector<std::string_view> parts = split(word, 'x');
    const char* keys[] = {"batch", "m", "n", "k"};
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t at = column + (parts[i].data() - word.data());
      GS_CHECK(insert(words_, keys[i + 4 - parts.size()], {parts[i], at}, at));
    }
    return Done{};
  }

  static std::string remedy_for_bare(std::string_view word) {
    if (data_type_named(word)) return concat("did you mean dtype=", word, "?");
    if (word == "row" || word == "col") return concat("did you mean a=", word, " or b=", word, "?");
    return "sizes are MxNxK or BATCHxMxNxK; all other words have an =";
  }

  const Word* word(const std::string& key) const {
    const auto found = words_.find(key);
    return found == words_.end() ? nullptr : &found->second;
  }

  // ---- parts
  Status read_extents() {
    const std::pair<const char*, int64_t*> extents[] = {{"m", &p_.m}, {"n", &p_.n}, {"k", &p_.k}, {"batch", &p_.batch}};
    std::vector<std::string> missing;
    for (const auto& [key, extent] : extents) {
      const Word* given = word(key);
      if (!given) {
        if (extent != &p_.batch) missing.emplace_back(key);
        continue;
      }
      GS_TRY(*extent, integer(key, *given));
      if (*extent < 0)
        return error_at(given->column, concat(key, " = ", *extent), "is negative", "0 and more are sizes");
    }
    if (missing.empty()) return Done{};
    return Error{"problem",
                 join(missing, ", "),
                 missing.size() == 1 ? "is missing" : "are missing",
                 "give the sizes as MxNxK or m= n= k=",
                 {}};
  }

  Result<int64_t> integer(std::string_view key, const Word& given) const {
    if (const auto value = parse_integer(given.value)) return *value;
    return error_at(given.column, concat(key, "=", shown(given.value)), "is not a whole number below 2^63",
                    concat("write ", key, "=128"));
  }

  Result<DataType> type(std::string_view key, const Word& given) const {
    const auto type = data_type_named(given.value);
    if (type && *type != DataType::f64) return *type;
    return error_at(given.column, concat(key, "=", shown(given.value)), "is not an element type of problems",
                    concat("use one of ", kTypeNames));
  }

  Status read_number(const char* key, double& number) {
    const Word* given = word(key);
    if (!given) return Done{};
    const auto value = parse_number(given->value);
    if (!value)
      return error_at(given->column, concat(key, "=", shown(given->value)), "is not a number",
                      concat("write ", key, "=0.5"));
    number = *value;
    return Done{};
  }

  Status read_operands() {
    OperandText texts[4];
    const char* keys[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; ++i)
      if (const Word* given = word(keys[i])) {
        GS_TRY(texts[i], operand(keys[i], *given));
      }
    const auto& [a, b, c, d] = texts;
    DataType base = a.type.value_or(DataType::f32);
    if (const Word* given = word("dtype")) {
      GS_TRY(base, type("dtype", *given));
    }
    const DataType type_a = a.type.value_or(base), type_d = d.type.value_or(default_output(base));
    GS_TRY(p_.a, spec("a", a, type_a, p_.m, p_.k));
    GS_TRY(p_.b, spec("b", b, b.type.value_or(base), p_.k, p_.n));
    GS_TRY(p_.c, spec("c", c, c.type.value_or(type_d), p_.m, p_.n));
    GS_TRY(p_.d, spec("d", d, type_d, p_.m, p_.n));
    p_.acc = default_accumulator(type_a);
    if (const Word* given = word("acc")) {
      GS_TRY(p_.acc, type("acc", *given));
    }
    return Done{};
  }

  // ---- operands
  Result<OperandText> operand(const char* key, const Word& given) const {
    OperandText text;
    text.column = given.column;
    for (const std::string_view part : split(given.value, ':')) {
      const int64_t column = given.column + (part.data() - given.value.data());
      GS_CHECK(operand_part(key, part, column, text));
    }
    if (text.ld && text.form == OperandText::Form::strides)
      return error_at(given.column, concat(key, "=", shown(given.value)), "has strides and ld",
                      "strides() says it all: leave out ld");
    return text;
  }

  Status operand_part(const char* key, std::string_view part, int64_t column, OperandText& text) const {
    const auto twice = [&] {
      return error_at(column, concat(key, "=...:", shown(part)), "says something for the second time",
                      "give type, order and ld once each");
    };
    if (const auto type = data_type_named(part); type && *type != DataType::f64) {
      if (text.type) return twice();
      text.type = *type;
      return Done{};
    }
    if (part.starts_with("ld=")) {
      if (text.ld) return twice();
      GS_TRY(text.ld, integer("ld", {part.substr(3), column + 3}));
      return Done{};
    }
    const bool strides = part.starts_with("strides(") && part.ends_with(")");
    if (!strides && part != "row" && part != "col")
      return error_at(
          column, concat(key, "=", shown(part)), "is not a part of an operand",
          concat("use a type (", kTypeNames, "), row, col, strides(ROW,COLUMN[,BATCH]) or ld=N, joined by colons"));
    if (text.form != OperandText::Form::none) return twice();
    text.form = strides         ? OperandText::Form::strides
                : part == "row" ? OperandText::Form::row
                                : OperandText::Form::column;
    if (!strides) return Done{};
    const std::string_view inside = part.substr(8, part.size() - 9);
    for (const std::string_view stride : split(inside, ',')) {
      GS_TRY(const int64_t value, integer("stride", {stride, column + (stride.data() - part.data())}));
      text.strides.push_back(value);
    }
    if (text.strides.size() == 2 || text.strides.size() == 3) return Done{};
    return error_at(column, shown(part),
                    concat("has ", text.strides.size(), text.strides.size() == 1 ? " stride" : " strides"),
                    "use strides(ROW,COLUMN) or strides(ROW,COLUMN,BATCH)");
  }

  Result<MatrixSpec> spec(const char* key, const OperandText& text, DataType type, int64_t rows,
                          int64_t columns) const {
    if (text.form == OperandText::Form::strides) {
      if (text.strides.size() == 2 && p_.batch > 1)
        return error_at(text.column, concat(key, "=strides(", text.strides[0], ",", text.strides[1], ")"),
                        concat("has no batch stride, and the batch is ", p_.batch),
                        "use strides(ROW,COLUMN,BATCH); a BATCH of 0 is one matrix for all");
      return MatrixSpec{type, text.strides[0], text.strides[1], text.strides.size() == 3 ? text.strides[2] : 0};
    }
    const bool column = text.form == OperandText::Form::column;
    const int64_t least = std::max<int64_t>(column ? rows : columns, 1);
    if (text.ld && *text.ld < least)
      return error_at(text.column, concat("ld=", *text.ld, " of ", key),
                      concat("is less than ", least, ", the length of a ", column ? "column" : "row"),
                      concat("use ld=", least, " or more"));
    return column ? column_major(type, rows, columns, p_.batch, text.ld.value_or(0))
                  : row_major(type, rows, columns, p_.batch, text.ld.value_or(0));
  }

  // ---- epilogue
  Status read_epilogue() {
    const Word* given = word("epilogue");
    if (!given) return Done{};
    GS_TRY(Expr e, parse_expression(given->value, "problem", given->column));
    Status set = p_.set_epilogue(std::move(e));
    if (!set.ok()) {
      Error error = std::move(set).error();
      error.where = concat("problem, column ", given->column, ": ", error.where);
      return error;
    }
    return Done{};
  }

  Status read_input_types() {
    for (const auto& [name, given] : input_words_) {
      const auto input = std::find_if(p_.inputs.begin(), p_.inputs.end(),
                                      [&, key = std::string_view(name)](const InputSpec& i) { return i.name == key; });
      if (input == p_.inputs.end()) {
        std::vector<std::string> known = kKeys;
        for (const InputSpec& i : p_.inputs) known.push_back(i.name);
        return error_at(input_columns_.at(name), in_quotes(name), "is neither a key nor an input of the epilogue",
                        suggest(name, known));
      }
      GS_TRY(input->type, type(name, given));
    }
    return Done{};
  }

  std::string_view text_;
  std::map<std::string, Word> words_, input_words_;
  std::map<std::string, int64_t> input_columns_;  // of the names of input_words_
  GemmProblem p_;
};

}  // namespace

bool clashes_with_key(std::string_view input) {
  return input != "c" && std::find(kKeys.begin(), kKeys.end(), input) != kKeys.end();
}

Result<GemmProblem> GemmProblem::parse(std::string_view text) { return ProblemParser(text).parse(); }

}  // namespace gemmsmith
