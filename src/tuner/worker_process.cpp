#include "tuner/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <ucontext.h>
#endif

#include <csignal>
#include <new>
#include <thread>

namespace gemmsmith {
namespace {

constexpr size_t kSignalStackBytes = 64 << 10;

// Signal handlers are given nothing, so these are the process's. Written once, before any of them can run.
WorkerStatus* page = nullptr;
pid_t tuner = 0;
thread_local int current_slot = -1;

// -1: not known.
int is_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of a page fault's error code
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0 ? 1 : 0;
#else
  return -1;
#endif
}

// Writes down what is known, then lets the signal do what it does without a handler.
void describe(int signal, siginfo_t* info, void* context) {
  page->address.store(uint64_t(reinterpret_cast<uintptr_t>(info->si_addr)));
  page->writing.store(signal == SIGSEGV ? is_write(context) : -1);
  page->slot.store(current_slot);
  page->signal.store(signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void end_now() { ::kill(::getpid(), SIGKILL); }

// The system sends it when the thread of the tuner that started this process ends; only its process counts.
void end_with_tuner(int) {
  if (::getppid() != tuner) end_now();
}

void note_no_memory() {
  page->no_memory.store(1);
  throw std::bad_alloc();
}

void watch(int socket) {
  pollfd end{socket, POLLRDHUP, 0};
  while (::poll(&end, 1, -1) <= 0 || end.revents == 0) {
  }
  end_now();
}

void be_the_first_to_go() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

}  // namespace

void become_worker(WorkerStatus* status, int socket) {
  page = status;
  tuner = ::getppid();
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  for (const int file : {socket, kWorkerStatus}) ::fcntl(file, F_SETFD, FD_CLOEXEC);
  be_the_first_to_go();
  struct sigaction action{};
  action.sa_sigaction = describe;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
  struct sigaction parent{};
  parent.sa_handler = end_with_tuner;
  parent.sa_flags = SA_RESTART;
  ::sigaction(SIGHUP, &parent, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGHUP);
  std::set_new_handler(note_no_memory);
  std::thread(watch, socket).detach();  // ends with the process, and before it never
}

WorkerThread::WorkerThread(WorkerStatus* status, int slot)
    : status_(status), slot_(slot), stack_(new char[kSignalStackBytes]) {
  current_slot = slot;
  stack_t stack{};
  stack.ss_sp = stack_;
  stack.ss_size = kSignalStackBytes;
  ::sigaltstack(&stack, nullptr);
}

WorkerThread::~WorkerThread() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  delete[] stack_;
}

}  // namespace gemmsmith
