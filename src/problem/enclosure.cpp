#include "problem/enclosure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/half.h"

namespace gemmsmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;  // unit roundoff of f32
constexpr double kLargest = std::numeric_limits<float>::max();
// Results closer to zero may be zero: subnormals are flushed by some units, and vector exp() of some libraries gives 0 for results
// below 2^-118, a factor that silu and sigmoid at -88 would show.
constexpr double kFlushed = 0x1p-118;

// The bounds of several possible results. A NaN among them says nothing about the size of the others.
class Hull {
 public:
  explicit Hull(double value) : result_{value, kInfinity, -kInfinity, false} { include(value); }
  void include(double x) {
    if (std::isnan(x)) {
      result_.may_be_nan = true;
    } else {
      result_.low = std::min(result_.low, x);
      result_.high = std::max(result_.high, x);
    }
  }
  void include(const Enclosure& e) {
    result_.may_be_nan |= e.may_be_nan;
    if (e.low <= e.high) include(e.low), include(e.high);
  }
  Enclosure get() const { return result_; }

 private:
  Enclosure result_;  // empty bounds (low > high) if all is NaN
};

// The operands' ends, values and, where an operand may be either side of it, zero: monotone functions and those with
// one turn at zero take their extremes there.
int points_of(const Enclosure& e, double* points) {
  int count = 0;
  if (e.low <= e.high) {
    points[count++] = e.low;
    points[count++] = e.high;
    if (e.low < 0 && e.high > 0) points[count++] = 0;
  }
  if (!std::isnan(e.value)) points[count++] = e.value;
  if (e.may_be_nan || count == 0) points[count++] = std::numeric_limits<double>::quiet_NaN();
  return count;
}

template <class Function>
Enclosure enclose(const Enclosure& x, const Enclosure& y, Function f) {
  double xs[5], ys[5];
  const int x_count = points_of(x, xs), y_count = points_of(y, ys);
  Hull hull(f(x.value, y.value));
  for (int i = 0; i < x_count; ++i)
    for (int j = 0; j < y_count; ++j) hull.include(f(xs[i], ys[j]));
  return hull.get();
}

Enclosure divide(const Enclosure& x, const Enclosure& y) {
  Enclosure result = enclose(x, y, [](double u, double v) { return u / v; });
  if (y.low < 0 && y.high > 0) {  // through zero, from either side
    result.low = -kInfinity;
    result.high = kInfinity;
  }
  return rounded(result, 2);  // a reciprocal and a product round twice
}

bool is_scaling_exact(const Enclosure& factor) {
  if (factor.low != factor.high) return false;
  int exponent;
  const double fraction = std::frexp(std::abs(factor.value), &exponent);
  return factor.value == 0 || fraction == 0.5;  // a power of two
}

// 1, 0, or [0,1] where the operands' bounds do not decide.
Enclosure compare(Expr::Op op, const Enclosure& x, const Enclosure& y) {
  const auto holds = [op](double u, double v) {
    switch (op) {
      case Expr::Op::less:
        return u < v;
      case Expr::Op::less_equal:
        return u <= v;
      case Expr::Op::greater:
        return u > v;
      case Expr::Op::greater_equal:
        return u >= v;
      case Expr::Op::equal:
        return u == v;
      default:
        return u != v;
    }
  };
  Enclosure result = enclose(x, y, [&](double u, double v) { return holds(u, v) ? 1.0 : 0.0; });
  // Equality can hold in the middle of bounds whose ends differ.
  const bool overlap = x.low <= y.high && y.low <= x.high, wide = x.low != x.high || y.low != y.high;
  if ((op == Expr::Op::equal || op == Expr::Op::not_equal) && overlap && wide) {
    result.low = 0;
    result.high = 1;
  }
  return result;
}

Enclosure select(const Enclosure& condition, const Enclosure& x, const Enclosure& y) {
  const bool may_be_zero = condition.low <= 0 && condition.high >= 0;
  const bool may_be_other = condition.may_be_nan || condition.low < 0 || condition.high > 0;
  Hull hull(condition.value != 0 ? x.value : y.value);
  if (may_be_other) hull.include(x);
  if (may_be_zero) hull.include(y);
  return hull.get();
}

Enclosure call(const ExprFunction& f, const Enclosure* x) {
  const Enclosure result = f.arity == 1 ? enclose(x[0], Enclosure(), [&](double u, double) { return f.evaluate(&u); })
                                        : enclose(x[0], x[1], [&](double u, double v) {
                                            const double arguments[] = {u, v};
                                            return f.evaluate(arguments);
                                          });
  return f.relative_error == 0 && f.absolute_error == 0 ? result : rounded(result, f.relative_error, f.absolute_error);
}

}  // namespace

Enclosure rounded(Enclosure e, double roundings, double absolute) {
  if (!(e.low <= e.high)) return e;
  e.low -= kUnit * (roundings * std::abs(e.low) + absolute);
  e.high += kUnit * (roundings * std::abs(e.high) + absolute);
  if (e.high > kLargest) e.high = kInfinity;
  if (e.low < -kLargest) e.low = -kInfinity;
  if (e.low > 0 && e.low < kFlushed) e.low = 0;
  if (e.high < 0 && e.high > -kFlushed) e.high = 0;
  return e;
}

Enclosure multiply(const Enclosure& x, const Enclosure& y) {
  const Enclosure product = enclose(x, y, [](double u, double v) { return u * v; });
  return rounded(product, is_scaling_exact(x) || is_scaling_exact(y) ? 0 : 1);
}

Enclosure add(const Enclosure& x, const Enclosure& y) {
  const Enclosure sum = enclose(x, y, [](double u, double v) { return u + v; });
  const bool exact = (x.low == 0 && x.high == 0) || (y.low == 0 && y.high == 0);
  return rounded(sum, exact ? 0 : 1);
}

Enclosure enclose_step(const Expr& e, const Enclosure* x) {
  switch (e.kind()) {
    case Expr::Kind::constant: {
      const Enclosure number = Enclosure::exact(e.number());
      return double(float(e.number())) == e.number() ? number : rounded(number, 1);
    }
    case Expr::Kind::unary:
      return {-x[0].value, -x[0].high, -x[0].low, x[0].may_be_nan};
    case Expr::Kind::compare:
      return compare(e.op(), x[0], x[1]);
    case Expr::Kind::where:
      return select(x[0], x[1], x[2]);
    case Expr::Kind::cast:
      return enclose(x[0], Enclosure(), [&](double u, double) { return round_to(e.type(), u); });
    case Expr::Kind::call:
      return call(*function_named(e.name()), x);
    case Expr::Kind::binary:
      switch (e.op()) {
        case Expr::Op::add:
          return add(x[0], x[1]);
        case Expr::Op::sub:
          return add(x[0], {-x[1].value, -x[1].high, -x[1].low, x[1].may_be_nan});
        case Expr::Op::mul:
          return multiply(x[0], x[1]);
        default:
          return divide(x[0], x[1]);
      }
    case Expr::Kind::accumulator:
    case Expr::Kind::input:
      break;
  }
  GS_ASSERT(false, "inputs and the accumulator are the caller's to enclose");
  return {};
}

}  // namespace gemmsmith
