// gemmsmith.h over the C++ API: devices, problems, stores, tuning, kernels. c_api_dispatch.cpp has the rest.
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/c_call.h"
#include "gemmsmith/json.h"

using namespace gemmsmith;

const char* gs_version(void) { return GEMMSMITH_VERSION; }
int32_t gs_abi_version(void) { return GS_ABI_VERSION; }
void gs_string_free(char* string) { std::free(string); }

gs_status gs_device_open(const char* name, const gs_device_options* options, gs_device** device, char* error,
                         size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{device, "device"}}));
    *device = nullptr;
    GS_NEED(call.need({{name, "name"}}));
    gs_device_options known;
    GS_NEED(read_struct(call, "options", options, known));
    DeviceOptions chosen{
        .threads = known.threads, .measure_peaks = known.without_peaks == 0, .kernel_cache = {}, .warn = {}};
    if (known.kernel_cache) chosen.kernel_cache = known.kernel_cache;
    if (known.warn)
      chosen.warn = [warn = known.warn, user = known.user](const Error& reason) { warn(reason.text().c_str(), user); };
    GS_TRY(Device opened, Device::open(name, chosen));
    const DeviceFacts& facts = opened.facts();
    std::string features = join(facts.features, " "), fingerprint = facts.fingerprint();
    *device = new gs_device{std::move(opened), std::move(features), std::move(fingerprint)};
    return Done{};
  });
}

void gs_device_close(gs_device* device) { delete device; }
void gs_device_release_memory(gs_device* device) { device->device.release_memory(); }

gs_status gs_device_kernel_cache(gs_device* device, gs_kernel_cache* report, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{device, "device"}, {report, "report"}}));
    gs_kernel_cache known;
    GS_NEED(read_struct(call, "report", report, known));
    const KernelCacheReport r = device->device.kernel_cache();
    const size_t size = report->size;
    known = {size,      r.hits,        r.misses,      r.damaged, r.evicted, r.saved,
             r.unsaved, r.found_bytes, r.saved_bytes, r.kernels, r.bytes};
    std::memcpy(report, &known, std::min(size, sizeof known));
    return Done{};
  });
}

gs_status gs_device_get_facts(const gs_device* device, gs_device_facts* facts, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{device, "device"}, {facts, "facts"}}));
    const DeviceFacts& f = device->device.facts();
    const gs_device_facts all = {.size = sizeof all,
                                 .kind = f.kind.c_str(),
                                 .vendor = f.vendor.c_str(),
                                 .model = f.model.c_str(),
                                 .features = device->features.c_str(),
                                 .fingerprint = device->fingerprint.c_str(),
                                 .cores = f.cores,
                                 .threads = f.threads,
                                 .vector_bytes = f.vector_bytes,
                                 .reserved = 0,
                                 .l1_bytes = f.l1_bytes,
                                 .l2_bytes = f.l2_bytes,
                                 .last_level_bytes = f.last_level_bytes,
                                 .memory_bytes = f.memory_bytes,
                                 .peak_f32_gflops = f.peak_f32_gflops,
                                 .peak_bf16_gflops = f.peak_bf16_gflops,
                                 .peak_i8_gops = f.peak_i8_gops,
                                 .read_gbytes_per_s = f.read_gbytes_per_s};
    return write_struct(call, "facts", all, facts);
  });
}

gs_status gs_device_sources(const gs_device* device, char** sources_json, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{sources_json, "sources_json"}}));
    *sources_json = nullptr;
    GS_NEED(call.need({{device, "device"}}));
    *sources_json = copy_of(to_json(device->device.sources()));
    return Done{};
  });
}

gs_status gs_problem_print(const char* problem, char* text, size_t text_bytes, size_t* length, char* error,
                           size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    if (length) *length = 0;
    GS_NEED(call.need({{problem, "problem"}}));
    GS_TRY(const GemmProblem parsed, GemmProblem::parse(problem));
    const std::string printed = parsed.print();
    if (length) *length = printed.size();
    if (!text) return Done{};
    if (printed.size() >= text_bytes)
      return call.failure(GS_BUFFER_TOO_SMALL, concat("text_bytes = ", text_bytes),
                          concat("is less than ", printed.size() + 1, ", what the text and its zero take"));
    std::memcpy(text, printed.c_str(), printed.size() + 1);
    return Done{};
  });
}

gs_status gs_store_open(const char* path, gs_store** store, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{store, "store"}}));
    *store = nullptr;
    GS_TRY(Store opened, Store::open(path ? path : Store::default_path()));
    *store = new gs_store{std::move(opened)};
    return Done{};
  });
}

void gs_store_close(gs_store* store) { delete store; }

gs_status gs_cancel_open(gs_cancel** cancel) {
  if (!cancel) return GS_INVALID_ARGUMENT;
  *cancel = new (std::nothrow) gs_cancel;
  return *cancel ? GS_OK : GS_OUT_OF_MEMORY;
}

void gs_cancel_set(gs_cancel* cancel) { cancel->set.store(true, std::memory_order_relaxed); }
void gs_cancel_close(gs_cancel* cancel) { delete cancel; }

gs_status gs_tune(gs_device* device, const char* problem, const gs_tune_options* options, gs_store* store,
                  char** report_json, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    if (report_json) *report_json = nullptr;
    GS_NEED(call.need({{device, "device"}, {problem, "problem"}}));
    TuneOptions known;
    GS_NEED(read_options(call, options, known));
    GS_TRY(const GemmProblem parsed, GemmProblem::parse(problem));
    GS_TRY(const TuneReport report, tune(device->device, parsed, known, store ? &store->store : nullptr));
    if (report_json) *report_json = copy_of(to_json(report));
    return Done{};
  });
}

gs_status gs_gemm_create(gs_device* device, const char* problem, const gs_tune_options* options, gs_store* store,
                         gs_gemm** gemm, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{gemm, "gemm"}}));
    *gemm = nullptr;
    GS_NEED(call.need({{device, "device"}, {problem, "problem"}}));
    TuneOptions known;
    GS_NEED(read_options(call, options, known));
    GS_TRY(GemmProblem parsed, GemmProblem::parse(problem));
    GS_TRY(Gemm created, Gemm::create(device->device, parsed, known, store ? &store->store : nullptr));
    *gemm = new gs_gemm{std::move(parsed), std::move(created), {}};
    return Done{};
  });
}

gs_status gs_gemm_build(gs_device* device, const char* problem, const char* source, const char* config, gs_gemm** gemm,
                        char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{gemm, "gemm"}}));
    *gemm = nullptr;
    GS_NEED(call.need({{device, "device"}, {problem, "problem"}, {source, "source"}}));
    GS_TRY(GemmProblem parsed, GemmProblem::parse(problem));
    GS_TRY(Gemm built, Gemm::build(device->device, parsed, source, config ? config : ""));
    *gemm = new gs_gemm{std::move(parsed), std::move(built), {}};
    return Done{};
  });
}

gs_status gs_gemm_run(gs_gemm* gemm, const gs_gemm_arguments* arguments, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{gemm, "gemm"}, {arguments, "arguments"}}));
    GS_NEED(read_arguments(call, gemm->problem, arguments, gemm->arguments));
    GS_CHECK(gemm->gemm.run(gemm->arguments));
    return Done{};
  });
}

const char* gs_gemm_source(const gs_gemm* gemm) { return gemm->gemm.source().c_str(); }
const char* gs_gemm_config(const gs_gemm* gemm) { return gemm->gemm.config().c_str(); }
void gs_gemm_close(gs_gemm* gemm) { delete gemm; }
