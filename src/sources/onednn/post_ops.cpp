#include "sources/onednn/post_ops.h"

#include <algorithm>
#include <utility>

namespace gemmsmith::onednn {
namespace {

// Functions of one argument that mean the same there. relu is none: theirs turns NaN into 0.
constexpr std::string_view kFunctions[] = {"gelu", "gelu_tanh", "silu", "sigmoid", "tanh",
                                           "exp",  "sqrt",      "abs",  "square"};

bool leaf(const Expr& e) { return e.kind() == Expr::Kind::input || e.kind() == Expr::Kind::constant; }

PostOp linear(double alpha, double beta) { return {"linear", float(alpha), float(beta), BinaryOp::add, {}}; }

// Linear functions in a row become one: version 2.6 gives the second of two the parameters of the first.
void push(PostOp op, std::vector<PostOp>& chain) {
  if (op.function == "linear" && !chain.empty() && chain.back().function == "linear") {
    PostOp& last = chain.back();
    last = linear(double(op.alpha) * last.alpha, double(op.alpha) * last.beta + op.beta);
  } else {
    chain.push_back(std::move(op));
  }
}

// For the same reason a function with parameters may come once.
bool repeats_linear(const std::vector<PostOp>& chain) {
  return std::count_if(chain.begin(), chain.end(), [](const PostOp& op) { return op.function == "linear"; }) > 1;
}

// value <op> leaf. A number becomes a linear function; division by one does not, because its reciprocal is rounded.
std::optional<PostOp> with_leaf(Expr::Op op, const Expr& e) {
  const bool number = e.kind() == Expr::Kind::constant;
  switch (op) {
    case Expr::Op::add:
      return number ? linear(1, e.number()) : PostOp{{}, 0, 0, BinaryOp::add, e.name()};
    case Expr::Op::sub:
      return number ? linear(1, -e.number()) : PostOp{{}, 0, 0, BinaryOp::sub, e.name()};
    case Expr::Op::mul:
      return number ? linear(e.number(), 0) : PostOp{{}, 0, 0, BinaryOp::mul, e.name()};
    case Expr::Op::div:
      return number ? std::nullopt : std::optional(PostOp{{}, 0, 0, BinaryOp::div, e.name()});
    default:
      return std::nullopt;
  }
}

bool append(const Expr& e, std::vector<PostOp>& chain) {
  const std::span<const Expr> x = e.children();
  switch (e.kind()) {
    case Expr::Kind::accumulator:
      return true;
    case Expr::Kind::call:
      if (x.size() != 1 || std::find(std::begin(kFunctions), std::end(kFunctions), e.name()) == std::end(kFunctions))
        return false;
      if (!append(x[0], chain)) return false;
      push({e.name(), e.name() == "silu" ? 1.0f : 0.0f, 0, BinaryOp::add, {}}, chain);
      return true;
    case Expr::Kind::unary:
      if (e.op() != Expr::Op::negate || !append(x[0], chain)) return false;
      push(linear(-1, 0), chain);
      return true;
    case Expr::Kind::binary: {
      const bool commutes = e.op() == Expr::Op::add || e.op() == Expr::Op::mul;
      const bool swapped = leaf(x[0]) && commutes;
      if (!swapped && !leaf(x[1])) return false;
      const std::optional<PostOp> last = with_leaf(e.op(), swapped ? x[0] : x[1]);
      if (!last || !append(swapped ? x[1] : x[0], chain)) return false;
      push(*last, chain);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<PostOp>> post_ops_of(const Expr& epilogue) {
  std::vector<PostOp> chain;
  if (!append(epilogue, chain) || repeats_linear(chain)) return std::nullopt;
  return chain;
}

}  // namespace gemmsmith::onednn
