// Whether D lies in memory that is still read while it is written.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"

namespace gemmsmith {

// Made once for a problem, so that a check costs a few comparisons of addresses. Only where the address ranges of two
// operands meet is each piece looked at: a D that is some columns of a larger matrix, of which A has others, is fine.
class OverlapCheck {
 public:
  explicit OverlapCheck(const GemmProblem&);
  // Errors: D shares an element with A, B, C or an input that the problem reads, with the name of that operand.
  Status check(const GemmArguments&) const;

 private:
  // Bytes [low, high) relative to an operand's pointer, and the pieces that they are made of.
  struct Operand {
    std::string name;
    MatrixSpec spec;
    int64_t rows = 0, columns = 0;
    int64_t low = 0, high = 0;
    size_t argument = 0;  // 0 to 2: A, B, C; then the inputs
  };
  struct Piece {
    uintptr_t begin, end;
  };
  void add(std::string name, const MatrixSpec&, int64_t rows, int64_t columns, size_t argument);
  Operand span(std::string name, const MatrixSpec&, int64_t rows, int64_t columns, size_t argument) const;
  bool share_elements(const Operand&, const void* read, const void* written) const;
  std::vector<Piece> pieces(const Operand&, const void* origin) const;

  int64_t batch_;
  Operand d_;
  std::vector<Operand> reads_;
};

}  // namespace gemmsmith
