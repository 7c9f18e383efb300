// Threads that take no part in the program's handling of signals.
#pragma once
#include <csignal>
#include <initializer_list>

namespace gemmsmith {

// While it lives, threads that this one starts begin with signals blocked, so that the handlers of the program run on
// threads of the program. Faults of a thread itself (SIGSEGV, SIGILL, ...) stay as they are.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gemmsmith
