#include "sources/epilogue_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "expr/linear.h"
#include "sources/vector_math.h"
#include "support/half.h"

namespace gemmsmith {

namespace {

enum class Op : uint8_t {
  // Values that come from elsewhere.
  accumulator,
  constant,
  input,
  // Arithmetic.
  negate,
  add,
  sub,
  mul,
  div,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  where,
  // Functions with a loop of their own; `generic` calls the expression's definition in float64 for each element.
  abs,
  min,
  max,
  floor,
  sqrt,
  rsqrt,
  exp,
  log,
  tanh,
  erf,
  to_bf16,
  to_f16,
  generic,
};

struct Step {
  Op op = Op::generic;
  std::array<int, 3> operands = {-1, -1, -1};
  int input = -1;    // index into GemmProblem::inputs
  float number = 0;  // of a constant
  Expr expr;         // of a generic step
};

constexpr int kBlock = 256;  // elements that go through all steps together: a dozen live values stay in the L1 cache
constexpr int kChunk = 16;   // blocks are computed up to a multiple of it, so that inner loops have a fixed length
constexpr int64_t kElementsPerThread = int64_t(1) << 17;  // below it, starting a thread costs more than it saves

// Calls body(first, last) for parts of [0, lines) on up to `threads` threads, this one among them.
template <class Body>
void parallel_lines(int64_t lines, int64_t elements, int threads, const Body& body) {
  const int64_t parts = std::clamp<int64_t>(elements / kElementsPerThread, 1,
                                            std::clamp<int64_t>(threads, 1, std::max<int64_t>(lines, 1)));
  std::vector<std::jthread> helpers;
  for (int64_t part = 1; part < parts; ++part)
    helpers.emplace_back([&body, lines, part, parts] { body(lines * part / parts, lines * (part + 1) / parts); });
  body(0, lines / parts);
}

// D as lines along its contiguous mode.
struct LineOrder {
  bool along_rows;  // a line is a row
  int64_t lines, length;
  explicit LineOrder(const GemmProblem& p) {
    along_rows = p.d.column_stride == 1 || p.d.row_stride != 1;
    lines = p.batch * (along_rows ? p.m : p.n);
    length = along_rows ? p.n : p.m;
  }
  struct Place {
    int64_t batch, row, column;  // of a line's first element
  };
  Place place(const GemmProblem& p, int64_t line) const {
    const int64_t per_batch = along_rows ? p.m : p.n;
    return along_rows ? Place{line / per_batch, line % per_batch, 0} : Place{line / per_batch, 0, line % per_batch};
  }
  int64_t offset(const MatrixSpec& s, const Place& at) const {
    return at.batch * s.batch_stride + at.row * s.row_stride + at.column * s.column_stride;
  }
  int64_t stride(const MatrixSpec& s) const { return along_rows ? s.column_stride : s.row_stride; }
};

template <class Function>
[[gnu::always_inline]] inline void each(int chunks, float* out, Function f) {
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int i = 0; i < kChunk; ++i) out[chunk * kChunk + i] = f(chunk * kChunk + i);
}

// One step over a block. x, y, z are the operands' values.
[[gnu::always_inline]] inline void compute_step(const Step& step, int chunks, float* __restrict out, const float* x,
                                                const float* y, const float* z) {
#define GS_EACH(expression) each(chunks, out, [=](int i) __attribute__((always_inline)) -> float { return expression; })
  switch (step.op) {
    case Op::accumulator:
    case Op::constant:
    case Op::input:
      break;
    case Op::negate:
      GS_EACH(-x[i]);
      break;
    case Op::add:
      GS_EACH(x[i] + y[i]);
      break;
    case Op::sub:
      GS_EACH(x[i] - y[i]);
      break;
    case Op::mul:
      GS_EACH(x[i] * y[i]);
      break;
    case Op::div:
      GS_EACH(x[i] / y[i]);
      break;
    case Op::less:
      GS_EACH(x[i] < y[i] ? 1.0f : 0.0f);
      break;
    case Op::less_equal:
      GS_EACH(x[i] <= y[i] ? 1.0f : 0.0f);
      break;
    case Op::greater:
      GS_EACH(x[i] > y[i] ? 1.0f : 0.0f);
      break;
    case Op::greater_equal:
      GS_EACH(x[i] >= y[i] ? 1.0f : 0.0f);
      break;
    case Op::equal:
      GS_EACH(x[i] == y[i] ? 1.0f : 0.0f);
      break;
    case Op::not_equal:
      GS_EACH(x[i] != y[i] ? 1.0f : 0.0f);
      break;
    case Op::where:
      GS_EACH(x[i] != 0.0f ? y[i] : z[i]);
      break;
    case Op::abs:
      GS_EACH(std::fabs(x[i]));
      break;
    case Op::min:
      GS_EACH(x[i] != x[i] || x[i] < y[i] ? x[i] : y[i]);
      break;
    case Op::max:
      GS_EACH(x[i] != x[i] || x[i] > y[i] ? x[i] : y[i]);
      break;
    case Op::floor:
      GS_EACH(std::floor(x[i]));
      break;
    case Op::sqrt:
      GS_EACH(std::sqrt(x[i]));
      break;
    case Op::rsqrt:
      GS_EACH(1.0f / std::sqrt(x[i]));
      break;
    case Op::exp:
      GS_EACH(vector_math::exp(x[i]));
      break;
    case Op::log:
      GS_EACH(std::log(x[i]));
      break;
    case Op::tanh:
      GS_EACH(vector_math::tanh(x[i]));
      break;
    case Op::erf:
      GS_EACH(vector_math::erf(x[i]));
      break;
    case Op::to_bf16:
      GS_EACH(float_from_bf16(bf16_from_float(x[i])));
      break;
    case Op::to_f16:
      GS_EACH(float_from_f16(f16_from_float(x[i])));
      break;
    case Op::generic:
      for (int i = 0; i < chunks * kChunk; ++i) {
        const double operands[3] = {x ? x[i] : 0, y ? y[i] : 0, z ? z[i] : 0};
        out[i] = float(evaluate_step(step.expr, operands));
      }
      break;
  }
#undef GS_EACH
}

[[gnu::always_inline]] inline void compute_steps(const std::vector<Step>& steps, int chunks, float* values) {
  const auto value_of = [values](int step) { return step < 0 ? nullptr : values + int64_t(step) * kBlock; };
  for (size_t i = 0; i < steps.size(); ++i)
    compute_step(steps[i], chunks, value_of(int(i)), value_of(steps[i].operands[0]), value_of(steps[i].operands[1]),
                 value_of(steps[i].operands[2]));
}

// The same code for three instruction sets; the best that the CPU has is chosen once.
using Compute = void (*)(const std::vector<Step>&, int, float*);
void compute_baseline(const std::vector<Step>& steps, int chunks, float* values) {
  compute_steps(steps, chunks, values);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void compute_avx2(const std::vector<Step>& steps, int chunks, float* values) {
  compute_steps(steps, chunks, values);
}
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma")]] void compute_avx512(const std::vector<Step>& steps,
                                                                              int chunks, float* values) {
  compute_steps(steps, chunks, values);
}
Compute best_compute() {
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return compute_avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? compute_avx2 : compute_baseline;
}
#else
Compute best_compute() { return compute_baseline; }
#endif

// `count` elements from `offset` on, `stride` apart, as f32.
void load_block(DataType type, const void* base, int64_t offset, int64_t stride, int count, float* out) {
  if (type == DataType::f32 && stride == 1) {
    std::memcpy(out, static_cast<const float*>(base) + offset, size_t(count) * sizeof(float));
  } else if (type == DataType::bf16 && stride == 1) {
    const uint16_t* in = static_cast<const uint16_t*>(base) + offset;
    for (int i = 0; i < count; ++i) out[i] = float_from_bf16(in[i]);
  } else if (stride == 0) {
    std::fill_n(out, count, float(load_element(type, base, offset)));
  } else {
    for (int i = 0; i < count; ++i) out[i] = float(load_element(type, base, offset + i * stride));
  }
}

Op op_of(const Expr& e) {
  switch (e.kind()) {
    case Expr::Kind::accumulator:
      return Op::accumulator;
    case Expr::Kind::constant:
      return Op::constant;
    case Expr::Kind::input:
      return Op::input;
    case Expr::Kind::where:
      return Op::where;
    case Expr::Kind::cast:
      return e.type() == DataType::bf16 ? Op::to_bf16 : e.type() == DataType::f16 ? Op::to_f16 : Op::generic;
    case Expr::Kind::call: {
      static constexpr std::pair<std::string_view, Op> kCalls[] = {
          {"abs", Op::abs},     {"min", Op::min}, {"max", Op::max}, {"floor", Op::floor}, {"sqrt", Op::sqrt},
          {"rsqrt", Op::rsqrt}, {"exp", Op::exp}, {"log", Op::log}, {"tanh", Op::tanh},   {"erf", Op::erf}};
      for (const auto& [name, op] : kCalls)
        if (name == e.name()) return op;
      return Op::generic;
    }
    case Expr::Kind::unary:
    case Expr::Kind::binary:
    case Expr::Kind::compare:
      break;
  }
  static constexpr std::pair<Expr::Op, Op> kOps[] = {{Expr::Op::negate, Op::negate},
                                                     {Expr::Op::add, Op::add},
                                                     {Expr::Op::sub, Op::sub},
                                                     {Expr::Op::mul, Op::mul},
                                                     {Expr::Op::div, Op::div},
                                                     {Expr::Op::less, Op::less},
                                                     {Expr::Op::less_equal, Op::less_equal},
                                                     {Expr::Op::greater, Op::greater},
                                                     {Expr::Op::greater_equal, Op::greater_equal},
                                                     {Expr::Op::equal, Op::equal},
                                                     {Expr::Op::not_equal, Op::not_equal}};
  for (const auto& [from, op] : kOps)
    if (from == e.op()) return op;
  return Op::generic;
}

// The strides of an input seen as a matrix: a vector does not move along the mode that it lacks.
MatrixSpec spec_of(const InputSpec& input, const GemmProblem& p) {
  switch (input.index) {
    case InputIndex::scalar:
      return {input.type, 0, 0, 0};
    case InputIndex::row:
      return {input.type, 1, 0, 0};
    case InputIndex::column:
      return {input.type, 0, 1, 0};
    case InputIndex::full:
      break;
  }
  return {input.type, p.n, 1, p.m * p.n};
}

// The values of all steps over one block: one thread's own.
struct Block {
  std::vector<float> values;
  Compute compute = best_compute();
  float* of(size_t step) { return values.data() + step * kBlock; }
};

}  // namespace

struct EpiloguePass::Plan {
  GemmProblem problem;
  int threads = 1;
  std::vector<Step> steps;

  void run_lines(const GemmArguments&, int64_t first, int64_t last) const;
  void run_line(Block&, const GemmArguments&, int64_t line) const;
};

EpiloguePass::EpiloguePass(const GemmProblem& problem, int threads) {
  if (problem.epilogue.is_accumulator()) return;
  GS_ASSERT(problem.d.type == DataType::f32, "the epilogue pass works on an f32 D");
  auto plan = std::make_shared<Plan>(Plan{problem, threads, {}});
  const LinearExpr linear = linearize(problem.epilogue);
  for (const LinearExpr::Step& from : linear.steps) {
    Step step;
    step.op = op_of(from.expr);
    step.operands = from.operands;
    step.expr = from.expr;
    if (step.op == Op::constant) step.number = float(from.expr.number());
    if (step.op == Op::input) {
      const auto named = [&](const InputSpec& input) { return input.name == from.expr.name(); };
      step.input = int(std::find_if(problem.inputs.begin(), problem.inputs.end(), named) - problem.inputs.begin());
      GS_ASSERT(size_t(step.input) < problem.inputs.size(), "a valid problem declares every input of its epilogue");
    }
    plan->steps.push_back(std::move(step));
  }
  plan_ = std::move(plan);
}

void EpiloguePass::run(const GemmArguments& arguments) const {
  if (empty()) return;
  const LineOrder order(plan_->problem);
  parallel_lines(order.lines, order.lines * order.length, plan_->threads,
                 [&](int64_t first, int64_t last) { plan_->run_lines(arguments, first, last); });
}

void EpiloguePass::Plan::run_lines(const GemmArguments& arguments, int64_t first, int64_t last) const {
  Block block;
  block.values.resize(steps.size() * kBlock);
  for (size_t i = 0; i < steps.size(); ++i) {  // what is the same everywhere is filled in once
    const Step& step = steps[i];
    if (step.op == Op::constant) std::fill_n(block.of(i), kBlock, step.number);
    if (step.op == Op::input && problem.inputs[size_t(step.input)].index == InputIndex::scalar)
      load_block(problem.inputs[size_t(step.input)].type, arguments.inputs[size_t(step.input)], 0, 0, kBlock,
                 block.of(i));
  }
  for (int64_t line = first; line < last; ++line) run_line(block, arguments, line);
}

void EpiloguePass::Plan::run_line(Block& block, const GemmArguments& arguments, int64_t line) const {
  const LineOrder order(problem);
  const LineOrder::Place at = order.place(problem, line);
  float* d = static_cast<float*>(arguments.d) + order.offset(problem.d, at);
  const int64_t stride = order.stride(problem.d);
  for (int64_t begin = 0; begin < order.length; begin += kBlock) {
    const int count = int(std::min<int64_t>(kBlock, order.length - begin));
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (step.op == Op::accumulator) load_block(DataType::f32, d, begin * stride, stride, count, block.of(i));
      if (step.op != Op::input) continue;
      const InputSpec& input = problem.inputs[size_t(step.input)];
      const MatrixSpec spec = spec_of(input, problem);
      if (input.index != InputIndex::scalar)
        load_block(input.type, arguments.inputs[size_t(step.input)],
                   order.offset(spec, at) + begin * order.stride(spec), order.stride(spec), count, block.of(i));
    }
    block.compute(steps, (count + kChunk - 1) / kChunk, block.values.data());
    const float* result = block.of(steps.size() - 1);
    if (stride == 1)
      std::memcpy(d + begin, result, size_t(count) * sizeof(float));
    else
      for (int i = 0; i < count; ++i) d[(begin + i) * stride] = result[i];
  }
}

void set_d_from_c(const GemmProblem& p, const GemmArguments& arguments, double scale, int threads) {
  const LineOrder order(p);
  const bool rows_copied = scale == 1 && p.c.type == p.d.type && order.stride(p.c) == 1 && order.stride(p.d) == 1;
  const int64_t width = bytes_of(p.d.type);
  parallel_lines(order.lines, order.lines * order.length, threads, [&](int64_t first, int64_t last) {
    for (int64_t line = first; line < last; ++line) {
      const LineOrder::Place at = order.place(p, line);
      const int64_t d = order.offset(p.d, at), d_stride = order.stride(p.d);
      const int64_t c = order.offset(p.c, at), c_stride = order.stride(p.c);
      if (scale == 0 && d_stride == 1) {
        std::memset(static_cast<char*>(arguments.d) + d * width, 0, size_t(order.length * width));
      } else if (rows_copied) {
        std::memcpy(static_cast<char*>(arguments.d) + d * width, static_cast<const char*>(arguments.c) + c * width,
                    size_t(order.length * width));
      } else {
        for (int64_t i = 0; i < order.length; ++i)
          store_element(p.d.type, arguments.d, d + i * d_stride,
                        scale == 0 ? 0 : scale * load_element(p.c.type, arguments.c, c + i * c_stride));
      }
    }
  });
}

}  // namespace gemmsmith
