// Scalar expressions: what happens to an accumulator on its way out, as one tree that the float64 reference evaluates,
// the compiler lowers and people read: `gelu(acc + bias[n])`, `silu(acc) * aux[m,n]`, `relu(acc) + c[m,n]`.
//
// Grammar (white space is free):
//   expression := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?     gives 1 or 0; comparisons do not chain
//   sum        := product (("+" | "-") product)*
//   product    := unary (("*" | "/") unary)*
//   unary      := "-" unary | primary                                     "-" before a number makes a negative number
//   primary    := number | "inf" | "nan" | "acc" | input | call | "(" expression ")"
//   call       := function "(" expression ("," expression)* ")"
//   input      := name | name "[m]" | name "[n]" | name "[m,n]"           a scalar, one value a row, a column, a tensor
//   function   := those of functions(); where(condition, x, y); a cast is named after its type: f32 f16 bf16 i8 i32
//
// NaN: min and max give NaN when either side is NaN (so do relu, clamp and all that is made of them); comparisons with
// NaN are 0, only != is 1; where() takes x unless the condition is 0, so a NaN condition takes x.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/data_type.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

// How an input is indexed: it decides the shape of the memory behind its name.
enum class InputIndex : uint8_t { scalar, row /* [m] */, column /* [n] */, full /* [m,n] */ };

class Expr {
 public:
  enum class Kind : uint8_t { accumulator, constant, input, unary, binary, compare, where, cast, call };
  enum class Op : uint8_t {
    none,
    negate,
    add,
    sub,
    mul,
    div,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal
  };
  struct Node;

  Expr();  // the accumulator itself: `acc`
  static Expr constant(double);
  static Expr input(std::string name, InputIndex);
  static Expr binary(Op, Expr, Expr);  // arithmetic and comparisons
  static Expr negate(Expr);
  static Expr where(Expr condition, Expr x, Expr y);
  // Rounds to the type (nearest, even; integers saturate, NaN becomes 0) and goes on with that. f64 rounds nothing.
  static Expr cast(DataType, Expr);
  // A function, `where` or a cast by its name. Errors: an unknown name, the wrong number of arguments.
  static Result<Expr> call(std::string_view function, std::vector<Expr> arguments);

  // Reads an expression. Errors say the column, what was found, what was expected, and near or all known names for an
  // unknown one. Nesting beyond 200 levels and chains beyond 1000 operators are errors: no input overflows the stack.
  static Result<Expr> parse(std::string_view text);
  std::string print() const;  // with the fewest parentheses; parse(print()) is the same tree

  Kind kind() const;
  Op op() const;
  double number() const;            // of a constant
  const std::string& name() const;  // of an input or a called function
  InputIndex index() const;         // of an input
  DataType type() const;            // of a cast
  std::span<const Expr> children() const;
  int depth() const;  // levels of the tree, 1 for a leaf
  // The same for shared subtrees: expand() uses an argument as often as its definition does, and a walk that visits
  // each node once stays linear where one of the tree would be exponential (expr/linear.h).
  const void* identity() const { return node_.get(); }
  bool is_accumulator() const { return kind() == Kind::accumulator; }
  friend bool operator==(const Expr&, const Expr&);

 private:
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

struct ExprInput {
  std::string name;
  InputIndex index;
  friend bool operator==(const ExprInput&, const ExprInput&) = default;
};
// The inputs of an expression in order of first use, each once; an error if one name is used with two indices.
Result<std::vector<ExprInput>> inputs_of(const Expr&);

// A function that expressions can call. Primitives have an `evaluate` and are lowered by each target; all others are
// defined by an expression over x, y, z, from which reference, compiler and simulator follow: adding one is one line.
//
// A target computes primitives in f32. Its result may be off by `relative_error` * |result| + `absolute_error`, both in
// unit roundoffs of f32 (2^-24), and subnormal results may be 0. The reference's tolerance is made of these.
struct ExprFunction {
  std::string_view name;
  int arity;
  double (*evaluate)(const double* arguments);  // of a primitive; else null
  double relative_error, absolute_error;        // of a primitive
  std::string_view definition;                  // of a derived function: "x / (1 + exp(-x))"
};
std::span<const ExprFunction> functions();
const ExprFunction* function_named(std::string_view);

// The tree with every derived function replaced by its definition: what compilers lower.
Expr expand(const Expr&);

// Evaluates in float64, casts rounding as they say. `input` gives the value of an input by its name.
double evaluate(const Expr&, double accumulator, const std::function<double(const std::string&)>& input);

}  // namespace gemmsmith
