// A 64-bit number that is known or symbolic, for layouts whose extents or strides are named rather than given.
//
// A symbol stands for a positive number. What is not known is kept in a normal form, a coefficient times a sorted
// product of atoms, where an atom is a symbol, a sum, or a quotient, remainder, minimum or maximum that does not
// simplify: 6*m/3 is 2*m, m*n/m is n, and equal forms are equal numbers. The converse does not hold, so that "not
// equal" means "not known to be equal".
//
// Arithmetic never wraps: a result beyond 64 bits, or a division by 0, is the overflowed number, which stays one in all
// further arithmetic. Whoever hands results out looks once, at the end.
#pragma once
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

class SymInt {
 public:
  struct Atom;
  // The value of a symbol, or nothing.
  using Values = std::function<std::optional<int64_t>(const std::string& symbol)>;

  template <std::integral T>
  SymInt(T n) : coefficient_(int64_t(n)) {}
  static SymInt symbol(const std::string& name);

  std::optional<int64_t> constant() const;  // nothing: symbolic or overflowed
  bool overflowed() const { return overflowed_; }
  std::string text() const;  // "12", "2*m", "ceil(m/128)", "overflow"
  // Nothing where a symbol has no value or the arithmetic overflows.
  std::optional<int64_t> evaluate(const Values&) const;

  friend SymInt operator+(const SymInt&, const SymInt&);
  friend SymInt operator-(const SymInt&, const SymInt&);
  friend SymInt operator*(const SymInt&, const SymInt&);
  friend SymInt operator/(const SymInt&, const SymInt&);  // rounded down; of known numbers towards 0
  friend SymInt operator%(const SymInt&, const SymInt&);
  friend SymInt ceil_div(const SymInt&, const SymInt&);
  friend SymInt min(const SymInt&, const SymInt&);
  friend SymInt max(const SymInt&, const SymInt&);
  // a / b without remainder, if b is known to divide a.
  friend std::optional<SymInt> exact_quotient(const SymInt& a, const SymInt& b);
  // The same normal form; overflowed numbers are equal to nothing.
  friend bool operator==(const SymInt&, const SymInt&);

 private:
  using Factors = std::vector<std::shared_ptr<const Atom>>;
  static SymInt overflow();
  static SymInt atom(std::string_view function, const SymInt& a, const SymInt& b);
  int64_t coefficient_;
  Factors factors_;  // sorted by text; none: a known number
  bool overflowed_ = false;
};
inline bool divides(const SymInt& b, const SymInt& a) { return exact_quotient(a, b).has_value(); }

// What one leaf of a layout adds per step: a number, or a number along a basis direction, CuTe's scaled basis. 3@1@0
// steps by 3 in part 1 of part 0 of a coordinate; `basis` holds the outermost index first: {0, 1}.
struct Stride {
  SymInt scale;
  std::vector<int> basis;
  template <std::integral T>
  Stride(T n) : scale(n) {}
  Stride(SymInt scale, std::vector<int> basis = {}) : scale(std::move(scale)), basis(std::move(basis)) {}
  std::optional<int64_t> constant() const { return basis.empty() ? scale.constant() : std::nullopt; }
  std::string text() const;
  friend bool operator==(const Stride&, const Stride&) = default;
};
template <std::same_as<Stride> S>  // not of numbers that would become one
Stride operator*(const SymInt& n, const S& s) {
  return {n * s.scale, s.basis};
}

}  // namespace gemmsmith
