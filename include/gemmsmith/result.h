// Result<T>: a value or an Error. Supports: yes, or no with the reason. GS_ASSERT: a bug of this library, never of its
// user. The library neither throws for flow nor aborts on user input; every function that can fail on input returns one
// of these.
#pragma once
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gemmsmith {

// What went wrong, in five parts. text() joins them in one form everywhere:
//   gemm.cpp:41: block_m = 96 is not a multiple of 64, the rows of one wgmma on sm_90; near it: 64, 128
//     while staging gemm_packed
struct Error {
  std::string where;               // "gemm.cpp:41", "--budget", "problem, column 12"
  std::string given;               // "block_m = 96"
  std::string limit;               // "is not a multiple of 64, the rows of one wgmma on sm_90": the rule and its source
  std::string remedy;              // "near it: 64, 128": what would work; may be empty
  std::vector<std::string> notes;  // from outer layers, innermost first: "while staging gemm_packed"

  std::string text() const;
  Error&& note(std::string what) && {
    notes.push_back(std::move(what));
    return std::move(*this);
  }
};

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* sentence, const std::source_location& at);
[[noreturn]] void no_value(const Error& instead);  // value() of a Result that holds an error
[[noreturn]] void no_error();                      // error() of a Result that holds a value
}  // namespace detail

// A value of T, or why there is none. Holds exactly one of them; reading the wrong one is a bug and stops the program.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *checked(); }
  const T& value() const& { return *checked(); }
  // By value, so that what a range-for or a reference binds to lives as long as they do.
  T value() && { return std::move(*checked()); }
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return *checked(); }
  T operator*() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  const T* operator->() const { return checked(); }
  const Error& error() const& { return checked_error(); }
  Error error() && { return std::move(const_cast<Error&>(checked_error())); }

 private:
  T* checked() { return const_cast<T*>(std::as_const(*this).checked()); }
  const T* checked() const {
    if (const T* value = std::get_if<0>(&state_)) [[likely]]
      return value;
    detail::no_value(*std::get_if<1>(&state_));
  }
  const Error& checked_error() const {
    if (const Error* error = std::get_if<1>(&state_)) [[likely]]
      return *error;
    detail::no_error();
  }

  std::variant<T, Error> state_;
};

struct Done {};
using Status = Result<Done>;  // success without a value: return Done{};

// An answer to "can you do this?". "No, because" is a normal answer and no error.
struct [[nodiscard]] Supports {
  bool yes = true;
  std::string reason;  // of a no: names the rule, the number given and the limit
  explicit operator bool() const { return yes; }
  static Supports no(std::string reason) { return {false, std::move(reason)}; }
};

}  // namespace gemmsmith

// A broken promise inside the library: prints the sentence with its line and aborts. On in release builds.
#define GS_ASSERT(condition, sentence) \
  (static_cast<bool>(condition)        \
       ? void(0)                       \
       : ::gemmsmith::detail::assertion_failed(#condition, sentence, std::source_location::current()))

#define GS_CONCAT_INNER(a, b) a##b
#define GS_CONCAT(a, b) GS_CONCAT_INNER(a, b)
// GS_TRY(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define GS_TRY(declaration, expression) GS_TRY_NAMED(GS_CONCAT(gs_result_, __LINE__), declaration, expression)
#define GS_TRY_NAMED(result, declaration, expression) \
  auto result = (expression);                         \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
// The same where the value is of no interest.
#define GS_CHECK(expression)                                                                 \
  do {                                                                                       \
    if (auto gs_status = (expression); !gs_status.ok()) return std::move(gs_status).error(); \
  } while (false)
