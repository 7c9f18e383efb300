#include "dsl/builder.h"
#include "dsl/hopper.h"
#include "templates/template.h"

namespace gemmsmith {

// One line a template, in the order in which ties of the model are tried.
#define GS_TEMPLATES(TEMPLATE)    \
  TEMPLATE(gemv)                  \
  TEMPLATE(gemm_streaming)        \
  TEMPLATE(gemm_packed)           \
  TEMPLATE(gemm_warp_specialized) \
  TEMPLATE(gemm_ping_pong)        \
  TEMPLATE(gemm_split_k_cluster)  \
  TEMPLATE(gemm_stream_k)         \
  TEMPLATE(gemv_rows)             \
  TEMPLATE(gemv_columns)          \
  TEMPLATE(gemm_unaligned)

#define TEMPLATE(name) KernelTemplate name();
GS_TEMPLATES(TEMPLATE)
#undef TEMPLATE

std::span<const KernelTemplate> templates() {
#define TEMPLATE(name) name(),
  static const std::vector<KernelTemplate> list = {GS_TEMPLATES(TEMPLATE)};
#undef TEMPLATE
  return list;
}

const KernelTemplate* template_named(std::string_view name) {
  for (const KernelTemplate& t : templates())
    if (t.name == name) return &t;
  return nullptr;
}

StageFunction stage_function(const std::string& name, std::function<void(KernelBuilder&)> stage) {
  return [=](IrContext& context, const DeviceFacts& device, const StageOptions& options) {
    RecordOptions record_options;
    record_options.vector_bytes = device.vector_bytes;
    record_options.features = device.features;
    record_options.check_bounds = options.check_bounds;
    return record(context, name, record_options, stage);
  };
}
StageFunction stage_function(const std::string& name, std::function<void(GpuBuilder&)> stage) {
  return [=](IrContext& context, const DeviceFacts&, const StageOptions&) { return record_gpu(context, name, stage); };
}

namespace {

struct Chosen {
  const KernelTemplate* kernel;
  std::string config;
};
Result<Chosen> choose(std::string_view candidate) {
  const size_t space = candidate.find(' ');
  const std::string name(candidate.substr(0, space));
  const KernelTemplate* found = template_named(name);
  if (found) return Chosen{found, std::string(space == candidate.npos ? "" : candidate.substr(space + 1))};
  std::string names;
  for (const KernelTemplate& t : templates()) names += (names.empty() ? "" : ", ") + t.name;
  return Error{"--config", "\"" + name + "\"", "is not a template", "known: " + names, {}};
}

}  // namespace

Result<KernelIr> stage_kernel(IrContext& context, std::string_view candidate, const GemmProblem& p,
                              const DeviceFacts& device, const StageOptions& options) {
  GS_TRY(const Chosen chosen, choose(candidate));
  GS_TRY(const StageFunction stage, chosen.kernel->stage(chosen.config, p, device));
  return stage(context, device, options);
}

Status check_candidate(std::string_view candidate, const GemmProblem& p, const DeviceFacts& device) {
  GS_TRY(const Chosen chosen, choose(candidate));
  GS_CHECK(chosen.kernel->stage(chosen.config, p, device));
  return Done{};
}

std::string kernel_key(std::string_view candidate, const GemmProblem& p, const DeviceFacts& device) {
  std::string text(candidate);
  text += " | " + class_of(p).print() + " | " + std::to_string(device.vector_bytes);
  for (const std::string& feature : device.features) text += " " + feature;
  return text;
}

}  // namespace gemmsmith
