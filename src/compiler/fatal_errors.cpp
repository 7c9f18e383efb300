#include "compiler/fatal_errors.h"

#include <unistd.h>

#include <csetjmp>
#include <string_view>

#include "llvm/Support/ErrorHandling.h"

namespace gemmsmith {
namespace {

// Where a fatal error of this thread goes; null: nowhere.
struct Way {
  std::jmp_buf back;
  std::string message;
};
thread_local Way* way_out = nullptr;

void write_to_standard_error(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// LLVM ends the process when a handler returns, and leaves it to the handler to say why.
void handle(void*, const char* reason, bool) {
  if (way_out == nullptr) {
    for (const std::string_view part :
         {std::string_view("LLVM ERROR: "), std::string_view(reason), std::string_view("\n")})
      write_to_standard_error(part);
    return;
  }
  way_out->message = reason;
  std::longjmp(way_out->back, 1);
}

void set_handler() {
  [[maybe_unused]] static const bool once = [] {
    llvm::install_fatal_error_handler(handle);
    return true;
  }();
}

}  // namespace

std::optional<std::string> fatal_error_of(const std::function<void()>& body) {
  set_handler();
  Way way;
  Way* const outer = way_out;
  // No local changes between setjmp and longjmp: all of them are what they were.
  if (setjmp(way.back) != 0) {
    way_out = outer;
    if (way.message.empty()) way.message = "a fatal error without a message";
    return way.message;
  }
  way_out = &way;
  body();
  way_out = outer;
  return std::nullopt;
}

}  // namespace gemmsmith
