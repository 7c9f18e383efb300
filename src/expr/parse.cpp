#include "expr/parse.h"

#include <charconv>
#include <limits>
#include <optional>

#include "expr/names.h"
#include "expr/node.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kOperand = "expected a number, acc, an input, a function or (";

// Recursive descent, one function a rule of the grammar in gemmsmith/expr.h.
class Parser {
 public:
  Parser(std::string_view text, std::string_view where, int64_t first_column)
      : text_(text), where_(where), first_column_(first_column) {}

  Result<Expr> whole() {
    GS_TRY(Expr e, expression());
    if (skip_space(); at_ < text_.size()) return unexpected("expected an operator or the end");
    return e;
  }

 private:
  struct Operator {
    std::string_view text;
    Expr::Op op;
  };
  // Longer ones first: "<=" begins with "<".
  static constexpr Operator kComparisons[] = {{"<=", Expr::Op::less_equal}, {">=", Expr::Op::greater_equal},
                                              {"==", Expr::Op::equal},      {"!=", Expr::Op::not_equal},
                                              {"<", Expr::Op::less},        {">", Expr::Op::greater}};
  static constexpr Operator kSums[] = {{"+", Expr::Op::add}, {"-", Expr::Op::sub}};
  static constexpr Operator kProducts[] = {{"*", Expr::Op::mul}, {"/", Expr::Op::div}};

  Result<Expr> expression() {
    GS_TRY(Expr left, sum());
    const auto op = take(kComparisons);
    if (!op) return left;
    GS_TRY(Expr right, sum());
    if (skip_space(); peek(kComparisons))
      return error(at_, found(), "follows another comparison", "use parentheses: comparisons do not chain");
    return checked(Expr::binary(*op, std::move(left), std::move(right)));
  }
  Result<Expr> sum() { return chain(kSums, &Parser::product); }
  Result<Expr> product() { return chain(kProducts, &Parser::unary); }

  Result<Expr> chain(std::span<const Operator> operators, Result<Expr> (Parser::*operand)()) {
    GS_TRY(Expr left, (this->*operand)());
    while (const auto op = take(operators)) {
      GS_TRY(Expr right, (this->*operand)());
      GS_TRY(left, checked(Expr::binary(*op, std::move(left), std::move(right))));
    }
    return left;
  }

  Result<Expr> unary() {
    const Nesting level(*this);
    if (nesting_ > kMaxNesting)
      return error(at_, "nesting", concat("is deeper than ", kMaxNesting, " levels, the limit for expressions"), {});
    skip_space();
    if (!take('-')) return primary();
    if (skip_space(); at_number()) return number(-1);
    if (take_word("inf")) return Expr::constant(-std::numeric_limits<double>::infinity());
    GS_TRY(Expr operand, unary());
    return checked(Expr::negate(std::move(operand)));
  }

  Result<Expr> primary() {
    if (at_number()) return number(1);
    if (take('(')) {
      GS_TRY(Expr inner, expression());
      if (skip_space(); !take(')')) return unexpected("expected an operator or )");
      return inner;
    }
    const size_t begin = at_;
    const std::string_view name = word();
    if (name.empty()) return unexpected(kOperand);
    if (name == "acc") return accumulator(begin);
    if (name == "inf") return Expr::constant(std::numeric_limits<double>::infinity());
    if (name == "nan") return Expr::constant(std::numeric_limits<double>::quiet_NaN());
    if (skip_space(); take('(')) return call(name, begin);
    if (reserved_word(name))
      return error(begin, std::string(name), "is a function and cannot name an input",
                   concat("write ", call_form(name)));
    return input(name);
  }

  Result<Expr> accumulator(size_t begin) {
    if (skip_space(); at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      return error(begin, concat("acc", text_[at_]), "is not possible: acc is the accumulator of the element itself",
                   "write acc");
    return Expr();
  }

  Result<Expr> number(int sign) {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code == std::errc::invalid_argument) return unexpected(kOperand);
    if (code == std::errc::result_out_of_range)
      return error(at_, std::string(begin, end), "is out of range: a number's size is 0 or from 5e-324 to 1.8e+308",
                   "inf is a number");
    at_ += size_t(end - begin);
    return Expr::constant(sign * value);
  }

  Result<Expr> call(std::string_view function, size_t begin) {
    std::vector<Expr> arguments;
    if (skip_space(); !take(')')) {
      do {
        GS_TRY(Expr argument, expression());
        arguments.push_back(std::move(argument));
        skip_space();
      } while (take(','));
      if (!take(')')) return unexpected("expected an operator, a comma or )");
    }
    Result<Expr> made = Expr::call(function, std::move(arguments));
    if (!made.ok()) {
      Error wrong = std::move(made).error();
      if (arity_of(function) > 0) wrong.given = concat(function, " with ", wrong.given);
      return error(begin, wrong.given, wrong.limit, wrong.remedy);
    }
    return checked(std::move(made).value());
  }

  Result<Expr> input(std::string_view name) {
    const size_t begin = at_;
    if (skip_space(); !take('[')) return Expr::input(std::string(name), InputIndex::scalar);
    const size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return error(begin, "[", "is never closed", "use [m], [n] or [m,n]");
    std::string index;
    for (const std::string_view part : split(text_.substr(at_, end - at_), ',')) {
      if (!index.empty()) index += ',';
      index += trim(part);
    }
    at_ = end + 1;
    if (index == "m") return Expr::input(std::string(name), InputIndex::row);
    if (index == "n") return Expr::input(std::string(name), InputIndex::column);
    if (index == "m,n") return Expr::input(std::string(name), InputIndex::full);
    return error(begin, concat(shown(name), shown(text_.substr(begin, end + 1 - begin))),
                 "has an index that is not known",
                 "use [m] for a value a row, [n] for a value a column, [m,n] for a full tensor");
  }

  // ---- characters
  void skip_space() {
    while (at_ < text_.size() && trim(text_.substr(at_, 1)).empty()) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<Expr::Op> peek(std::span<const Operator> operators) {
    for (const Operator& o : operators)
      if (text_.substr(at_).starts_with(o.text)) return o.op;
    return std::nullopt;
  }
  std::optional<Expr::Op> take(std::span<const Operator> operators) {
    skip_space();
    for (const Operator& o : operators)
      if (text_.substr(at_).starts_with(o.text)) {
        at_ += o.text.size();
        return o.op;
      }
    return std::nullopt;
  }
  bool at_number() const {
    return at_ < text_.size() && (text_[at_] == '.' || (text_[at_] >= '0' && text_[at_] <= '9'));
  }
  std::string_view peek_word() const {
    size_t length = 0;
    while (at_ + length < text_.size() && is_name_character(text_[at_ + length], length == 0)) ++length;
    return text_.substr(at_, length);
  }
  std::string_view word() {
    const std::string_view taken = peek_word();
    at_ += taken.size();
    return taken;
  }
  bool take_word(std::string_view wanted) {
    if (peek_word() != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  // ---- errors
  struct Nesting {
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Parser& parser_;
  };
  Result<Expr> checked(Expr e) const {
    if (e.depth() > kMaxParsedDepth)
      return error(at_, "this operator",
                   concat("makes the expression deeper than ", kMaxParsedDepth, " levels, the limit"), {});
    return e;
  }
  std::string found() const {
    if (at_ >= text_.size()) return "the end of the text";
    size_t length = 1;  // a character of UTF-8 is shown whole
    while (at_ + length < text_.size() && (text_[at_ + length] & 0xc0) == 0x80) ++length;
    return concat('"', text_.substr(at_, length), '"');
  }
  Error unexpected(std::string_view expected) const { return error(at_, found(), "is not expected here", expected); }
  Error error(size_t at, std::string given, std::string limit, std::string_view remedy) const {
    return {concat(where_, ", column ", first_column_ + int64_t(at)),
            std::move(given),
            std::move(limit),
            std::string(remedy),
            {}};
  }

  std::string_view text_, where_;
  int64_t first_column_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<Expr> parse_expression(std::string_view text, std::string_view where, int64_t first_column) {
  return Parser(text, where, first_column).whole();
}

Result<Expr> Expr::parse(std::string_view text) { return parse_expression(text, "expression"); }

}  // namespace gemmsmith
