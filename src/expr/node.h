// The node behind an Expr.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/expr.h"

namespace gemmsmith {

struct Expr::Node {
  Kind kind = Kind::accumulator;
  Op op = Op::none;
  InputIndex index = InputIndex::scalar;
  DataType type = DataType::f32;
  double number = 0;
  std::string name = {};
  std::vector<Expr> children = {};
  int depth = 1;  // of the tree below, itself included
};

inline constexpr int kMaxNesting = 200;       // of parentheses, calls and signs in a text
inline constexpr int kMaxParsedDepth = 1000;  // of a tree that was parsed: what a chain a + b + c + ... may reach
inline constexpr int kMaxDepth = 20000;  // of any tree: expanded definitions make a parsed one at most 10 times as deep

}  // namespace gemmsmith
