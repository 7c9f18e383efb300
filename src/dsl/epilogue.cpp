#include "dsl/epilogue.h"

#include <algorithm>
#include <map>

#include "dsl/ops.h"
#include "expr/linear.h"

namespace gemmsmith {

template <class F>
Output Output::mapped(F view) const {
  Output out(view(d_), epilogue_, plain_);
  if (c_) out.c_.emplace(view(*c_));
  if (alpha_) out.alpha_.emplace(*alpha_);
  if (beta_) out.beta_.emplace(*beta_);
  for (const Input& i : inputs_) out.inputs_.push_back({i.name, i.index, view(i.tensor)});
  return out;
}

Output Output::tile(const Coord& shape, const Coord& index, Where at) const {
  return mapped([&](const Tensor& t) { return t.tile(shape, index, at); });
}
Output Output::slice(int mode, Int index, Where at) const {
  return mapped([&](const Tensor& t) { return t.slice(mode, index, at); });
}
Output Output::transposed(Where at) const {
  return mapped([&](const Tensor& t) { return t.transposed(at); });
}
Output Output::exactly(const Coord& shape, Where at) const {
  return mapped([&](const Tensor& t) { return t.exactly(shape, at); });
}

namespace {

// One step of a linearized expression on vectors of f32, given its operands.
class StepLowering {
 public:
  StepLowering(const Expr& expr, std::vector<Vec> operands, const Vec& accumulator, Where at)
      : e_(expr), operands_(std::move(operands)), accumulator_(accumulator), at_(at) {}

  // Not of inputs.
  Vec value() const {
    switch (e_.kind()) {
      case Expr::Kind::constant:
        return number(e_.number());
      case Expr::Kind::unary:
        return -operand(0);
      case Expr::Kind::binary:
        return binary();
      case Expr::Kind::compare:
        return select({comparison(), at_}, number(1), number(0));
      case Expr::Kind::where:  // any number is true unless it is 0; NaN is true, as in C
        return select({compare(Compare::not_equal, operand(0), number(0)), at_}, operands_[1], operands_[2]);
      case Expr::Kind::cast:
        return cast();
      case Expr::Kind::call:
        return call();
      case Expr::Kind::accumulator:
      case Expr::Kind::input:
        break;
    }
    return accumulator_;
  }

 private:
  VecArg operand(size_t i) const { return {operands_[i], at_}; }
  Vec number(double x) const { return like(accumulator_, x); }

  Vec comparison() const {
    static const std::map<Expr::Op, Compare> hows = {
        {Expr::Op::less, Compare::less},       {Expr::Op::less_equal, Compare::less_equal},
        {Expr::Op::greater, Compare::greater}, {Expr::Op::greater_equal, Compare::greater_equal},
        {Expr::Op::equal, Compare::equal},     {Expr::Op::not_equal, Compare::not_equal}};
    return compare(hows.at(e_.op()), operand(0), operand(1));
  }
  Vec binary() const {
    switch (e_.op()) {
      case Expr::Op::add:
        return operand(0) + operand(1);
      case Expr::Op::sub:
        return operand(0) - operand(1);
      case Expr::Op::mul:
        return operand(0) * operand(1);
      default:
        return operand(0) / operand(1);
    }
  }
  Vec call() const {
    static const std::map<std::string, Math> functions = {
        {"exp", Math::exp},   {"tanh", Math::tanh},   {"erf", Math::erf}, {"log", Math::log},
        {"sqrt", Math::sqrt}, {"rsqrt", Math::rsqrt}, {"abs", Math::abs}, {"floor", Math::floor}};
    if (e_.name() == "min") return min(operand(0), operand(1));
    if (e_.name() == "max") return max(operand(0), operand(1));
    if (const auto f = functions.find(e_.name()); f != functions.end()) return math(f->second, operand(0));
    op::fail(at_, "function " + e_.name() + "() in an epilogue", "has no lowering",
             "define it as an expression of others");
    return operands_[0];
  }
  // Rounds to the type and goes on in f32. f64 is wider than what is computed in.
  Vec cast() const {
    if (e_.type() == DataType::f32 || e_.type() == DataType::f64) return operands_[0];
    return convert({convert(operand(0), e_.type()), at_}, Kind::f32);
  }

  const Expr& e_;
  std::vector<Vec> operands_;
  const Vec& accumulator_;
  Where at_;
};

}  // namespace

void Output::store(const Coord& coordinate, VecArg acc) const {
  const Scope scope("epilogue", acc.at);
  const int mode = d_.rank() - 1;
  if (is_conversion()) return d_.store_along(mode, coordinate, acc);
  const Vec value = evaluate(acc, [&](const Tensor& t) {
    return convert({t.load_along(mode, coordinate, acc.v.lanes, acc.at), acc.at}, Kind::f32);
  });
  d_.store_along(mode, coordinate, {value, acc.at});
}

Vec Output::evaluate(VecArg acc, const std::function<Vec(const Tensor&)>& load) const {
  const int lanes = acc.v.lanes;
  std::optional<Vec> x(std::in_place, convert(acc, Kind::f32));
  if (alpha_) x.emplace(VecArg(*x, acc.at) * broadcast({*alpha_, acc.at}, lanes));
  if (c_) x.emplace(fma({broadcast({*beta_, acc.at}, lanes), acc.at}, load(*c_), *x));
  const auto input = [&](const std::string& name) -> Vec {
    for (const Input& i : inputs_)
      if (i.name == name) return load(i.tensor);
    op::fail(acc.at, "input \"" + name + "\" of the epilogue", "is bound to nothing");
    return *x;
  };
  std::vector<Vec> values;  // of the steps: what an expression uses twice is computed once
  for (const LinearExpr::Step& step : linearize(epilogue_).steps) {
    std::vector<Vec> operands;
    for (size_t i = 0; i < step.expr.children().size(); ++i) operands.push_back(values[size_t(step.operands[i])]);
    values.push_back(step.expr.kind() == Expr::Kind::input
                         ? input(step.expr.name())
                         : StepLowering(step.expr, std::move(operands), *x, acc.at).value());
  }
  return values.back();
}

}  // namespace gemmsmith
