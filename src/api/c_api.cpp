// gemmsmith.h over the C++ API: checks what C cannot promise, catches what may not get out, copies texts.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "gemmsmith/gemm.h"
#include "gemmsmith/gemmsmith.h"
#include "gemmsmith/json.h"
#include "support/text.h"

struct gs_device {
  gemmsmith::Device device;
};

struct gs_store {
  gemmsmith::Store store;
};

struct gs_gemm {
  gemmsmith::GemmProblem problem;
  gemmsmith::Gemm gemm;
  gemmsmith::GemmArguments arguments;  // of the last run: keeps the list of inputs, so that a run allocates nothing
};

struct gs_cancel {
  std::atomic<bool> set{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers may set it");
};

namespace gemmsmith {
namespace {

// The caller's buffer for the text of an error. Writing into it allocates nothing, so that it works without memory.
class ErrorText {
 public:
  ErrorText(char* text, size_t bytes) : text_(text), bytes_(text ? bytes : 0) { write({}); }

  void write(std::initializer_list<std::string_view> parts) {
    if (bytes_ == 0) return;
    size_t length = 0;
    bool whole = true;
    for (const std::string_view part : parts) {
      const size_t fits = std::min(part.size(), bytes_ - 1 - length);
      std::memcpy(text_ + length, part.data(), fits);
      length += fits;
      whole &= fits == part.size();
    }
    text_[length] = '\0';
    if (!whole) cut(length);
  }

 private:
  // Ends a text that filled the buffer in "...", with no half character of UTF-8 before it.
  void cut(size_t length) {
    const std::string_view end = std::string_view("...").substr(0, length);
    size_t at = length - end.size();
    while (at > 0 && (text_[at] & 0xc0) == 0x80) --at;
    std::memcpy(text_ + at, end.data(), end.size());
    text_[at + end.size()] = '\0';
  }

  char* text_;
  size_t bytes_;
};

// Why a call ends early.
struct Failure {
  gs_status status = GS_ERROR;
  Error error;
};

// What the body of a C function gives: nothing, or why it failed. Errors of the library are GS_ERROR.
class Outcome {
 public:
  Outcome(Done) {}
  Outcome(Error error) : failure_({GS_ERROR, std::move(error)}) {}
  Outcome(Failure failure) : failure_(std::move(failure)) {}
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  std::optional<Failure> failure_;
};

// One call of a C function: its name, and where its error goes.
class Call {
 public:
  Call(const char* function, char* error, size_t error_bytes) : function_(function), text_(error, error_bytes) {}

  // Runs the body, and turns what comes out of it into a status and a text.
  template <class Body>
  gs_status run(Body&& body) noexcept {
    try {
      const Outcome outcome = body(*this);
      if (!outcome.failure()) return GS_OK;
      text_.write({outcome.failure()->error.text()});
      return outcome.failure()->status;
    } catch (const std::bad_alloc&) {
      text_.write({function_, ": out of memory"});
      return GS_OUT_OF_MEMORY;
    } catch (const std::exception& thrown) {
      text_.write({function_, ": an exception came out of a callback or of a bug of gemmsmith: ", thrown.what()});
    } catch (...) {
      text_.write({function_, ": an exception came out of a callback or of a bug of gemmsmith"});
    }
    return GS_INTERNAL;
  }

  Failure failure(gs_status status, std::string given, std::string limit, std::string remedy = {}) const {
    return {status, {function_, std::move(given), std::move(limit), std::move(remedy), {}}};
  }
  Failure invalid(std::string given, std::string limit, std::string remedy = {}) const {
    return failure(GS_INVALID_ARGUMENT, std::move(given), std::move(limit), std::move(remedy));
  }
  // The first of the arguments that is null.
  std::optional<Failure> need(std::initializer_list<std::pair<const void*, const char*>> arguments) const {
    for (const auto& [pointer, name] : arguments)
      if (!pointer) return invalid(name, "is NULL");
    return {};
  }

 private:
  const char* function_;
  ErrorText text_;
};

// GS_NEED(f()): the enclosing function returns the failure of f(), if there is one.
#define GS_NEED(expression) \
  if (std::optional<Failure> gs_failure = (expression)) return *std::move(gs_failure)

// A struct of the caller's, of whatever version, as this version has it: fields that the caller's does not have are
// zero, and those that this one does not have must be, so that nothing that was asked for is passed over.
template <class Struct>
std::optional<Failure> read_struct(const Call& call, const char* name, const Struct* given, Struct& out) {
  out = {};
  out.size = sizeof(Struct);
  if (!given) return {};
  const size_t size = given->size;
  constexpr size_t kLargest = 4096;  // more is an uninitialized size
  if (size == 0 || size % alignof(Struct) != 0 || size > kLargest)
    return call.invalid(concat(name, ".size = ", size), "is the size of no version of it",
                        concat("set it to sizeof *", name));
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      return call.invalid(concat("byte ", i, " of ", name),
                          "is of a field that gemmsmith " GEMMSMITH_VERSION " does not have",
                          "leave it zero, or use a newer library");
  std::memcpy(&out, given, std::min(size, sizeof(Struct)));
  out.size = sizeof(Struct);
  return {};
}

std::optional<Failure> read_options(const Call& call, const gs_tune_options* given, TuneOptions& out) {
  gs_tune_options options;
  GS_NEED(read_struct(call, "options", given, options));
  if (!(options.budget_seconds >= 0) || std::isinf(options.budget_seconds))
    return call.invalid(concat("options.budget_seconds = ", options.budget_seconds), "is not a time",
                        "give seconds, or 0 for the default");
  if (options.max_memory_bytes < 0)
    return call.invalid(concat("options.max_memory_bytes = ", options.max_memory_bytes), "is negative",
                        "give bytes, or 0 for the default");
  if (options.reserved != 0)
    return call.invalid(concat("options.reserved = ", options.reserved), "is not 0", "begin with = {sizeof options}");
  if (options.budget_seconds > 0) out.budget_seconds = options.budget_seconds;
  if (options.max_memory_bytes > 0) out.max_memory_bytes = options.max_memory_bytes;
  if (options.seed > 0) out.seed = options.seed;
  if (options.source_count > 0 && !options.sources)
    return call.invalid("options.sources", concat("is NULL, with a source_count of ", options.source_count));
  for (size_t i = 0; i < options.source_count; ++i) {
    if (!options.sources[i]) return call.invalid(concat("options.sources[", i, "]"), "is NULL");
    out.sources.emplace_back(options.sources[i]);
  }
  if (options.workers < 0)
    return call.invalid(concat("options.workers = ", options.workers), "is negative", "give a number, or 0 for one");
  out.retune = options.retune != 0;
  out.isolate = options.in_process == 0;
  if (options.worker) out.worker = options.worker;
  if (options.workers > 0) out.workers = options.workers;
  if (options.cancel) out.cancel = &options.cancel->set;
  if (!options.progress) return {};
  out.progress = [call = options.progress, user = options.user](const TuneProgress& p) {
    const gs_tune_progress progress = {sizeof progress,  p.phase.c_str(), p.best.c_str(), p.best_us,    p.seconds,
                                       p.budget_seconds, p.built,         p.measured,     p.considered, 0};
    call(&progress, user);
  };
  return {};
}

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// The pointers of one run, held against what the problem reads and writes.
std::optional<Failure> read_arguments(const Call& call, const GemmProblem& p, const gs_gemm_arguments* given,
                                      GemmArguments& out) {
  gs_gemm_arguments arguments;
  GS_NEED(read_struct(call, "arguments", given, arguments));
  const std::span<const void* const> inputs(arguments.inputs, arguments.inputs ? arguments.input_count : 0);
  if (inputs.size() != p.inputs.size())
    return call.invalid(concat("arguments has ", inputs.size(), " inputs"),
                        concat("where the epilogue ", p.epilogue.print(), " has ", p.inputs.size()),
                        "one pointer for each, in the order of their first use");
  const bool writes = p.m > 0 && p.n > 0 && p.batch > 0;
  const bool multiplies = writes && p.k > 0 && p.alpha != 0;
  const auto missing = [&](std::string name) {
    return call.invalid("arguments." + std::move(name), "is NULL", "\"" + p.print() + "\" needs it");
  };
  if (multiplies && !arguments.a) return missing("a");
  if (multiplies && !arguments.b) return missing("b");
  if (writes && p.reads_c() && !arguments.c) return missing("c");
  if (writes && !arguments.d) return missing("d");
  for (size_t i = 0; writes && i < inputs.size(); ++i)
    if (!inputs[i]) return missing(concat("inputs[", i, "], ", p.inputs[i].name, ","));
  out.a = arguments.a;
  out.b = arguments.b;
  out.c = arguments.c;
  out.d = arguments.d;
  out.inputs.assign(inputs.begin(), inputs.end());
  return {};
}

}  // namespace
}  // namespace gemmsmith

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
    GS_TRY(Device opened, Device::open(name, {.threads = known.threads, .measure_peaks = known.without_peaks == 0}));
    *device = new gs_device{std::move(opened)};
    return Done{};
  });
}

void gs_device_close(gs_device* device) { delete device; }
void gs_device_release_memory(gs_device* device) { device->device.release_memory(); }

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
