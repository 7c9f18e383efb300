// What a kernel is compiled for: everything of a problem but its sizes and strides, which are run-time arguments. Problems of one
// class share compiled kernels.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"

namespace gemmsmith {

struct OperandClass {
  DataType type = DataType::f32;
  Major major = Major::row;  // which mode is known to be contiguous; none: both strides are run-time arguments
};

struct GemmClass {
  OperandClass a, b, c, d;
  DataType acc = DataType::f32;
  bool scaled = false;   // alpha is not 1: a run-time argument
  bool reads_c = false;  // beta is not 0: a run-time argument
  bool batched = false;  // more than one member
  Expr epilogue;
  std::vector<InputSpec> inputs;

  // D = the sum itself, in its own type: no pass over it is needed.
  bool is_plain() const { return !scaled && !reads_c && epilogue.is_accumulator() && d.type == acc; }
  std::string print() const;  // the same for equal classes: a part of kernels' keys
};

// Operand C's name in the signature of a kernel; an epilogue's input may be called "c".
inline constexpr const char* kOperandC = "operand_c";

// A matrix that is one row or column wide counts as contiguous along the mode that helps: its longer one.
GemmClass class_of(const GemmProblem&);

}  // namespace gemmsmith
