// Sums in the registers of a warpgroup.
#pragma once
#include <optional>
#include <vector>

#include "dsl/pipeline.h"

namespace gemmsmith {

// Accumulator registers that may be read: what Accumulator::wait() returns.
struct Fragment {
  std::vector<Scalar> values;
  int instructions, columns;  // m64 x columns each
  Kind kind;                  // f32 or i32
};

// A sum in flight. It has no accessor for its values: only wait() gives a Fragment, and takes the accumulator's place.
class Accumulator {
 public:
  Accumulator(const Consumer& self, Ring& ring, const TmaInput& a, const TmaInput& b, Where at = Where::current());
  // The stage returns to the producer once it was read: when the next one is being multiplied.
  void mma(const Ring::Operand& a, const Ring::Operand& b, Where at = Where::current());
  Fragment wait(Where at = Where::current()) &&;

 private:
  // Registers of the accumulator as variables that loops carry.
  struct Sums : VarBase {
    explicit Sums(std::vector<Scalar> initial) : VarBase(std::move(initial)) {}
    std::vector<Scalar>& values() { return values_; }
  };
  bool prepare(const Consumer& self, const Where&);
  void release(const Int& stage) const;
  static constexpr int64_t kNone = 0xFFFFFFFF;
  Ring& ring_;
  const TmaInput *a_, *b_;
  bool waited_ = false, usable_ = true;
  WgmmaOperand layout_a_, layout_b_;
  int columns_;
  std::optional<op::Descriptor> first_a_, first_b_;
  std::optional<Bool> releases_;
  std::optional<op::Remote> remote_empty_;
  Sums sums_;
  const void* made_in_;  // the loop body or branch
  Var<Int> reading_;     // the stage that the group in flight reads
};

}  // namespace gemmsmith
