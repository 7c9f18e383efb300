// A problem as one matmul primitive with its attributes.
#pragma once
#include "sources/onednn/api.h"

#ifdef GEMMSMITH_HAVE_ONEDNN
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"
#include "sources/onednn/post_ops.h"

namespace gemmsmith::onednn {

// Which of the library's ways to say the same thing is used. The first that it has an optimized implementation for is
// taken.
struct MatmulForm {
  bool bias_argument =
      false;  // the first post-op, adding a vector [n], is matmul's bias: before alpha, so only if alpha is 1
  bool c_as_tensor =
      false;  // beta * C as a binary addition that reads C, only if beta is 1; else the sum into a D that holds C
};

// Where an argument of the primitive comes from.
struct Binding {
  enum class From : uint8_t { a, b, c, d, input } from = From::a;
  size_t input = 0;  // index into GemmProblem::inputs
  int argument = 0;  // DNNL_ARG_*
  dnnl_memory_desc_t desc{};
};

// A primitive descriptor that was created: the library can compute the problem in this form. A column-major D is
// computed as D^T = B^T A^T, because only a row-major destination has optimized implementations.
class MatmulPlan {
 public:
  // `post_ops` may leave out the epilogue, for a pass afterwards. A refusal has the library's word for it.
  static Result<MatmulPlan> create(std::shared_ptr<const Api>, const GemmProblem&, const std::vector<PostOp>& post_ops,
                                   MatmulForm, int threads);
  // The first form that has an optimized implementation; the error is that of the last one tried.
  static Result<MatmulPlan> create_best(std::shared_ptr<const Api>, const GemmProblem&,
                                        const std::vector<PostOp>& post_ops, int threads);
  MatmulPlan(MatmulPlan&&) noexcept;
  MatmulPlan& operator=(MatmulPlan&&) noexcept;
  ~MatmulPlan();

  const std::string& implementation() const { return implementation_; }  // "brg:avx512_core_bf16"
  bool sums_into_d() const { return sums_into_d_; }                      // D has to hold C before the primitive runs
  const std::vector<Binding>& bindings() const { return bindings_; }
  const_dnnl_primitive_desc_t desc() const { return desc_; }
  const std::shared_ptr<const Api>& api() const { return api_; }

 private:
  explicit MatmulPlan(std::shared_ptr<const Api> api) : api_(std::move(api)) {}

  std::shared_ptr<const Api> api_;
  dnnl_primitive_desc_t desc_ = nullptr;
  std::vector<Binding> bindings_;
  std::string implementation_;
  bool sums_into_d_ = false;
};

// The primitive with memory objects that take the pointers of each run.
class Matmul {
 public:
  static Result<std::unique_ptr<Matmul>> create(const MatmulPlan&, int threads);
  ~Matmul();
  Status run(const GemmArguments&);

 private:
  Matmul() = default;
  std::shared_ptr<const Api> api_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<Binding> bindings_;
  std::vector<dnnl_exec_arg_t> arguments_;
  int threads_ = 1;
};

}  // namespace gemmsmith::onednn
#endif
