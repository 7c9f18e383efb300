#include "expr/linear.h"

#include <algorithm>
#include <unordered_map>

#include "support/half.h"

namespace gemmsmith {
namespace {

// The parsed definition of a derived function.
const Expr& definition_of(const ExprFunction& function) {
  static const std::vector<Expr> definitions = [] {
    std::vector<Expr> parsed;
    for (const ExprFunction& f : functions()) {
      if (f.definition.empty()) {
        parsed.emplace_back();
        continue;
      }
      Result<Expr> definition = Expr::parse(f.definition);
      GS_ASSERT(definition.ok(), "the definition of every derived function is an expression");
      parsed.push_back(std::move(definition).value());
    }
    return parsed;
  }();
  return definitions[size_t(&function - functions().data())];
}

// The same node over other children.
Expr rebuilt(const Expr& e, std::vector<Expr> children) {
  switch (e.kind()) {
    case Expr::Kind::accumulator:
    case Expr::Kind::constant:
    case Expr::Kind::input:
      return e;
    case Expr::Kind::unary:
      return Expr::negate(std::move(children[0]));
    case Expr::Kind::binary:
    case Expr::Kind::compare:
      return Expr::binary(e.op(), std::move(children[0]), std::move(children[1]));
    case Expr::Kind::where:
      return Expr::where(std::move(children[0]), std::move(children[1]), std::move(children[2]));
    case Expr::Kind::cast:
      return Expr::cast(e.type(), std::move(children[0]));
    case Expr::Kind::call:
      return Expr::call(e.name(), std::move(children)).value();
  }
  return e;
}

// Replaces calls of derived functions; each node once, so that shared subtrees stay shared.
class Expander {
 public:
  // Inside a definition, x, y and z stand for `arguments`; they are expanded already.
  explicit Expander(const std::vector<Expr>* arguments = nullptr) : arguments_(arguments) {}

  Expr expand(const Expr& e) {
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    Expr result = expand_new(e);
    done_.emplace(e.identity(), result);
    return result;
  }

 private:
  Expr expand_new(const Expr& e) {
    if (arguments_ && e.kind() == Expr::Kind::input) {
      const size_t parameter = size_t(e.name().front() - 'x');
      GS_ASSERT(e.name().size() == 1 && parameter < arguments_->size(), "definitions are over x, y and z");
      return (*arguments_)[parameter];
    }
    std::vector<Expr> children;
    for (const Expr& child : e.children()) children.push_back(expand(child));
    if (e.kind() == Expr::Kind::call) {
      const ExprFunction* function = function_named(e.name());
      if (!function->definition.empty()) return Expander(&children).expand(definition_of(*function));
    }
    return std::equal(children.begin(), children.end(), e.children().begin(), e.children().end(),
                      [](const Expr& a, const Expr& b) { return a.identity() == b.identity(); })
               ? e
               : rebuilt(e, std::move(children));
  }

  const std::vector<Expr>* arguments_;
  std::unordered_map<const void*, Expr> done_;
};

class Linearizer {
 public:
  int add(const Expr& e) {
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    LinearExpr::Step step{.expr = e};
    for (size_t i = 0; i < e.children().size(); ++i) step.operands[i] = add(e.children()[i]);
    if (e.kind() == Expr::Kind::input) step.input = input(e.name());
    result_.steps.push_back(std::move(step));
    return done_[e.identity()] = int(result_.steps.size()) - 1;
  }
  LinearExpr take() { return std::move(result_); }

 private:
  int input(const std::string& name) {
    const auto known = std::find(result_.inputs.begin(), result_.inputs.end(), name);
    if (known != result_.inputs.end()) return int(known - result_.inputs.begin());
    result_.inputs.push_back(name);
    return int(result_.inputs.size()) - 1;
  }

  LinearExpr result_;
  std::unordered_map<const void*, int> done_;
};

}  // namespace

Expr expand(const Expr& e) { return Expander().expand(e); }

LinearExpr linearize(const Expr& e) {
  const Expr expanded = expand(e);
  Linearizer linearizer;
  linearizer.add(expanded);
  return linearizer.take();
}

double evaluate_step(const Expr& e, const double* x) {
  switch (e.kind()) {
    case Expr::Kind::constant:
      return e.number();
    case Expr::Kind::where:
      return x[0] != 0 ? x[1] : x[2];
    case Expr::Kind::cast:
      return round_to(e.type(), x[0]);
    case Expr::Kind::call:
      return function_named(e.name())->evaluate(x);
    case Expr::Kind::accumulator:
    case Expr::Kind::input:
      break;
    case Expr::Kind::unary:
    case Expr::Kind::binary:
    case Expr::Kind::compare:
      switch (e.op()) {
        case Expr::Op::none:
          break;
        case Expr::Op::negate:
          return -x[0];
        case Expr::Op::add:
          return x[0] + x[1];
        case Expr::Op::sub:
          return x[0] - x[1];
        case Expr::Op::mul:
          return x[0] * x[1];
        case Expr::Op::div:
          return x[0] / x[1];
        case Expr::Op::less:
          return x[0] < x[1];
        case Expr::Op::less_equal:
          return x[0] <= x[1];
        case Expr::Op::greater:
          return x[0] > x[1];
        case Expr::Op::greater_equal:
          return x[0] >= x[1];
        case Expr::Op::equal:
          return x[0] == x[1];
        case Expr::Op::not_equal:
          return x[0] != x[1];
      }
  }
  GS_ASSERT(false, "inputs and the accumulator are the caller's to evaluate");
  return 0;
}

double evaluate(const Expr& e, double accumulator, const std::function<double(const std::string&)>& input) {
  std::vector<double> values;
  return run_steps<double>(linearize(e), values, [&](const LinearExpr::Step& step, const auto& operand) {
    if (step.expr.kind() == Expr::Kind::accumulator) return accumulator;
    if (step.expr.kind() == Expr::Kind::input) return input(step.expr.name());
    double operands[3] = {};
    for (size_t i = 0; i < step.expr.children().size(); ++i) operands[i] = operand(int(i));
    return evaluate_step(step.expr, operands);
  });
}

}  // namespace gemmsmith
