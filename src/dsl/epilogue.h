// D = epilogue(alpha * acc + beta * C), with D, C and the epilogue's inputs partitioned together.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/tensor.h"
#include "gemmsmith/expr.h"

namespace gemmsmith {

// D with its operands. Everything is evaluated in f32. Sums of integers are converted to f32 first, exact up to 2^24,
// unless D = acc is plain or only saturated to D's type. Casts inside the expression round.
class Output {
 public:
  Output tile(const Coord& shape, const Coord& index, Where at = Where::current()) const;
  Output slice(int mode, Int index, Where at = Where::current()) const;
  Output transposed(Where at = Where::current()) const;
  Output exactly(const Coord& shape, Where at = Where::current()) const;
  Bool is_exactly(const Coord& shape, Where at = Where::current()) const { return d_.is_exactly(shape, at); }
  const Tensor& d() const { return d_; }
  int rank() const { return d_.rank(); }
  Int extent(int mode) const { return d_.extent(mode); }
  Int tiles(int mode, Int n, Where at = Where::current()) const { return d_.tiles(mode, n, at); }
  bool contiguous(int mode) const { return d_.contiguous(mode); }

  // D = acc, of the accumulator's type: D itself can hold partial sums.
  bool is_plain() const { return plain_; }
  // D = convert(epilogue(alpha * acc + beta * C)) for lanes along D's last mode, masked like D.
  void store(const Coord& at, VecArg acc) const;
  // The same before it is converted and stored, in f32: `load` gives C and the inputs at the place of the lanes, as f32.
  bool is_conversion() const { return !alpha_ && !c_ && epilogue_.is_accumulator(); }
  Vec evaluate(VecArg acc, const std::function<Vec(const Tensor&)>& load) const;

 private:
  friend class KernelBuilder;
  struct Input {
    std::string name;
    InputIndex index;
    Tensor tensor;
  };
  Output(Tensor d, Expr epilogue, bool plain) : d_(std::move(d)), epilogue_(std::move(epilogue)), plain_(plain) {}
  template <class F>
  Output mapped(F view) const;
  Tensor d_;
  Expr epilogue_;
  bool plain_;
  std::optional<Tensor> c_;
  std::optional<Vec> alpha_, beta_;
  std::vector<Input> inputs_;
};

}  // namespace gemmsmith
