#include "dsl/builder.h"

#include <algorithm>

namespace gemmsmith {

// Adds an argument to the signature; false and a mistake if there is one of this kind and name.
bool KernelBuilder::add(Argument kind, const std::string& name, const Where& at) {
  const KernelArgument argument{kind, name};
  const auto& known = signature_.arguments;
  if (std::any_of(known.begin(), known.end(), [&](const auto& k) { return k.kind == kind && k.name == name; })) {
    op::fail(at, "operand \"" + name + "\"", "was asked for before", "keep the tensor that the first call gave");
    return false;
  }
  signature_.arguments.push_back(argument);
  return true;
}

void KernelBuilder::align(const std::string& operand, int bytes, Where at) {
  for (KernelArgument& a : signature_.arguments)
    if (a.kind == Argument::pointer && a.name == operand) {
      a.alignment = std::max(a.alignment, bytes);
      return;
    }
  op::fail(at, "operand \"" + operand + "\"", "was not asked for: it has no pointer that could be aligned");
}

Int KernelBuilder::extent(const std::string& name) {
  for (auto& [known, value] : extents_)
    if (known == name) return value;
  signature_.arguments.push_back({Argument::extent, name});
  extents_.emplace_back(name, op::int_argument());
  return extents_.back().second;
}

Vec KernelBuilder::scalar(const std::string& name) {
  for (auto& [known, value] : scalars_)
    if (known == name) return value;
  signature_.arguments.push_back({Argument::scalar, name});
  scalars_.emplace_back(name, op::scalar_argument());
  return scalars_.back().second;
}

Tensor KernelBuilder::matrix(const MatrixArg& m, Where at) {
  const Scope scope("matrix", at);
  const Kind element = m.type;
  const Offset step(bytes(element));
  add(Argument::pointer, m.name, at);
  const Scalar pointer = op::pointer_argument();
  const auto stride = [&](Argument which) {
    signature_.arguments.push_back({which, m.name});
    return multiply(step, op::offset_argument());
  };
  TensorLayout layout{{}, {}, bytes(element)};
  if (m.batched) layout.modes.push_back({{extent("batch"), stride(Argument::batch_stride)}});
  const Offset row = m.major == Major::column ? step : stride(Argument::row_stride);
  const Offset column = m.major == Major::row ? step : stride(Argument::column_stride);
  const Int rows = extent(m.rows), columns = extent(m.columns);
  layout.modes.push_back({{rows, row}});
  layout.modes.push_back({{columns, column}});
  return {pointer, element, std::move(layout)};
}

Tensor KernelBuilder::input(const InputArg& input, const std::string& rows, const std::string& columns, bool batched,
                            Where at) {
  const Scope scope("input", at);
  const Kind element = input.type;
  const Offset step(bytes(element)), none(0);
  add(Argument::pointer, input.name, at);
  const Scalar pointer = op::pointer_argument();
  const Int m = extent(rows), n = extent(columns);
  TensorLayout layout{{}, {}, bytes(element)};
  const bool full = input.index == InputIndex::full;
  const Offset row = full ? n * step : input.index == InputIndex::row ? step : none;
  if (batched) layout.modes.push_back({{extent("batch"), full ? m * row : none}});
  layout.modes.push_back({{m, row}});
  layout.modes.push_back({{n, full || input.index == InputIndex::column ? step : none}});
  return {pointer, element, std::move(layout)};
}

Output KernelBuilder::output(const OutputArg& arg, Where at) {
  const Scope scope("output", at);
  const bool plain = !arg.alpha && !arg.beta && arg.epilogue.is_accumulator() && arg.d.type == arg.acc;
  Output out(matrix(arg.d, at), arg.epilogue, plain);
  if (arg.alpha) out.alpha_.emplace(scalar("alpha"));
  if (arg.beta) {
    out.beta_.emplace(scalar("beta"));
    if (arg.c.batched != arg.d.batched)
      op::fail(at, "C", "is batched where D is not, or the other way round", "batched in both");
    out.c_.emplace(matrix(arg.c, at));
  }
  auto used = inputs_of(arg.epilogue);
  if (!used.ok()) {
    op::fail(at, std::move(used).error());
    return out;
  }
  for (const ExprInput& use : *used) {
    const auto given =
        std::find_if(arg.inputs.begin(), arg.inputs.end(), [&](const InputArg& i) { return i.name == use.name; });
    if (given == arg.inputs.end() || given->index != use.index) {
      op::fail(at, "input \"" + use.name + "\" of the epilogue",
               given == arg.inputs.end() ? "has no type" : "is indexed in another way than its InputArg says");
      return out;
    }
    out.inputs_.push_back({use.name, use.index, input(*given, arg.d.rows, arg.d.columns, arg.d.batched, at)});
  }
  return out;
}

Int KernelBuilder::cores() {
  if (cores_.empty()) {
    signature_.arguments.push_back({Argument::cores, "cores"});
    cores_.push_back(op::int_argument());
  }
  return cores_[0];
}

Int KernelBuilder::share(Int n, int unit, Where at) {
  const Scope scope("share", at);
  return max(round_up(ceil_div(n, cores()), unit), unit);
}

Tensor KernelBuilder::scratch(Kind kind, const Layout& layout, Int core, Where at) {
  const Scope scope("scratch", at);
  Tensor nothing({Kind::pointer, 1, nullptr, 0, 0}, kind, staged(layout));
  if (auto valid = validate(layout); !valid.ok()) {
    op::fail(at, std::move(valid).error());
    return nothing;
  }
  if (layout.element_bytes != bytes(kind)) {
    op::fail(at, "scratch of " + print(kind),
             "has a layout of elements of " + std::to_string(layout.element_bytes) + " bytes",
             std::to_string(bytes(kind)) + " bytes");
    return nothing;
  }
  constexpr int64_t page = 4096;
  const int64_t span = span_bytes(layout);
  if (span > (int64_t(1) << 46)) {
    op::fail(at, "scratch of " + std::to_string(span) + " bytes for each core", "is more than 2^46 bytes");
    return nothing;
  }
  const Scratch part = add_scratch((span + page - 1) / page * page);
  return {op::advance(op::advance(part.base, core * part.step), part.begin), kind, staged(layout)};
}

KernelBuilder::Scratch KernelBuilder::add_scratch(int64_t bytes) {
  if (scratch_.empty()) {
    signature_.arguments.push_back({Argument::scratch, "scratch"});
    scratch_.push_back(op::pointer_argument());
  }
  scratch_sizes_.push_back(op::late_offset());  // of one core: known when all has been asked for
  const Scratch part{scratch_[0], scratch_sizes_.back(), signature_.scratch_bytes};
  signature_.scratch_bytes += bytes;
  return part;
}

KernelSignature KernelBuilder::finish() {
  for (const Offset& size : scratch_sizes_) op::set_late_offset(size, signature_.scratch_bytes);
  return signature_;
}

Result<KernelIr> record(IrContext& context, const std::string& name, const RecordOptions& options,
                        const std::function<void(KernelBuilder&)>& stage, Where at) {
  const auto wrong = [&](const std::string& given, const std::string& limit, const std::string& remedy) {
    return Error{std::string(at.file_name()) + ":" + std::to_string(at.line()), given, limit, remedy, {}};
  };
  if (op::is_recording())
    return wrong("recording \"" + name + "\"", "began while another is in progress on this thread",
                 "one after the other");
  if (name.empty()) return wrong("a kernel without a name", "has no symbol to be found by", "gemm_packed");
  const int v = options.vector_bytes;
  if (v < 16 || v > 128 || (v & (v - 1)))
    return wrong("vector_bytes = " + std::to_string(v), "is not the size of a vector register", "16, 32, 64");
  if (options.index_bits != 32 && options.index_bits != 64)
    return wrong("index_bits = " + std::to_string(options.index_bits), "is not the width of an index", "32, 64");
  Recorder recorder(context, name, options, at);
  KernelBuilder builder(options);
  stage(builder);
  auto kernel = recorder.finish(builder.finish());
  if (!kernel.ok()) return std::move(kernel).error().note("while staging " + name);
  return kernel;
}

}  // namespace gemmsmith
