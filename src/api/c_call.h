// What the files that implement gemmsmith.h share: handles, and what checks a call, catches what may not get out, and copies
// texts.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "gemmsmith/gemm.h"
#include "gemmsmith/gemmsmith.h"
#include "support/text.h"

struct gs_device {
  gemmsmith::Device device;
  std::string features, fingerprint;  // what gs_device_facts points to
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

// The size that a struct of the caller's says it has.
template <class Struct>
std::optional<Failure> check_size(const Call& call, const char* name, const Struct* given) {
  constexpr size_t kLargest = 4096;  // more is an uninitialized size
  if (given->size != 0 && given->size % alignof(Struct) == 0 && given->size <= kLargest) return {};
  return call.invalid(concat(name, ".size = ", given->size), "is the size of no version of it",
                      concat("set it to sizeof *", name));
}

// A struct of the caller's, of whatever version, as this version has it: fields that the caller's does not have are
// zero, and those that this one does not have must be, so that nothing that was asked for is passed over.
template <class Struct>
std::optional<Failure> read_struct(const Call& call, const char* name, const Struct* given, Struct& out) {
  out = {};
  out.size = sizeof(Struct);
  if (!given) return {};
  GS_NEED(check_size(call, name, given));
  const size_t size = given->size;
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

// The inverse: as much of a struct as the caller's version of it has; what only that version has is zero.
template <class Struct>
Outcome write_struct(const Call& call, const char* name, const Struct& all, Struct* out) {
  GS_NEED(check_size(call, name, out));
  const size_t size = out->size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &all, std::min(size, sizeof(Struct)));
  out->size = size;
  return Done{};
}

std::optional<Failure> read_options(const Call&, const gs_tune_options* given, TuneOptions& out);
// The pointers of one run, held against what the problem reads and writes.
std::optional<Failure> read_arguments(const Call&, const GemmProblem&, const gs_gemm_arguments* given,
                                      GemmArguments& out);
// For gs_string_free.
char* copy_of(const std::string& text);

}  // namespace gemmsmith
