#include "gemmsmith/sym_int.h"

#include <algorithm>

#include "support/text.h"

namespace gemmsmith {

// A symbol (no function, name in text), or function(a, b).
struct SymInt::Atom {
  std::string_view function;
  SymInt a, b;
  std::string text;
};

namespace {
using Factors = std::vector<std::shared_ptr<const SymInt::Atom>>;

bool by_text(const Factors::value_type& a, const Factors::value_type& b) { return a->text < b->text; }
bool same(const Factors& a, const Factors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) { return x->text == y->text; });
}

std::string function_text(std::string_view function, const std::string& a, const std::string& b) {
  if (function == "+") return concat('(', a, '+', b, ')');
  if (function == "floor" || function == "ceil") {
    const bool product = b.find('*') != std::string::npos;
    return product ? concat(function, '(', a, "/(", b, "))") : concat(function, '(', a, '/', b, ')');
  }
  return concat(function, '(', a, ',', b, ')');
}

std::optional<int64_t> apply(std::string_view function, int64_t a, int64_t b) {
  int64_t sum = 0;
  if (function == "+") return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
  if (function == "min") return std::min(a, b);
  if (function == "max") return std::max(a, b);
  if (b == 0 || (a == INT64_MIN && b == -1)) return {};
  if (function == "floor") return a / b;
  if (function == "mod") return a % b;
  return a / b + (a % b != 0 && (a < 0) == (b < 0));  // ceil
}
}  // namespace

SymInt SymInt::symbol(const std::string& name) {
  SymInt n(1);
  n.factors_.push_back(std::make_shared<const Atom>(Atom{"", 0, 0, name}));
  return n;
}

SymInt SymInt::overflow() {
  SymInt n(0);
  n.overflowed_ = true;
  return n;
}

// function(a, b), folded where both are known.
SymInt SymInt::atom(std::string_view function, const SymInt& a, const SymInt& b) {
  if (a.overflowed_ || b.overflowed_) return overflow();
  if (a.factors_.empty() && b.factors_.empty()) {
    const auto value = apply(function, a.coefficient_, b.coefficient_);
    return value ? SymInt(*value) : overflow();
  }
  SymInt n(1);
  n.factors_.push_back(std::make_shared<const Atom>(Atom{function, a, b, function_text(function, a.text(), b.text())}));
  return n;
}

std::optional<int64_t> SymInt::constant() const {
  return overflowed_ || !factors_.empty() ? std::nullopt : std::optional(coefficient_);
}

std::string SymInt::text() const {
  if (overflowed_) return "overflow";
  std::string text = coefficient_ == 1 && !factors_.empty() ? "" : format_integer(coefficient_);
  for (const auto& factor : factors_) text += (text.empty() ? "" : "*") + factor->text;
  return text;
}

std::optional<int64_t> SymInt::evaluate(const Values& values) const {
  if (overflowed_) return {};
  int64_t product = coefficient_;
  for (const auto& factor : factors_) {
    std::optional<int64_t> value;
    if (factor->function.empty()) {
      value = values(factor->text);
    } else {
      const auto a = factor->a.evaluate(values), b = factor->b.evaluate(values);
      if (a && b) value = apply(factor->function, *a, *b);
    }
    if (!value || __builtin_mul_overflow(product, *value, &product)) return {};
  }
  return product;
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  if (a.constant() == 0) return b;
  if (b.constant() == 0) return a;
  if (!a.factors_.empty() && same(a.factors_, b.factors_)) {
    SymInt sum = a;
    if (__builtin_add_overflow(a.coefficient_, b.coefficient_, &sum.coefficient_)) return SymInt::overflow();
    if (sum.coefficient_ == 0) sum.factors_.clear();
    return sum;
  }
  return a.text() <= b.text() ? SymInt::atom("+", a, b) : SymInt::atom("+", b, a);
}

SymInt operator-(const SymInt& a, const SymInt& b) { return a + SymInt(-1) * b; }

SymInt operator*(const SymInt& a, const SymInt& b) {
  if (a.overflowed_ || b.overflowed_) return SymInt::overflow();
  SymInt product(0);
  if (__builtin_mul_overflow(a.coefficient_, b.coefficient_, &product.coefficient_)) return SymInt::overflow();
  if (product.coefficient_ == 0) return product;
  std::merge(a.factors_.begin(), a.factors_.end(), b.factors_.begin(), b.factors_.end(),
             std::back_inserter(product.factors_), by_text);
  return product;
}

std::optional<SymInt> exact_quotient(const SymInt& a, const SymInt& b) {
  if (a.overflowed_ || b.overflowed_ || b.coefficient_ == 0 || (a.coefficient_ == INT64_MIN && b.coefficient_ == -1))
    return {};
  if (a.coefficient_ == 0) return a;
  if (a.coefficient_ % b.coefficient_ != 0) return {};
  if (!std::includes(a.factors_.begin(), a.factors_.end(), b.factors_.begin(), b.factors_.end(), by_text)) return {};
  SymInt quotient(a.coefficient_ / b.coefficient_);
  std::set_difference(a.factors_.begin(), a.factors_.end(), b.factors_.begin(), b.factors_.end(),
                      std::back_inserter(quotient.factors_), by_text);
  return quotient;
}

SymInt operator/(const SymInt& a, const SymInt& b) {
  if (const auto quotient = exact_quotient(a, b)) return *quotient;
  return SymInt::atom("floor", a, b);
}

SymInt operator%(const SymInt& a, const SymInt& b) {
  if (divides(b, a)) return 0;
  return SymInt::atom("mod", a, b);
}

SymInt ceil_div(const SymInt& a, const SymInt& b) {
  if (const auto quotient = exact_quotient(a, b)) return *quotient;
  return SymInt::atom("ceil", a, b);
}

SymInt min(const SymInt& a, const SymInt& b) { return a == b ? a : SymInt::atom("min", a, b); }
SymInt max(const SymInt& a, const SymInt& b) { return a == b ? a : SymInt::atom("max", a, b); }

bool operator==(const SymInt& a, const SymInt& b) {
  return !a.overflowed_ && !b.overflowed_ && a.coefficient_ == b.coefficient_ && same(a.factors_, b.factors_);
}

std::string Stride::text() const {
  std::string text = scale.text();
  for (size_t i = basis.size(); i > 0; --i) text += concat('@', basis[i - 1]);
  return text;
}

}  // namespace gemmsmith
