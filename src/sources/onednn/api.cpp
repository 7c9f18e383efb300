#include "sources/onednn/api.h"

#ifdef GEMMSMITH_HAVE_ONEDNN
#include <optional>
#include <utility>

#include "sources/scoped_variable.h"
#include "support/dynamic_library.h"
#include "support/text.h"

namespace gemmsmith::onednn {
namespace {

// Idle OpenMP workers spin for 300 000 rounds by default, several milliseconds during which they take cycles from
// whatever is measured next. A tenth of a millisecond or two still covers the gap between two calls in a row; none at
// all would double the time of small calls.
constexpr const char* kIdleSpin = "5000";

Error failed(const char* call, dnnl_status_t status) {
  return {"onednn", concat("dnnl_", call), concat("gives ", name_of(status)), {}, {}};
}

template <class Function>
Status find(const DynamicLibrary& library, const char* symbol, Function*& out) {
  GS_TRY(out, library.function<Function>(symbol));
  return Done{};
}

}  // namespace

std::string_view name_of(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out_of_memory";
    case dnnl_invalid_arguments:
      return "invalid_arguments";
    case dnnl_unimplemented:
      return "unimplemented";
    case dnnl_iterator_ends:
      return "iterator_ends";
    case dnnl_runtime_error:
      return "runtime_error";
    case dnnl_not_required:
      return "not_required";
  }
  return "an unknown status";
}

Result<std::shared_ptr<const Api>> Api::open(const OneDnnOptions& options) {
  std::optional<ScopedVariable> spin;  // OpenMP reads these when it is loaded, which this library does
  if (!environment_variable("GOMP_SPINCOUNT") && !environment_variable("OMP_WAIT_POLICY"))
    spin.emplace("GOMP_SPINCOUNT", kIdleSpin);
  Result<DynamicLibrary> opened = DynamicLibrary::open(options.library_names);
  spin.reset();
  if (!opened.ok()) {
    Error error = std::move(opened).error();
    error.remedy = "Debian's package is libdnnl2";
    return error;
  }
  opened->keep_open();

  std::shared_ptr<Api> api(new Api);
#define GEMMSMITH_FIND(name) GS_CHECK(find(*opened, "dnnl_" #name, api->name##_f));
  GEMMSMITH_ONEDNN_FUNCTIONS(GEMMSMITH_FIND)
#undef GEMMSMITH_FIND
  const dnnl_version_t& version = *api->version_f();
  if (version.major != DNNL_VERSION_MAJOR)
    return Error{opened->path(),
                 concat("version ", version.major),
                 concat("is not ", DNNL_VERSION_MAJOR, ", that of the header"),
                 {},
                 {}};
  // A library's dependencies are found through its handle, so this is the OpenMP that it uses.
  if (auto found = opened->function<void(int)>("omp_set_num_threads"); found.ok()) api->omp_set_num_threads_ = *found;
  if (const auto status = api->engine_create_f(&api->engine_, dnnl_cpu, 0); status != dnnl_success)
    return failed("engine_create", status);
  if (const auto status = api->stream_create_f(&api->stream_, api->engine_, dnnl_stream_default_flags);
      status != dnnl_success)
    return failed("stream_create", status);
  return std::shared_ptr<const Api>(std::move(api));
}

Api::~Api() {
  if (stream_) stream_destroy_f(stream_);
  if (engine_) engine_destroy_f(engine_);
}

std::string Api::version() const {
  const dnnl_version_t& v = *version_f();
  const char* runtime = v.cpu_runtime == DNNL_RUNTIME_OMP   ? "omp"
                        : v.cpu_runtime == DNNL_RUNTIME_SEQ ? "sequential"
                        : v.cpu_runtime == DNNL_RUNTIME_TBB ? "tbb"
                                                            : "threadpool";
  return concat(v.major, ".", v.minor, ".", v.patch, " ", runtime);
}

void Api::set_threads(int threads) const {
  if (omp_set_num_threads_) omp_set_num_threads_(threads);
}

}  // namespace gemmsmith::onednn
#endif
