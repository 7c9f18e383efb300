// gemmsmith.h over the C++ API: one handle for a range of m; stages of a kernel.
#include <nlohmann/json.hpp>

#include "api/c_call.h"
#include "gemmsmith/dispatch.h"

struct gs_dispatch {
  gemmsmith::GemmProblem largest;
  gemmsmith::Dispatch dispatch;
};

using namespace gemmsmith;

gs_status gs_dispatch_create(gs_device* device, const char* largest, const gs_dispatch_options* options,
                             gs_store* store, gs_dispatch** dispatch, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{dispatch, "dispatch"}}));
    *dispatch = nullptr;
    GS_NEED(call.need({{device, "device"}, {largest, "largest"}}));
    gs_dispatch_options given;
    GS_NEED(read_struct(call, "options", options, given));
    if (given.reserved != 0)
      return call.invalid(concat("options.reserved = ", given.reserved), "is not 0", "begin with = {sizeof options}");
    DispatchOptions known;
    if (given.min_m != 0) known.min_m = given.min_m;
    if (given.points_per_octave != 0) known.points_per_octave = given.points_per_octave;
    GS_NEED(read_options(call, given.tune, known.tune));
    GS_TRY(GemmProblem problem, GemmProblem::parse(largest));
    // Threads use the handle while one of them uses the store: each has the file open for itself.
    std::optional<Store> own;
    if (store) {
      GS_TRY(own, Store::open(store->store.path()));
    }
    GS_TRY(Dispatch created, Dispatch::create(device->device, problem, known, std::move(own)));
    *dispatch = new gs_dispatch{std::move(problem), std::move(created)};
    return Done{};
  });
}

gs_status gs_dispatch_prepare(gs_dispatch* dispatch, int64_t m, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{dispatch, "dispatch"}}));
    GS_CHECK(m == 0 ? dispatch->dispatch.prepare() : dispatch->dispatch.prepare(m));
    return Done{};
  });
}

gs_status gs_dispatch_run(gs_dispatch* dispatch, int64_t m, const gs_gemm_arguments* arguments, char* error,
                          size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{dispatch, "dispatch"}, {arguments, "arguments"}}));
    GemmArguments known;
    GS_NEED(read_arguments(call, dispatch->largest, arguments, known));
    GS_CHECK(dispatch->dispatch.run(m, known));
    return Done{};
  });
}

gs_status gs_dispatch_table(const gs_dispatch* dispatch, char** table_json, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    GS_NEED(call.need({{table_json, "table_json"}}));
    *table_json = nullptr;
    GS_NEED(call.need({{dispatch, "dispatch"}}));
    nlohmann::ordered_json table = nlohmann::ordered_json::array();
    for (const DispatchRange& range : dispatch->dispatch.table())
      table.push_back(
          {{"first_m", range.first_m}, {"last_m", range.last_m}, {"source", range.source}, {"config", range.config}});
    *table_json = copy_of(table.dump(2));
    return Done{};
  });
}

void gs_dispatch_close(gs_dispatch* dispatch) { delete dispatch; }

gs_status gs_emit(gs_device* device, const char* problem, const char* config, const char* stage, char** content,
                  size_t* content_bytes, char* error, size_t error_bytes) {
  return Call(__func__, error, error_bytes).run([&](const Call& call) -> Outcome {
    if (content_bytes) *content_bytes = 0;
    GS_NEED(call.need({{content, "content"}}));
    *content = nullptr;
    GS_NEED(call.need({{device, "device"}, {problem, "problem"}, {stage, "stage"}}));
    GS_TRY(const GemmProblem parsed, GemmProblem::parse(problem));
    GS_TRY(const EmitResult emitted, emit(device->device, parsed, config ? config : "", stage));
    *content = copy_of(emitted.content);
    if (content_bytes) *content_bytes = emitted.content.size();
    return Done{};
  });
}
