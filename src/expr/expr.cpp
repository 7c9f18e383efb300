#include "gemmsmith/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "expr/names.h"
#include "expr/node.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// Equal numbers by their bits, so that -0 differs from 0, and every NaN is the same.
bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

std::shared_ptr<const Expr::Node> accumulator_node() {
  static const auto node = std::make_shared<const Expr::Node>();
  return node;
}

std::shared_ptr<const Expr::Node> make_node(Expr::Node node) {
  for (const Expr& child : node.children) node.depth = std::max(node.depth, 1 + child.depth());
  GS_ASSERT(node.depth <= kMaxDepth, "an expression is at most 20000 levels deep");
  return std::make_shared<const Expr::Node>(std::move(node));
}

}  // namespace

Expr::Expr() : node_(accumulator_node()) {}

Expr Expr::constant(double value) { return Expr(make_node({.kind = Kind::constant, .number = value})); }

Expr Expr::input(std::string name, InputIndex index) {
  GS_ASSERT(is_name(name) && !reserved_word(name), "an input has a name that is no word of the language");
  return Expr(make_node({.kind = Kind::input, .index = index, .name = std::move(name)}));
}

Expr Expr::binary(Op op, Expr x, Expr y) {
  GS_ASSERT(op != Op::none && op != Op::negate, "a binary operation has a binary operator");
  const Kind kind = op >= Op::less ? Kind::compare : Kind::binary;
  return Expr(make_node({.kind = kind, .op = op, .children = {std::move(x), std::move(y)}}));
}

Expr Expr::negate(Expr x) {
  return Expr(make_node({.kind = Kind::unary, .op = Op::negate, .children = {std::move(x)}}));
}

Expr Expr::where(Expr condition, Expr x, Expr y) {
  return Expr(make_node({.kind = Kind::where, .children = {std::move(condition), std::move(x), std::move(y)}}));
}

Expr Expr::cast(DataType type, Expr x) {
  if (type == DataType::f64) return x;
  return Expr(make_node({.kind = Kind::cast, .type = type, .children = {std::move(x)}}));
}

Result<Expr> Expr::call(std::string_view function, std::vector<Expr> arguments) {
  const int arity = arity_of(function);
  if (arity == 0) {
    return Error{
        concat(function, "(...)"), std::string(function), "is not a function", suggest(function, callable_names()), {}};
  }
  if (int(arguments.size()) != arity) {
    const std::string count = concat(arguments.size(), arguments.size() == 1 ? " argument" : " arguments");
    return Error{concat(function, "(...)"), count, concat("given to a function of ", arity), call_form(function), {}};
  }
  if (function == "where") return where(std::move(arguments[0]), std::move(arguments[1]), std::move(arguments[2]));
  if (const auto type = data_type_named(function)) return cast(*type, std::move(arguments[0]));
  return Expr(make_node({.kind = Kind::call, .name = std::string(function), .children = std::move(arguments)}));
}

Expr::Kind Expr::kind() const { return node_->kind; }
Expr::Op Expr::op() const { return node_->op; }
double Expr::number() const { return node_->number; }
const std::string& Expr::name() const { return node_->name; }
InputIndex Expr::index() const { return node_->index; }
DataType Expr::type() const { return node_->type; }
std::span<const Expr> Expr::children() const { return node_->children; }
int Expr::depth() const { return node_->depth; }

bool operator==(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return true;
  const Expr::Node &x = *a.node_, &y = *b.node_;
  return x.kind == y.kind && x.op == y.op && x.index == y.index && x.type == y.type &&
         same_number(x.number, y.number) && x.name == y.name && x.depth == y.depth && x.children == y.children;
}

namespace {
std::string_view index_text(InputIndex index) {
  switch (index) {
    case InputIndex::scalar:
      return "";
    case InputIndex::row:
      return "[m]";
    case InputIndex::column:
      return "[n]";
    case InputIndex::full:
      return "[m,n]";
  }
  return "";
}

class InputCollector {
 public:
  Status visit(const Expr& e) {
    if (!seen_.insert(e.identity()).second) return Done{};
    if (e.kind() == Expr::Kind::input) return add(e);
    for (const Expr& child : e.children()) GS_CHECK(visit(child));
    return Done{};
  }
  std::vector<ExprInput> take() { return std::move(inputs_); }

 private:
  Status add(const Expr& e) {
    const auto known =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const ExprInput& i) { return i.name == e.name(); });
    if (known == inputs_.end()) {
      inputs_.push_back({e.name(), e.index()});
    } else if (known->index != e.index()) {
      return Error{concat("input ", e.name()),
                   concat(e.name(), index_text(e.index())),
                   concat("is used as ", e.name(), index_text(known->index), " too"),
                   "an input has one index; give the second one a name of its own",
                   {}};
    }
    return Done{};
  }

  std::vector<ExprInput> inputs_;
  std::unordered_set<const void*> seen_;
};
}  // namespace

Result<std::vector<ExprInput>> inputs_of(const Expr& e) {
  InputCollector collector;
  GS_CHECK(collector.visit(e));
  return collector.take();
}

// ---- printing: a child gets parentheses when it binds less tightly than its place asks for
namespace {

enum Level { kCompare, kSum, kProduct, kUnary, kPrimary };

Level level_of(const Expr& e) {
  switch (e.kind()) {
    case Expr::Kind::compare:
      return kCompare;
    case Expr::Kind::unary:
      return kUnary;
    case Expr::Kind::binary:
      return e.op() == Expr::Op::mul || e.op() == Expr::Op::div ? kProduct : kSum;
    case Expr::Kind::constant:
      return std::signbit(e.number()) && !std::isnan(e.number()) ? kUnary : kPrimary;
    default:
      return kPrimary;
  }
}

std::string_view operator_text(Expr::Op op) {
  switch (op) {
    case Expr::Op::none:
      return "";
    case Expr::Op::negate:
      return "-";
    case Expr::Op::add:
      return " + ";
    case Expr::Op::sub:
      return " - ";
    case Expr::Op::mul:
      return " * ";
    case Expr::Op::div:
      return " / ";
    case Expr::Op::less:
      return " < ";
    case Expr::Op::less_equal:
      return " <= ";
    case Expr::Op::greater:
      return " > ";
    case Expr::Op::greater_equal:
      return " >= ";
    case Expr::Op::equal:
      return " == ";
    case Expr::Op::not_equal:
      return " != ";
  }
  return "";
}

void print_at(const Expr& e, Level place, std::string& out);

void print_call(std::string_view function, const Expr& e, std::string& out) {
  out += function;
  char before = '(';
  for (const Expr& argument : e.children()) {
    out += before;
    if (before == ',') out += ' ';
    print_at(argument, kCompare, out);
    before = ',';
  }
  out += ')';
}

void print_bare(const Expr& e, std::string& out) {
  const auto child = [&](size_t i) -> const Expr& { return e.children()[i]; };
  switch (e.kind()) {
    case Expr::Kind::accumulator:
      out += "acc";
      return;
    case Expr::Kind::constant:
      out += format_number(e.number());
      return;
    case Expr::Kind::input:
      out += e.name(), out += index_text(e.index());
      return;
    case Expr::Kind::where:
      return print_call("where", e, out);
    case Expr::Kind::cast:
      return print_call(name_of(e.type()), e, out);
    case Expr::Kind::call:
      return print_call(e.name(), e, out);
    case Expr::Kind::unary: {
      // "-2" would read back as the number -2 and not as the negation of 2.
      const bool of_number =
          child(0).kind() == Expr::Kind::constant && !std::signbit(child(0).number()) && !std::isnan(child(0).number());
      out += '-';
      if (of_number) out += '(';
      print_at(child(0), kUnary, out);
      if (of_number) out += ')';
      return;
    }
    case Expr::Kind::compare:
    case Expr::Kind::binary: {
      // Operators group from the left, so the right side has to bind more tightly; comparisons do not chain at all.
      const Level own = level_of(e), left = own == kCompare ? kSum : own, right = Level(own + 1);
      print_at(child(0), left, out);
      out += operator_text(e.op());
      print_at(child(1), right, out);
      return;
    }
  }
}

void print_at(const Expr& e, Level place, std::string& out) {
  const bool parentheses = level_of(e) < place;
  if (parentheses) out += '(';
  print_bare(e, out);
  if (parentheses) out += ')';
}

}  // namespace

std::string Expr::print() const {
  std::string text;
  print_at(*this, kCompare, text);
  return text;
}

}  // namespace gemmsmith
