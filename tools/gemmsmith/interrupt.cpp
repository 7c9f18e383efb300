#include "interrupt.h"

#include <csignal>
#include <string_view>

#include <unistd.h>

#include "command.h"

namespace gemmsmith::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// Only what is safe in a signal handler.
void on_signal(int) {
  if (flag.exchange(true)) _exit(kInterrupted);
  constexpr std::string_view text = "\ninterrupted: finishing what is running; once more to stop at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  static const bool listening = [] {
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return true;
  }();
  (void)listening;
  return flag;
}

}  // namespace gemmsmith::cli
