// The numeric gate of one problem: operands in host memory, what is right for them, and the judgement of an output.
// Whoever runs kernels on them, in this process or another, asks it before and after each run.
#pragma once
#include <optional>
#include <string>

#include "problem/compare.h"
#include "problem/operands.h"

namespace gemmsmith {

class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;  // expected_ points into it

  // Operands in memory of their own between guard bands, or where `place` says.
  Status prepare(const GemmProblem&, uint64_t seed, const CheckOptions&, Operands::Place place = {});
  void clear();

  const GemmArguments& arguments() const { return operands_->arguments(); }
  // Before a run: operands filled by `seed`, D poisoned.
  void make_ready(uint64_t seed);
  // After it: D against the reference, guard bands and gaps against what was there.
  Accuracy judge();
  // Whether the last judgement found writes out of bounds. They stay, and who knows what lies beyond: renew() before the
  // next run, which may move the operands.
  bool damaged() const { return damaged_; }
  Status renew();

 private:
  GemmProblem problem_;
  CheckOptions options_;
  Operands::Place place_;
  std::optional<Operands> operands_;
  uint64_t seed_ = 0;
  std::optional<Check> expected_;  // of the operands as filled by seed_
  bool damaged_ = false;
};

}  // namespace gemmsmith
