// Random expressions for laws.
#pragma once
#include <limits>

#include "gemmsmith/expr.h"
#include "support/random.h"

namespace gemmsmith {

inline Expr random_leaf(Random& random) {
  static const double kNumbers[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    2,
                                    0.5,
                                    -1e-30,
                                    1e30,
                                    0.1,
                                    5e-324,
                                    1.7976931348623157e308,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
  switch (random.below(6)) {
    case 0:
      return Expr();
    case 1:
      return Expr::constant(kNumbers[random.below(std::size(kNumbers))]);
    case 2:
      return Expr::constant(random.normal());
    case 3:
      return Expr::input("bias", InputIndex::column);
    case 4:
      return Expr::input("scale", random.below(2) ? InputIndex::scalar : InputIndex::row);
    default:
      return Expr::input("aux_2", InputIndex::full);
  }
}

inline Expr random_expr(Random& random, int depth) {
  if (depth <= 0) return random_leaf(random);
  const auto child = [&] { return random_expr(random, depth - 1 - int(random.below(2))); };
  switch (random.below(6)) {
    case 0:
      return Expr::negate(child());
    case 1:
      return Expr::where(child(), child(), child());
    case 2:
      return Expr::cast(DataType(1 + random.below(5)), child());
    case 3: {
      const ExprFunction& f = functions()[random.below(functions().size())];
      std::vector<Expr> arguments;
      for (int i = 0; i < f.arity; ++i) arguments.push_back(child());
      return Expr::call(f.name, std::move(arguments)).value();
    }
    default:
      return Expr::binary(Expr::Op(int(Expr::Op::add) + int(random.below(10))), child(), child());
  }
}

}  // namespace gemmsmith
