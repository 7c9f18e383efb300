#include "sources/openblas/library.h"

#include <optional>

#include "sources/openblas/core_type.h"
#include "sources/refusal.h"
#include "sources/scoped_variable.h"
#include "support/environment.h"
#include "support/text.h"

namespace gemmsmith::openblas {
namespace {

// Idle workers spin for 2^28 cycles by default, 0.1 s during which they take cycles from whatever is measured next.
// 2^20 cycles, under half a millisecond, still covers the gap between two calls in a row, so its own times do not
// change.
constexpr const char* kIdleSpin = "20";

std::string parallel_word(int parallel) { return parallel == 0 ? " sequential" : parallel == 2 ? " openmp" : ""; }

}  // namespace

std::shared_ptr<const Library> Library::open(const DeviceFacts& device, const OpenBlasOptions& options) {
  auto library = std::make_shared<Library>();
  if (Status status = library->load(device, options); !status.ok())
    library->usable_ = Supports::no(one_line(status.error()));
  return library;
}

Status Library::load(const DeviceFacts& device, const OpenBlasOptions& options) {
  CoreChoice choice{{}, {}, environment_variable("OPENBLAS_CORETYPE"), options.allow_slow_core};
  if (choice.environment && choice.environment->empty()) choice.environment.reset();
  std::optional<std::string> core_type;
  if (options.core_type != "auto")
    core_type = choice.requested = options.core_type;
  else if (!choice.environment)
    core_type = suitable_core_type(device);

  std::optional<ScopedVariable> core_variable, spin_variable;
  if (core_type) core_variable.emplace("OPENBLAS_CORETYPE", *core_type);
  if (!environment_variable("OPENBLAS_THREAD_TIMEOUT")) spin_variable.emplace("OPENBLAS_THREAD_TIMEOUT", kIdleSpin);
  Result<DynamicLibrary> opened = DynamicLibrary::open(options.library_names);
  spin_variable.reset();
  core_variable.reset();
  if (!opened.ok()) {
    Error error = std::move(opened).error();
    error.remedy = "Debian's package is libopenblas0-pthread";
    return error;
  }
  opened->keep_open();

  using Text = char*();
  using Number = int();
  using SetNumber = void(int);
  GS_TRY(Text * config, opened->function<Text>("openblas_get_config"));
  GS_TRY(Text * core_name, opened->function<Text>("openblas_get_corename"));
  GS_TRY(Number * parallel, opened->function<Number>("openblas_get_parallel"));
  GS_TRY(get_num_threads_, opened->function<Number>("openblas_get_num_threads"));
  GS_TRY(set_num_threads_, opened->function<SetNumber>("openblas_set_num_threads"));
  GS_TRY(sgemm, opened->function<Sgemm>("cblas_sgemm"));
  GS_TRY(sgemv, opened->function<Sgemv>("cblas_sgemv"));
  if (Result<Sbgemm*> found = opened->function<Sbgemm>("cblas_sbgemm"); found.ok()) sbgemm = *found;

  const std::string text = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Cooperlake MAX_THREADS=64"
  const std::vector<std::string_view> words = split_words(text);
  choice.detected = core_name();
  version_ = concat(words.size() > 1 ? words[1] : "unknown", ' ', choice.detected, parallel_word(parallel()));
  for (const std::string_view word : words)
    if (word == "USE64BITINT")
      return Error{opened->path(), text, "has 64-bit integers; 32-bit ones are called here", {}, {}};
  usable_ = judge(choice, device);
  return Done{};
}

void Library::set_threads(int threads) const {
  if (get_num_threads_() != threads) set_num_threads_(threads);
}

}  // namespace gemmsmith::openblas
