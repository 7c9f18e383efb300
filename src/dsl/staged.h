// Staged values and control flow. Running C++ that uses them records a kernel; nothing here includes MLIR.
//
//   Int, Bool          immutable values. Those known while staging stay C++ numbers: arithmetic on them folds, so
//   static
//                      configuration leaves nothing in the kernel. They cannot be assigned to; `if (Bool)` does not
//                      compile.
//   Vec                a vector of 1, 2, ... lanes of an element type, both known while staging (vec.h).
//   Var<T>, Vars<T>    variables. Every one alive at a loop or `when` becomes a carried value if the body assigns it.
//   for (Int i : range(n)), for (Int part : parallel(parts)), when(condition, [&] {...}, [&] {...})
//
// The line of the author's code travels with every operation: an argument of type IntArg is converted where it is
// written. The first mistake is remembered with its line and ends the recording's result; what follows it is recorded
// nowhere.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <vector>

#include "dsl/kind.h"

namespace gemmsmith {

using Where = std::source_location;

// A value of the kernel: an mlir::Value behind an opaque pointer, or a number known while staging.
struct Scalar {
  Kind kind = Kind::index;
  int lanes = 1;
  void* value = nullptr;
  int64_t integer = 0;
  double real = 0;
  std::optional<int64_t> constant() const { return value ? std::nullopt : std::optional(integer); }
};
// The same value, as far as can be told without running the kernel.
bool same(const Scalar&, const Scalar&);

template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool>;

// A non-negative integer: indices, extents, counts. Division, remainder and order are unsigned. 64 bits on a CPU.
struct Int : Scalar {
  template <Number T>
  Int(T n) : Scalar{Kind::index, 1, nullptr, int64_t(n)} {}
  explicit Int(const Scalar& s) : Scalar(s) {}
  Int(const Int&) = default;
  Int& operator=(const Int&) = delete;  // use Var<Int>
};

// Bytes between addresses, 64 bits on every target: what an Int becomes when it is multiplied by a stride.
struct Offset : Scalar {
  template <Number T>
  Offset(T n) : Scalar{Kind::i64, 1, nullptr, int64_t(n)} {}
  explicit Offset(Int n);
  explicit Offset(const Scalar& s) : Scalar(s) {}
  Offset(const Offset&) = default;
  Offset& operator=(const Offset&) = delete;
};

// No C++ condition: `if` cannot test what is known only in the kernel. Use when() and select().
struct Bool : Scalar {
  Bool(bool b) : Scalar{Kind::i1, 1, nullptr, b} {}
  explicit Bool(const Scalar& s) : Scalar(s) {}
  Bool(const Bool&) = default;
  Bool& operator=(const Bool&) = delete;
};

struct Vec : Scalar {
  explicit Vec(const Scalar& s) : Scalar(s) {}
  Vec(const Vec&) = default;
  Vec& operator=(const Vec&) = delete;
};

// An operand together with the line that wrote it.
template <class T>
struct Arg {
  T v;
  Where at;
  template <class U>
    requires std::convertible_to<U, T>
  Arg(U&& u, Where at = Where::current()) : v(T(u)), at(at) {}
};
using IntArg = Arg<Int>;
using BoolArg = Arg<Bool>;
using VecArg = Arg<Vec>;

Int operator+(IntArg, IntArg);
Int operator-(IntArg, IntArg);
Int operator*(IntArg, IntArg);
Int operator/(IntArg, IntArg);
Int operator%(IntArg, IntArg);
Int operator&(IntArg, IntArg);
Int operator^(IntArg, IntArg);
Int operator<<(IntArg, IntArg);
Int operator>>(IntArg, IntArg);
Bool operator==(IntArg, IntArg);
Bool operator!=(IntArg, IntArg);
Bool operator<(IntArg, IntArg);
Bool operator<=(IntArg, IntArg);
Bool operator>(IntArg, IntArg);
Bool operator>=(IntArg, IntArg);
Bool operator&(BoolArg, BoolArg);  // not && and ||: both sides are computed
Bool operator|(BoolArg, BoolArg);
Bool operator!(BoolArg);
Int select(BoolArg, Int, Int);
Int min(IntArg, IntArg);
Int max(IntArg, IntArg);
Int ceil_div(IntArg, IntArg);
Int round_up(IntArg, IntArg);

Offset add(Offset, Offset);
Offset multiply(Offset, Offset);
Offset swizzled(Offset, int64_t mask);  // xor of address bits: layout.h
template <std::same_as<Offset> A, class B>
Offset operator+(const A& a, const B& b) {
  return add(a, Offset(b));
}
template <std::same_as<Offset> B>
Offset operator*(Int a, const B& b) {
  return multiply(Offset(a), b);
}

// Scalars that loops and branches carry when they are assigned. Neither copied nor moved: its address is its identity.
class VarBase {
 public:
  VarBase(const VarBase&) = delete;
  VarBase& operator=(const VarBase&) = delete;

 protected:
  explicit VarBase(std::vector<Scalar> initial);
  ~VarBase();
  std::vector<Scalar> values_;
  friend struct Recording;
};

template <class T>
class Var : VarBase {
 public:
  template <std::convertible_to<T> U>
  Var(const U& initial) : VarBase({T(initial)}) {}
  operator T() const { return T(values_[0]); }
  T get() const { return T(values_[0]); }
  template <std::convertible_to<T> U>
  void operator=(const U& next) {
    values_[0] = T(next);
  }
};

// A grid of variables: the accumulators of a register tile.
template <class T>
class Vars : VarBase {
 public:
  struct Ref {
    Scalar& variable;
    operator T() const { return T(variable); }
    void operator=(const T& next) const { variable = next; }
    void operator=(const Ref& next) const { variable = next.variable; }
  };
  Vars(int rows, int columns, const T& initial)
      : VarBase(std::vector<Scalar>(size_t(rows) * size_t(columns), initial)), columns_(columns) {}
  Ref operator()(int row, int column) { return {values_[at(row, column)]}; }
  T operator()(int row, int column) const { return T(values_[at(row, column)]); }
  int rows() const { return columns_ ? int(values_.size()) / columns_ : 0; }
  int columns() const { return columns_; }

 private:
  size_t at(int row, int column) const { return size_t(row) * size_t(columns_) + size_t(column); }
  int columns_;
};

// The staged loop behind `for (Int i : range(lo, hi))`: the body runs once, while it is recorded. The passes of a
// parallel loop run on the cores of the CPU in any order; what the body assigns stays in the pass.
class Range {
 public:
  Range(Int lo, Int hi, Int step, Where at, bool parallel)
      : lo_(lo), hi_(hi), step_(step), at_(at), parallel_(parallel) {}
  Range(const Range&) = delete;
  ~Range();  // reports a body left by break or return
  struct End {};
  struct Iterator {
    Range* range;
    Int operator*() const { return Int(range->index_); }
    bool operator!=(End) const { return range->open_; }
    void operator++() { range->close(); }
  };
  Iterator begin() {
    open();
    return {this};
  }
  End end() const { return {}; }

 private:
  void open();
  void close();
  Int lo_, hi_, step_;
  Where at_;
  bool parallel_;
  Scalar index_{};
  bool open_ = false;
};
inline Range range(Int lo, Int hi, Int step = 1, Where at = Where::current()) { return {lo, hi, step, at, false}; }
inline Range range(Int n, Where at = Where::current()) { return {0, n, 1, at, false}; }
inline Range parallel(Int n, Where at = Where::current()) { return {0, n, 1, at, true}; }

// Runs one branch or the other. A condition known while staging records only the branch that it takes.
void when(BoolArg condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});

// While one lives, operations are recorded as `name` at the author's line, not at lines of the library. Scopes nest:
// the outermost wins.
class Scope {
 public:
  Scope(const char* name, Where at);
  ~Scope();
  Scope(const Scope&) = delete;

 private:
  bool outermost_ = false;
};

}  // namespace gemmsmith
