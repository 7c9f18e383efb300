// What a template is given: operands, extents and outputs of its problem, and memory and cores of its target.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/epilogue.h"
#include "dsl/ops.h"
#include "dsl/tensor.h"

namespace gemmsmith {

// A matrix in memory. Extents are names bound at launch ("m"). A batched one has the extent "batch" in front.
struct MatrixArg {
  std::string name = {}, rows = {}, columns = {};
  Major major = Major::row;  // none: both strides are arguments
  DataType type = DataType::f32;
  bool batched = false;
  // GPU: the kernel's rows are this matrix's columns. Everything else is said of the matrix as it is.
  bool transposed = false;
};

// An operand without strides of its own: dense, row-major; only full ones have one for each member of the batch.
struct InputArg {
  std::string name = {};
  InputIndex index = InputIndex::scalar;
  DataType type = DataType::f32;
};

struct OutputArg {
  MatrixArg d = {};
  DataType acc = DataType::f32;  // of the sums that store() is given
  bool alpha = false;            // there is a factor "alpha"; without, it is 1
  bool beta = false;             // there is a term "beta" * C; C is `c`
  MatrixArg c = {};
  Expr epilogue = {};
  std::vector<InputArg> inputs = {};
};

class KernelBuilder {
 public:
  explicit KernelBuilder(const RecordOptions& options) : options_(options) {}
  KernelBuilder(const KernelBuilder&) = delete;

  // Operands. Names decide the arguments of the signature, in the order in which they are asked for.
  Tensor matrix(const MatrixArg&, Where at = Where::current());  // modes (rows, columns) or (batch, rows, columns)
  // Modes (rows, columns), with stride 0 where the input is not indexed; a full one of a batch has (batch, rows,
  // columns).
  Tensor input(const InputArg&, const std::string& rows, const std::string& columns, bool batched = false,
               Where at = Where::current());
  Output output(const OutputArg&, Where at = Where::current());
  Int extent(const std::string& name);
  Vec scalar(const std::string& name);  // a double of the host as one lane of f32
  int lanes(Kind element) const { return options_.vector_bytes / bytes(element); }  // of a vector register
  const RecordOptions& options() const { return options_; }

  // CPU only. The size of a part of n when every core gets one: a multiple of `unit`, at least one; there may be fewer
  // parts than cores. Parallel loops that use scratch run over at most cores() indices.
  Int share(Int n, int unit, Where at = Where::current());
  Int cores();
  Tensor scratch(Kind, const Layout&, Int core, Where at = Where::current());  // of one core, 4096-byte aligned

  // Called once the template has returned.
  KernelSignature finish();

 private:
  using Argument = KernelArgument::Kind;
  bool add(Argument, const std::string& name, const Where& at);
  RecordOptions options_;
  KernelSignature signature_;
  std::vector<std::pair<std::string, Int>> extents_;
  std::vector<std::pair<std::string, Vec>> scalars_;
  std::vector<Int> cores_;
  std::vector<Scalar> scratch_;
  std::vector<Offset> scratch_sizes_;
};

// Records the kernel that `stage` builds. Errors have the line of the template (or of the case that called it) and the
// note "while staging NAME". One recording at a time per thread.
Result<KernelIr> record(IrContext&, const std::string& name, const RecordOptions&,
                        const std::function<void(KernelBuilder&)>& stage, Where at = Where::current());

}  // namespace gemmsmith
