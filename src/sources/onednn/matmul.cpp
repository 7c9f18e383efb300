#include "sources/onednn/matmul.h"

#ifdef GEMMSMITH_HAVE_ONEDNN
#include <algorithm>
#include <utility>

#include "support/text.h"

namespace gemmsmith::onednn {
namespace {

Error failed(const char* call, dnnl_status_t status) {
  return {"onednn", concat("dnnl_", call), concat("gives ", name_of(status)), {}, {}};
}
#define GS_ONEDNN(api, call, ...)                                                         \
  do {                                                                                    \
    if (const dnnl_status_t status = (api).call##_f(__VA_ARGS__); status != dnnl_success) \
      return failed(#call, status);                                                       \
  } while (false)

std::optional<dnnl_data_type_t> data_type_of(DataType type) {
  switch (type) {
    case DataType::f32:
      return dnnl_f32;
    case DataType::f16:
      return dnnl_f16;
    case DataType::bf16:
      return dnnl_bf16;
    case DataType::i8:
      return dnnl_s8;
    case DataType::i32:
      return dnnl_s32;
    case DataType::f64:
      break;
  }
  return std::nullopt;
}

dnnl_alg_kind_t algorithm_of(const std::string& function) {
  static const std::pair<std::string_view, dnnl_alg_kind_t> kAlgorithms[] = {
      {"gelu", dnnl_eltwise_gelu_erf}, {"gelu_tanh", dnnl_eltwise_gelu_tanh},
      {"silu", dnnl_eltwise_swish},    {"sigmoid", dnnl_eltwise_logistic},
      {"tanh", dnnl_eltwise_tanh},     {"exp", dnnl_eltwise_exp},
      {"sqrt", dnnl_eltwise_sqrt},     {"abs", dnnl_eltwise_abs},
      {"square", dnnl_eltwise_square}, {"linear", dnnl_eltwise_linear}};
  for (const auto& [name, algorithm] : kAlgorithms)
    if (name == function) return algorithm;
  return dnnl_alg_kind_undef;
}
dnnl_alg_kind_t algorithm_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return dnnl_binary_add;
    case BinaryOp::sub:
      return dnnl_binary_sub;
    case BinaryOp::mul:
      return dnnl_binary_mul;
    case BinaryOp::div:
      return dnnl_binary_div;
  }
  return dnnl_alg_kind_undef;
}

// Whether rows and columns are exchanged: if the rows of D are not contiguous but its columns are.
bool exchanged(const GemmProblem& p) { return p.n > 1 && p.d.column_stride != 1 && (p.m <= 1 || p.d.row_stride == 1); }

// Descriptors of the problem's tensors: two dimensions, or three with a batch; transposed if the problem is exchanged.
class Tensors {
 public:
  Tensors(const Api& api, const GemmProblem& p) : api_(api), p_(p), batched_(p.batch > 1), exchanged_(exchanged(p)) {}

  Result<dnnl_memory_desc_t> matrix(const char* name, const MatrixSpec& s, int64_t rows, int64_t columns) const {
    // The stride of an extent of 1 means nothing in a problem but is compared with the others there.
    const int64_t row_stride = rows > 1 ? s.row_stride : std::max<int64_t>(1, columns * s.column_stride);
    const int64_t column_stride = columns > 1 ? s.column_stride : 1;
    return desc(name, s.type, {s.batch_stride == 0 ? 1 : p_.batch, rows, columns},
                {s.batch_stride, row_stride, column_stride});
  }
  Result<dnnl_memory_desc_t> input(const InputSpec& input) const {
    const bool by_row = input.index == InputIndex::row || input.index == InputIndex::full;
    const bool by_column = input.index == InputIndex::column || input.index == InputIndex::full;
    const int64_t rows = by_row ? p_.m : 1, columns = by_column ? p_.n : 1;
    const int64_t batch = input.index == InputIndex::full ? p_.batch : 1;
    return desc(input.name.c_str(), input.type, {batch, rows, columns}, {rows * columns, columns, 1});
  }

 private:
  Result<dnnl_memory_desc_t> desc(const char* name, DataType type, std::array<int64_t, 3> extents,
                                  std::array<int64_t, 3> strides) const {
    const std::optional<dnnl_data_type_t> data_type = data_type_of(type);
    if (!data_type)
      return Error{"onednn", concat(name, ": ", gemmsmith::name_of(type)), "is not a type of its matmul", {}, {}};
    const auto failed_as =
        concat(name, ": ", extents[1], "x", extents[2], " with strides(", strides[1], ",", strides[2], ")");
    if (extents[0] == 1) strides[0] = std::max<int64_t>({1, extents[1] * strides[1], extents[2] * strides[2]});
    if (exchanged_) {
      std::swap(extents[1], extents[2]);
      std::swap(strides[1], strides[2]);
    }
    const int skip = batched_ ? 0 : 1;
    dnnl_memory_desc_t result{};
    const dnnl_status_t status =
        api_.memory_desc_init_by_strides_f(&result, 3 - skip, extents.data() + skip, *data_type, strides.data() + skip);
    if (status == dnnl_success) return result;
    return Error{"onednn", failed_as, concat("is ", name_of(status), " for dnnl_memory_desc_init_by_strides"), {}, {}};
  }

  const Api& api_;
  const GemmProblem& p_;
  bool batched_, exchanged_;
};

// Attributes under construction; both objects are copied by what takes them.
struct Attributes {
  const Api& api;
  dnnl_primitive_attr_t attributes = nullptr;
  dnnl_post_ops_t post_ops = nullptr;
  int length = 0;

  explicit Attributes(const Api& a) : api(a) {}
  ~Attributes() {
    if (post_ops) api.post_ops_destroy_f(post_ops);
    if (attributes) api.primitive_attr_destroy_f(attributes);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  Status create() {
    GS_ONEDNN(api, primitive_attr_create, &attributes);
    GS_ONEDNN(api, post_ops_create, &post_ops);
    return Done{};
  }
  Status binary(BinaryOp op, const dnnl_memory_desc_t& desc, Binding binding, std::vector<Binding>& bindings) {
    GS_ONEDNN(api, post_ops_append_binary, post_ops, algorithm_of(op), &desc);
    binding.argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(length++) | DNNL_ARG_SRC_1;
    binding.desc = desc;
    bindings.push_back(binding);
    return Done{};
  }
  Status elementwise(const PostOp& op) {
    GS_ONEDNN(api, post_ops_append_eltwise, post_ops, 1.0f, algorithm_of(op.function), op.alpha, op.beta);
    ++length;
    return Done{};
  }
  Status sum(float scale) {
    GS_ONEDNN(api, post_ops_append_sum, post_ops, scale);
    ++length;
    return Done{};
  }
};

Binding from_input(const GemmProblem& p, const std::string& name) {
  const auto named = [&](const InputSpec& input) { return input.name == name; };
  return {
      Binding::From::input, size_t(std::find_if(p.inputs.begin(), p.inputs.end(), named) - p.inputs.begin()), 0, {}};
}

// Why an implementation is not used, if it is not.
std::string defect_of(std::string_view implementation, const GemmProblem& p) {
  if (implementation.starts_with("ref")) return "(plain loops, orders of magnitude slower than the others)";
  if (implementation.starts_with("gemm") && p.a.type == DataType::bf16 && p.k % 2 == 1)
    return concat("(it multiplies a zero that it adds to k = ", p.k, ", an odd number: infinity gives NaN)");
  return {};
}

// Whether a vector or tensor of an epilogue finds its place in D: with a batch, version 2.6 looks it up as if D were
// packed.
bool binary_fits(const GemmProblem& p) {
  if (p.batch <= 1) return true;
  const bool rows = p.d.column_stride == 1 && p.d.row_stride == p.n,
             columns = p.d.row_stride == 1 && p.d.column_stride == p.m;
  return (rows || columns) && p.d.batch_stride == p.m * p.n;
}

// A binary operand of another layout than D is read as if it were dense by some implementations.
bool laid_out_like_d(const MatrixSpec& s, const GemmProblem& p) {
  return s.row_stride == p.d.row_stride && s.column_stride == p.d.column_stride && s.batch_stride == p.d.batch_stride;
}

}  // namespace

Result<MatmulPlan> MatmulPlan::create(std::shared_ptr<const Api> shared_api, const GemmProblem& p,
                                      const std::vector<PostOp>& post_ops, MatmulForm form, int threads) {
  const Api& api = *shared_api;
  api.set_threads(threads);  // an implementation divides the work when it is created
  MatmulPlan plan(std::move(shared_api));
  const Tensors tensors(api, p);
  GS_TRY(const dnnl_memory_desc_t a, tensors.matrix("a", p.a, p.m, p.k));
  GS_TRY(const dnnl_memory_desc_t b, tensors.matrix("b", p.b, p.k, p.n));
  GS_TRY(const dnnl_memory_desc_t d, tensors.matrix("d", p.d, p.m, p.n));
  const bool swap = exchanged(p);
  plan.bindings_ = {{Binding::From::a, 0, swap ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, a},
                    {Binding::From::b, 0, swap ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS, b},
                    {Binding::From::d, 0, DNNL_ARG_DST, d}};

  Attributes attributes(api);
  GS_CHECK(attributes.create());
  if (p.alpha != 1) {
    const float alpha = float(p.alpha);
    GS_ONEDNN(api, primitive_attr_set_output_scales, attributes.attributes, 1, 0, &alpha);
  }
  if (p.reads_c() && form.c_as_tensor) {
    GS_TRY(const dnnl_memory_desc_t c, tensors.matrix("c", p.c, p.m, p.n));
    GS_CHECK(attributes.binary(BinaryOp::add, c, {Binding::From::c, 0, 0, {}}, plan.bindings_));
  } else if (p.reads_c()) {
    plan.sums_into_d_ = true;
    GS_CHECK(attributes.sum(float(p.beta)));
  }
  dnnl_memory_desc_t bias{};
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = post_ops[i];
    if (!op.function.empty()) {
      GS_CHECK(attributes.elementwise(op));
      continue;
    }
    if (!binary_fits(p))
      return Error{"onednn",
                   concat("d with strides(", p.d.row_stride, ",", p.d.column_stride, ",", p.d.batch_stride, ")"),
                   "is not packed, which a binary post-op in a batch needs",
                   {},
                   {}};
    Binding binding = from_input(p, op.input);
    GS_TRY(const dnnl_memory_desc_t desc, tensors.input(p.inputs[binding.input]));
    if (i == 0 && form.bias_argument) {
      binding.argument = DNNL_ARG_BIAS;
      binding.desc = bias = desc;
      plan.bindings_.push_back(binding);
    } else {
      GS_CHECK(attributes.binary(op.op, desc, binding, plan.bindings_));
    }
  }
  GS_ONEDNN(api, primitive_attr_set_post_ops, attributes.attributes, attributes.post_ops);

  dnnl_matmul_desc_t matmul{};
  GS_ONEDNN(api, matmul_desc_init, &matmul, swap ? &b : &a, swap ? &a : &b, form.bias_argument ? &bias : nullptr, &d);
  GS_ONEDNN(api, primitive_desc_create, &plan.desc_, &matmul, attributes.attributes, api.engine(), nullptr);
  const char* implementation = "";
  GS_ONEDNN(api, primitive_desc_query, plan.desc_, dnnl_query_impl_info_str, 0, &implementation);
  plan.implementation_ = implementation;
  return plan;
}

Result<MatmulPlan> MatmulPlan::create_best(std::shared_ptr<const Api> api, const GemmProblem& p,
                                           const std::vector<PostOp>& post_ops, int threads) {
  // A bias goes along the columns of what the library computes.
  const InputIndex bias_index = exchanged(p) ? InputIndex::row : InputIndex::column;
  const bool bias_first = !post_ops.empty() && post_ops[0].function.empty() && post_ops[0].op == BinaryOp::add &&
                          p.inputs[from_input(p, post_ops[0].input).input].index == bias_index && p.alpha == 1;
  const bool tensor_fits = p.reads_c() && p.beta == 1 && laid_out_like_d(p.c, p);
  const bool sum_fits = !p.reads_c() || p.c.type == p.d.type;
  if (!tensor_fits && !sum_fits)
    return Error{
        "onednn",
        concat("beta = ", p.beta, " with c ", gemmsmith::name_of(p.c.type), " and d ", gemmsmith::name_of(p.d.type)),
        "needs one type for its sum, or beta = 1 and one layout for its binary addition",
        {},
        {}};
  std::optional<Error> refusal;
  for (const bool bias_argument : {true, false})
    for (const bool c_as_tensor : {true, false}) {
      if ((bias_argument && !bias_first) || !(c_as_tensor ? tensor_fits : sum_fits)) continue;
      Result<MatmulPlan> plan = create(api, p, post_ops, {bias_argument, c_as_tensor}, threads);
      const std::string defect = plan.ok() ? defect_of(plan->implementation(), p) : std::string();
      if (plan.ok() && defect.empty()) return plan;
      refusal = plan.ok()
                    ? Error{"onednn", concat(plan->implementation(), " is what it has for ", p.print()), defect, {}, {}}
                    : Error{"onednn", plan.error().given, concat(plan.error().limit, " for ", p.print()), {}, {}};
    }
  return *std::move(refusal);
}

MatmulPlan::MatmulPlan(MatmulPlan&& other) noexcept
    : api_(std::move(other.api_)),
      desc_(std::exchange(other.desc_, nullptr)),
      bindings_(std::move(other.bindings_)),
      implementation_(std::move(other.implementation_)),
      sums_into_d_(other.sums_into_d_) {}

MatmulPlan& MatmulPlan::operator=(MatmulPlan&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(desc_, other.desc_);
  std::swap(bindings_, other.bindings_);
  std::swap(implementation_, other.implementation_);
  std::swap(sums_into_d_, other.sums_into_d_);
  return *this;
}

MatmulPlan::~MatmulPlan() {
  if (desc_) api_->primitive_desc_destroy_f(desc_);
}

Result<std::unique_ptr<Matmul>> Matmul::create(const MatmulPlan& plan, int threads) {
  std::unique_ptr<Matmul> matmul(new Matmul);
  matmul->api_ = plan.api();
  matmul->threads_ = threads;
  matmul->bindings_ = plan.bindings();
  const Api& api = *matmul->api_;
  api.set_threads(threads);
  GS_ONEDNN(api, primitive_create, &matmul->primitive_, plan.desc());
  for (const Binding& binding : matmul->bindings_) {
    dnnl_memory_t memory = nullptr;
    GS_ONEDNN(api, memory_create, &memory, &binding.desc, api.engine(), DNNL_MEMORY_NONE);
    matmul->arguments_.push_back({binding.argument, memory});
  }
  return matmul;
}

Matmul::~Matmul() {
  if (primitive_) api_->primitive_destroy_f(primitive_);
  for (const dnnl_exec_arg_t& argument : arguments_) api_->memory_destroy_f(argument.memory);
}

Status Matmul::run(const GemmArguments& arguments) {
  const auto pointer_of = [&](const Binding& binding) -> const void* {
    switch (binding.from) {
      case Binding::From::a:
        return arguments.a;
      case Binding::From::b:
        return arguments.b;
      case Binding::From::c:
        return arguments.c;
      case Binding::From::d:
        return arguments.d;
      case Binding::From::input:
        break;
    }
    return arguments.inputs[binding.input];
  };
  for (size_t i = 0; i < bindings_.size(); ++i)
    GS_ONEDNN(*api_, memory_set_data_handle, arguments_[i].memory, const_cast<void*>(pointer_of(bindings_[i])));
  api_->set_threads(threads_);
  GS_ONEDNN(*api_, primitive_execute, primitive_, api_->stream(), int(arguments_.size()), arguments_.data());
  GS_ONEDNN(*api_, stream_wait, api_->stream());
  return Done{};
}

}  // namespace gemmsmith::onednn
#endif
