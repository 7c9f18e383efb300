#include "compiler/guard.h"

#include <csetjmp>
#include <mutex>

#include "llvm/Support/ErrorHandling.h"

namespace gemmsmith {
namespace {

thread_local std::jmp_buf* way_out = nullptr;
thread_local std::string* reported = nullptr;

void leave(void*, const char* reason, bool) {
  if (way_out == nullptr) return;  // not a thread of ours: LLVM ends the process
  reported->assign(reason);
  std::longjmp(*way_out, 1);
}

// LLVM has one handler for the process: it is ours while any thread is guarded.
std::mutex mutex;
int guarded = 0;
void enter() {
  const std::lock_guard lock(mutex);
  if (guarded++ == 0) llvm::install_fatal_error_handler(leave);
}
void exit() {
  const std::lock_guard lock(mutex);
  if (--guarded == 0) llvm::remove_fatal_error_handler();
}

// In a function of its own, without objects: the second return of setjmp finds nothing to destroy.
[[gnu::noinline]] bool completed(std::jmp_buf* buffer, llvm::function_ref<void()> body) {
  if (setjmp(*buffer) != 0) return false;
  body();
  return true;
}

}  // namespace

std::optional<std::string> run_guarded(llvm::function_ref<void()> body) {
  std::string message;
  std::jmp_buf buffer;
  enter();
  way_out = &buffer, reported = &message;
  const bool fine = completed(&buffer, body);
  way_out = nullptr, reported = nullptr;
  exit();
  if (fine) return std::nullopt;
  return message;
}

}  // namespace gemmsmith
