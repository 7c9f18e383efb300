// Memory for a problem: operands of random values between guard bands, and an output whose every byte is accounted for.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"
#include "support/aligned_buffer.h"

namespace gemmsmith {

struct OperandOptions {
  int64_t guard_bytes = 4096;    // before and after each operand
  int64_t alignment_bytes = 64;  // of each operand's lowest address
};

// Bytes of all operands of a valid problem, without guard bands: for budgets of memory.
int64_t operand_bytes(const GemmProblem&);

class Operands {
 public:
  // Of a valid problem. Filled with fill(seed) and poison_output(). An error if there is not enough memory.
  static Result<Operands> create(const GemmProblem&, uint64_t seed, const OperandOptions& = {4096, 64});
  // In memory that `place` gives for each operand, by name (a, b, c, d, then the inputs) and bytes, with guard bands.
  using Place = std::function<Result<AlignedBuffer>(const std::string& name, int64_t bytes)>;
  static Result<Operands> create(const GemmProblem&, uint64_t seed, const Place& place);

  // New values: floats are normal with variance 1 (never all zero: data decides power and clock), i8 takes all of its
  // range, i32 is from -1000 to 1000. Gaps between rows of A, B and C hold NaN (integers: random), so that a kernel
  // that reads them shows it. Large operands repeat a table of 2^16 values from random places, which costs little more
  // than writing the memory.
  void fill(uint64_t seed);
  // Overwrites D and its gaps: all bits set, which is NaN, for floats; 0xa5 in every byte for integers. What a kernel
  // does not write stands out.
  void poison_output();

  const GemmArguments& arguments() const { return arguments_; }
  int64_t bytes() const { return bytes_; }  // of all operands, without guard bands

  // What a kernel wrote outside D's elements since poison_output(): "guard band after d overwritten at byte 12";
  // nothing if all is well. Reads every gap of D, and guards of all operands.
  std::optional<std::string> damage() const;

 private:
  struct Buffer {
    std::string name;
    AlignedBuffer memory;
  };
  explicit Operands(const GemmProblem& problem) : problem_(problem) {}
  Result<const char*> add(std::string name, int64_t elements, DataType, const Place&);
  std::optional<int64_t> damaged_gap() const;

  GemmProblem problem_;
  std::vector<Buffer> buffers_;  // a, b, c, d, inputs
  GemmArguments arguments_;
  int64_t bytes_ = 0;
};

}  // namespace gemmsmith
