#include "dsl/epilogue.h"

#include <algorithm>
#include <map>

#include "dsl/ops.h"

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

// Evaluates an expanded expression on vectors of f32.
struct Evaluator {
  const Vec& accumulator;
  std::function<Vec(const Expr&)> input;
  Where at;

  Vec number(double x) const { return like(accumulator, x); }

  // A condition as a mask. Any number is true unless it is 0; NaN is true, as in C.
  Vec condition(const Expr& e) const {
    if (e.kind() == Expr::Kind::compare) return comparison(e);
    return compare(Compare::not_equal, {operator()(e), at}, number(0));
  }
  Vec comparison(const Expr& e) const {
    static const std::map<Expr::Op, Compare> hows = {
        {Expr::Op::less, Compare::less},       {Expr::Op::less_equal, Compare::less_equal},
        {Expr::Op::greater, Compare::greater}, {Expr::Op::greater_equal, Compare::greater_equal},
        {Expr::Op::equal, Compare::equal},     {Expr::Op::not_equal, Compare::not_equal}};
    return compare(hows.at(e.op()), {operator()(e.children()[0]), at}, {operator()(e.children()[1]), at});
  }
  Vec binary(const Expr& e) const {
    const VecArg x(operator()(e.children()[0]), at), y(operator()(e.children()[1]), at);
    switch (e.op()) {
      case Expr::Op::add:
        return x + y;
      case Expr::Op::sub:
        return x - y;
      case Expr::Op::mul:
        return x * y;
      default:
        return x / y;
    }
  }
  Vec call(const Expr& e) const {
    static const std::map<std::string, Math> functions = {
        {"exp", Math::exp},   {"tanh", Math::tanh},   {"erf", Math::erf}, {"log", Math::log},
        {"sqrt", Math::sqrt}, {"rsqrt", Math::rsqrt}, {"abs", Math::abs}, {"floor", Math::floor}};
    const auto arguments = e.children();
    const VecArg x(operator()(arguments[0]), at);
    if (e.name() == "min") return min(x, {operator()(arguments[1]), at});
    if (e.name() == "max") return max(x, {operator()(arguments[1]), at});
    if (const auto f = functions.find(e.name()); f != functions.end()) return math(f->second, x);
    op::fail(at, "function " + e.name() + "() in an epilogue", "has no lowering",
             "define it as an expression of others");
    return x.v;
  }
  Vec operator()(const Expr& e) const {
    switch (e.kind()) {
      case Expr::Kind::accumulator:
        return accumulator;
      case Expr::Kind::constant:
        return number(e.number());
      case Expr::Kind::input:
        return input(e);
      case Expr::Kind::unary:
        return -VecArg(operator()(e.children()[0]), at);
      case Expr::Kind::binary:
        return binary(e);
      case Expr::Kind::compare:
        return select({comparison(e), at}, number(1), number(0));
      case Expr::Kind::where:
        return select({condition(e.children()[0]), at}, operator()(e.children()[1]), operator()(e.children()[2]));
      case Expr::Kind::cast:
        return cast(e);
      case Expr::Kind::call:
        return call(e);
    }
    return accumulator;
  }
  // Rounds to the type and goes on in f32. f64 is wider than what is computed in.
  Vec cast(const Expr& e) const {
    const Vec x = operator()(e.children()[0]);
    if (e.type() == DataType::f32 || e.type() == DataType::f64) return x;
    return convert({convert({x, at}, e.type()), at}, Kind::f32);
  }
};
}  // namespace

void Output::store(const Coord& coordinate, VecArg acc) const {
  const Scope scope("epilogue", acc.at);
  const int lanes = acc.v.lanes, mode = d_.rank() - 1;
  const bool identity = !alpha_ && !c_ && epilogue_.is_accumulator();
  if (identity) return d_.store_along(mode, coordinate, acc);
  const auto load = [&](const Tensor& t) {
    return convert({t.load_along(mode, coordinate, lanes, acc.at), acc.at}, Kind::f32);
  };
  std::optional<Vec> x(std::in_place, convert(acc, Kind::f32));
  if (alpha_) x.emplace(VecArg(*x, acc.at) * broadcast({*alpha_, acc.at}, lanes));
  if (c_) x.emplace(fma({broadcast({*beta_, acc.at}, lanes), acc.at}, load(*c_), *x));
  const auto input = [&](const Expr& e) -> Vec {
    for (const Input& i : inputs_)
      if (i.name == e.name()) return load(i.tensor);
    op::fail(acc.at, "input \"" + e.name() + "\" of the epilogue", "is bound to nothing");
    return *x;
  };
  d_.store_along(mode, coordinate, {Evaluator{*x, input, acc.at}(epilogue_), acc.at});
}

}  // namespace gemmsmith
