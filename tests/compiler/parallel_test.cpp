// Parallel loops: every pass once, whoever asks; bounds traps; scratch memory.
#include "targets/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "compiler/kernel_text.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cpu/scratch.h"

namespace gemmsmith {
namespace {

using Counts = std::vector<std::atomic<int>>;

void count_pass(const int64_t* captured, int64_t i) {
  (*reinterpret_cast<Counts*>(captured[0]))[size_t(i)].fetch_add(1);
}

bool all_are(const Counts& counts, int value) {
  for (const auto& count : counts)
    if (count.load() != value) return false;
  return true;
}

TEST(ThreadPool, RunsEachPassOnce) {
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads, /*spin=*/threads <= 2);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 3, 7, 64, 1000})
      for (int repeat = 0; repeat < 20; ++repeat) {
        Counts counts(static_cast<size_t>(count));
        const int64_t captured = reinterpret_cast<int64_t>(&counts);
        pool.run(count_pass, &captured, count);
        ASSERT_TRUE(all_are(counts, 1)) << threads << " threads, " << count << " passes";
      }
  }
}

TEST(ThreadPool, ManyShortLoopsInARow) {
  ThreadPool pool(4);
  Counts counts(4);
  const int64_t captured = reinterpret_cast<int64_t>(&counts);
  constexpr int kLoops = 70000;  // more than the numbers that the gate of the pool has
  for (int i = 0; i < kLoops; ++i) pool.run(count_pass, &captured, 4);
  EXPECT_TRUE(all_are(counts, kLoops));
}

// A child of fork() has none of the workers: it must neither wait for them nor join them.
TEST(ThreadPool, AForkedChildRunsItsPassesAlone) {
  auto pool = std::make_unique<ThreadPool>(4);
  Counts counts(100);
  const int64_t captured = reinterpret_cast<int64_t>(&counts);
  pool->run(count_pass, &captured, 100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that waits for ever is killed
    pool->run(count_pass, &captured, 100);
    pool.reset();
    ThreadPool own(3);  // a pool of the child's has workers
    own.run(count_pass, &captured, 100);
    _exit(all_are(counts, 3) && own.threads() == 3 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  pool->run(count_pass, &captured, 100);
  EXPECT_TRUE(all_are(counts, 2)) << "the parent goes on";
}

// A signal to the process while all threads that are not the pool's block it: nobody may take it.
TEST(ThreadPool, TakesNoSignalsOfTheProgram) {
  static std::atomic<int> handled;
  handled = 0;
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { ++handled; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  {
    ThreadPool pool(4);
    sigset_t user, pending;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &user, nullptr);
    ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
    Counts counts(1000);
    const int64_t captured = reinterpret_cast<int64_t>(&counts);
    for (int i = 0; i < 100; ++i) pool.run(count_pass, &captured, 1000);
    sigpending(&pending);
    EXPECT_TRUE(sigismember(&pending, SIGUSR1));
    EXPECT_EQ(handled, 0);
    pthread_sigmask(SIG_UNBLOCK, &user, nullptr);
    EXPECT_EQ(handled, 1) << "on the program's own thread";
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(ThreadPool, AThreadThatIsHeldUpTakesFewerPasses) {
  // Pass 0 ends only when all others have: it would never, were passes dealt out beforehand.
  ThreadPool pool(2);
  constexpr int64_t kPasses = 9;
  std::atomic<int64_t> ended{0};
  const int64_t captured = reinterpret_cast<int64_t>(&ended);
  pool.run(
      [](const int64_t* captured, int64_t i) {
        auto& ended = *reinterpret_cast<std::atomic<int64_t>*>(captured[0]);
        while (i == 0 && ended.load() < kPasses - 1) std::this_thread::yield();
        ended.fetch_add(1);
      },
      &captured, kPasses);
  EXPECT_EQ(ended.load(), kPasses);
}

TEST(ThreadPool, LoopsInsidePassesRunInTheirThread) {
  ThreadPool pool(3);
  Launch launch;
  launch.pool = &pool;
  const LaunchScope scope(&launch);
  Counts counts(5);
  const int64_t captured = reinterpret_cast<int64_t>(&counts);
  gs_parallel_for([](const int64_t* captured, int64_t) { gs_parallel_for(count_pass, captured, 5); }, &captured, 7);
  EXPECT_TRUE(all_are(counts, 7));
}

TEST(ThreadPool, LoopsOfSeveralThreadsTakeTurns) {
  ThreadPool pool(3);
  std::array<Counts, 3> counts{Counts(11), Counts(11), Counts(11)};
  constexpr int kLoops = 2000;
  std::vector<std::thread> callers;
  for (Counts& mine : counts)
    callers.emplace_back([&] {
      const int64_t captured = reinterpret_cast<int64_t>(&mine);
      for (int i = 0; i < kLoops; ++i) pool.run(count_pass, &captured, 11);
    });
  for (std::thread& caller : callers) caller.join();
  for (const Counts& each : counts) EXPECT_TRUE(all_are(each, kLoops));
}

TEST(ParallelFor, RunsWithoutALaunchToo) {
  Counts counts(6);
  const int64_t captured = reinterpret_cast<int64_t>(&counts);
  gs_parallel_for(count_pass, &captured, 6);
  EXPECT_TRUE(all_are(counts, 1));
}

// kernel(out, n): out[i] += 3 * i + 1 for each i < n in a parallel loop; an i of `trap` or more traps at line 40 + i
// instead.
std::string parallel_kernel(int64_t trap) {
  return concat(R"(llvm.func @gs_parallel_for(!llvm.ptr, !llvm.ptr, i64)
llvm.func @gs_bounds_trap(i64)
llvm.func internal @part(%captured: !llvm.ptr, %i: i64) {
  %out = llvm.load %captured : !llvm.ptr -> !llvm.ptr
  %limit = arith.constant )",
                trap, R"( : i64
  %outside = arith.cmpi sge, %i, %limit : i64
  scf.if %outside {
    %forty = arith.constant 40 : i64
    %line = arith.addi %i, %forty : i64
    llvm.call @gs_bounds_trap(%line) : (i64) -> ()
  } else {
    %three = arith.constant 3 : i64
    %one = arith.constant 1 : i64
    %product = arith.muli %i, %three : i64
    %value = arith.addi %product, %one : i64
    %at = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %old = llvm.load %at : !llvm.ptr -> i64
    %new = arith.addi %old, %value : i64
    llvm.store %new, %at : i64, !llvm.ptr
  }
  llvm.return
}
llvm.func @kernel(%arguments: !llvm.ptr) {
  %n_word = llvm.getelementptr %arguments[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %n_word : !llvm.ptr -> i64
  %part = llvm.mlir.addressof @part : !llvm.ptr
  llvm.call @gs_parallel_for(%part, %arguments, %n) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
})");
}

std::unique_ptr<LoadedKernel> load_parallel(Target& target, int64_t trap) {
  const auto kernel = target.compile(kernel_text(parallel_kernel(trap)), {.verify = true, .keep_stages = false});
  GS_ASSERT(kernel.ok(), "the kernel compiles");
  return std::move(target.load(*kernel)).value();
}

class ParallelKernel : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Target> target_ =
      std::move(make_cpu_target({.threads = GetParam(), .measure_peaks = false, .features_limit = {}})).value();
};

TEST_P(ParallelKernel, RunsEachPassOnceAndFromTwoThreadsAtOnce) {
  const auto kernel = load_parallel(*target_, 1 << 20);
  std::vector<std::thread> launchers;
  std::array<std::vector<int64_t>, 2> out;
  for (auto& mine : out)
    launchers.emplace_back([&] {
      mine.assign(257, 0);
      for (int launch = 0; launch < 100; ++launch) {
        int64_t arguments[2] = {reinterpret_cast<int64_t>(mine.data()), int64_t(mine.size())};
        if (!kernel->launch(arguments).ok()) mine[0] = -1;
      }
    });
  for (std::thread& launcher : launchers) launcher.join();
  for (const auto& mine : out)
    for (size_t i = 0; i < mine.size(); ++i) ASSERT_EQ(mine[i], 100 * (3 * int64_t(i) + 1));
}

TEST_P(ParallelKernel, ABoundsTrapIsAnErrorOfThatLaunchAlone) {
  const auto trapping = load_parallel(*target_, 19), sound = load_parallel(*target_, 1 << 20);
  std::vector<int64_t> out(32, 0);
  int64_t arguments[2] = {reinterpret_cast<int64_t>(out.data()), 20};
  const Status status = trapping->launch(arguments);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "kernel kernel: the access at line 59 of its template lies outside of its tensor");
  EXPECT_EQ(out[18], 55);
  EXPECT_EQ(out[19], 0);
  EXPECT_TRUE(sound->launch(arguments).ok());
  arguments[1] = 19;
  EXPECT_TRUE(trapping->launch(arguments).ok());
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelKernel, testing::Values(1, 2, 5));

TEST(Scratch, LeasesAreDisjointAndReused) {
  ScratchPool pool;
  char* first = nullptr;
  {
    auto a = pool.take(3 << 20), b = pool.take(3 << 20);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_TRUE(a->data() + (3 << 20) <= b->data() || b->data() + (3 << 20) <= a->data());
    first = a->data();
    a->data()[(3 << 20) - 1] = b->data()[(3 << 20) - 1] = 1;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % (2 << 20), 0u);
  }
  auto c = pool.take(1), d = pool.take(4 << 20);
  ASSERT_TRUE(c.ok() && d.ok());
  EXPECT_TRUE(c->data() == first || d->data() == first) << "memory that is free is used again";
  auto none = pool.take(0);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->data(), nullptr);
}

TEST(Scratch, TooMuchIsAnErrorWithTheBytes) {
  ScratchPool pool;
  const auto lease = pool.take(int64_t(1) << 60);
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().text(),
            "scratch memory: 1152921504606846976 bytes could not be allocated; a configuration with smaller blocks, or "
            "fewer threads");
}

}  // namespace
}  // namespace gemmsmith
