// Protocols over mbarriers between warps, deadlocks and misuse of barriers: one test for each class.
#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

// Warps whose lane 0 play the roles.
class Protocols : public testing::Test {
 protected:
  explicit Protocols(int warps = 4) {
    bench.launch.block.x = 32 * warps;
    for (int i = 0; i < 4; ++i) data[i] = bench.region("data " + std::to_string(i), 64, 128);
    for (int i = 0; i < 4; ++i) bar[i] = bench.region("bar[" + std::to_string(i) + "]", 8);
    for (int line = 0; line < 60; ++line) bench.site("role " + std::to_string(line / 10), line);
  }
  void init(std::initializer_list<int> counts) const {
    if (tid() == 0) {
      int i = 0;
      for (const int count : counts) sim_mbarrier_init(1, shared(bar[i++]), count);
    }
    sim_barrier_sync(2, 0, -1);
  }
  // The warp of the calling thread if that is its lane 0, else -1.
  static int role() { return tid() % 32 == 0 ? tid() / 32 : -1; }
  void arrive(int site, int b, int count = 1) const {
    sim_mbarrier_arrive(site, shared(bar[b]), count, kRelease, kCta);
  }
  void wait(int site, int b, int parity = 0) const {
    sim_mbarrier_wait_parity(site, shared(bar[b]), parity, kAcquire, kCta);
  }
  void read(int site, int d) const { load<uint32_t>(site, shared(data[d])); }
  void write(int site, int d) const { store<uint32_t>(site, shared(data[d]), uint32_t(site)); }
  static std::string race(const std::string& what, int d, int first, int first_line, int second, int second_line) {
    const auto actor = [](const char* kind, bool writes, int warp, int line) {
      return "\n  " + std::string(kind) + (writes ? ", writes: st" : ", reads: ld") + " in role " +
             std::to_string(line / 10) + " at k.cpp:" + std::to_string(line) + ", by CTA (0,0,0) thread " +
             std::to_string(32 * warp) + " (warp " + std::to_string(warp) + ", lane 0)";
    };
    const bool first_writes = what.ends_with("write"), second_writes = what.starts_with("write");
    const char* offsets[] = {"0x0", "0x80", "0x100", "0x180"};
    return "race: " + what + ", data " + std::to_string(d) + " (shared + " + offsets[d] + " of CTA (0,0,0))" +
           actor("first", first_writes, first, first_line) + actor("second", second_writes, second, second_line) +
           "\n  nothing orders the first before the second";
  }
  void quiet(const std::function<void()>& kernel) { EXPECT_EQ(bench.complaints(kernel), ""); }
  // Found by race detection in each of 12 schedules; the first finding of the late one is `text`.
  void found(const std::function<void()>& kernel, const std::string& text) {
    const std::string all = bench.findings(kernel);
    EXPECT_EQ(all.substr(0, all.find("\n\n")), text);
    EXPECT_EQ(bench.found_in(kernel), 12);
  }
  Bench bench;
  uint32_t data[4], bar[4];
};

TEST_F(Protocols, StoreThenLoadByAnother) {
  const auto kernel = [&](bool wrong) {
    init({1});
    if (role() == 0) {
      write(10, 0);
      arrive(11, 0);
    } else if (role() == 1) {
      if (!wrong) wait(20, 0);
      read(21, 0);
    }
  };
  quiet([&] { kernel(false); });
  found([&] { kernel(true); }, race("read after write", 0, 0, 10, 1, 21));
}

TEST_F(Protocols, LoadThenStoreByAnother) {
  const auto kernel = [&](bool wrong) {
    init({1});
    if (role() == 0) {
      read(10, 0);
      arrive(11, 0);
    } else if (role() == 1) {
      if (!wrong) wait(20, 0);
      write(21, 0);
    }
  };
  quiet([&] { kernel(false); });
  found([&] { kernel(true); }, race("write after read", 0, 0, 10, 1, 21));
}

TEST_F(Protocols, TwoReadersWithABarrierEach) {
  const auto kernel = [&](int missing) {
    init({1, 1});
    if (role() == 0 || role() == 1) {
      read(10 + role(), 0);
      arrive(12, role());
    } else if (role() == 2) {
      for (const int b : {0, 1})
        if (missing != b) wait(20 + b, b);
      write(22, 0);
    }
  };
  quiet([&] { kernel(-1); });
  for (const int b : {0, 1}) found([&] { kernel(b); }, race("write after read", 0, b, 10 + b, 2, 22));
}

TEST_F(Protocols, TwoReadersOnOneBarrier) {
  const auto kernel = [&](bool wrong) {
    init({2});
    if (role() == 0 || role() == 1) {
      read(10 + role(), 0);
      arrive(12, 0);
    } else if (role() == 2) {
      if (!wrong) wait(20, 0);
      write(22, 0);
    }
  };
  quiet([&] { kernel(false); });
  found([&] { kernel(true); }, race("write after read", 0, 1, 11, 2, 22));
}

TEST_F(Protocols, TwoReadersInALoop) {
  const auto kernel = [&](int missing) {
    init({1, 1, 1, 1});
    if (tid() == 0) {
      arrive(3, 2);
      arrive(3, 3);
    }
    sim_barrier_sync(4, 0, -1);
    for (int i = 0; i < 6 && role() >= 0; ++i) {
      if (role() < 2) {
        if (missing != 2 + role()) wait(10 + role(), 2 + role(), i % 2);
        read(12 + role(), 0);
        arrive(14 + role(), role());
      } else if (role() == 2) {
        for (const int b : {0, 1})
          if (missing != b) wait(20 + b, b, i % 2);
        write(22, 0);
        arrive(23, 2);
        arrive(24, 3);
      }
    }
  };
  quiet([&] { kernel(-1); });
  for (const int b : {0, 1, 2, 3}) EXPECT_EQ(bench.found_in([&] { kernel(b); }), 12) << b;
}

// The first of two stores is released; the second is read by mistake.
TEST_F(Protocols, ReadOfWhatALaterArrivalReleases) {
  const auto kernel = [&](bool wrong) {
    init({1, 1, 1});
    if (tid() == 0) arrive(3, 2);
    for (int i = 0; i < 6; ++i) {
      if (role() == 0) {
        wait(10, 2, i % 2);
        write(11, 0);
        arrive(12, 0);
        write(13, 1);
        arrive(14, 1);
      } else if (role() == 1) {
        wait(20, 0, i % 2);
        read(21, wrong ? 1 : 0);
        wait(22, 1, i % 2);
        arrive(23, 2);
      }
    }
  };
  quiet([&] { kernel(false); });
  found([&] { kernel(true); }, race("read after write", 1, 0, 13, 1, 21));
}

TEST_F(Protocols, TwoProducersAndTwoConsumers) {
  const auto kernel = [&](int missing) {
    init({2, 1, 2, 2});
    if (tid() == 0) {
      arrive(3, 2, 2);
      arrive(3, 3, 2);
    }
    sim_barrier_sync(4, 0, -1);
    for (int i = 0; i < 6 && role() >= 0; ++i) {
      if (role() < 2) {
        wait(10 + role(), 2 + role(), i % 2);
        write(12 + role(), role());
        arrive(14, 0);
      } else {
        if (missing != role()) wait(20 + role(), 0, i % 2);
        read(24 + role(), role() - 2);
        arrive(28, 2);
        arrive(29, 3);
      }
    }
  };
  quiet([&] { kernel(-1); });
  for (const int r : {2, 3}) EXPECT_EQ(bench.found_in([&] { kernel(r); }), 12) << r;
}

// Lane 0 arrives for its warp: the other lanes must have come before, which __syncwarp says and convergence does not.
TEST_F(Protocols, ArrivalForTheWholeWarp) {
  const auto kernel = [&](bool wrong) {
    init({1});
    if (tid() < 32) {
      store<int>(10, shared(data[0]) + 4 * (tid() % 16), 1 + tid() / 16 * 0);
      if (!wrong) sim_syncwarp(11, -1);
      if (sim_elect(12, -1)) arrive(13, 0);
    } else if (role() == 1) {
      wait(20, 0);
      load<int>(21, shared(data[0]) + 4 * 5);
    }
  };
  bench.options.max_findings = 64;
  EXPECT_NE(bench.findings([&] { kernel(false); }), "");  // lanes 0 and 16 store the same word
  const auto distinct = [&](bool wrong) {
    init({1});
    if (tid() < 16) {
      store<int>(10, shared(data[0]) + 4 * tid(), 1);
      if (!wrong) sim_syncwarp(11, 0xffff);
      if (sim_elect(12, 0xffff)) arrive(13, 0);
    } else if (role() == 1) {
      wait(20, 0);
      load<int>(21, shared(data[0]) + 4 * 5);
    }
  };
  quiet([&] { distinct(false); });
  found([&] { distinct(true); },
        "race: read after write, data 0 + 0x14 (shared + 0x14 of CTA (0,0,0))\n"
        "  first, writes: st in role 1 at k.cpp:10, by CTA (0,0,0) thread 5 (warp 0, lane 5)\n"
        "  second, reads: ld in role 2 at k.cpp:21, by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
        "  nothing orders the first before the second");
}

TEST_F(Protocols, DeadlockOfTwoWarps) {
  const auto kernel = [&] {
    init({1, 1});
    if (role() == 0 || role() == 1) wait(10 + role(), role());
  };
  found(kernel,
        "deadlock: no thread can run, and no asynchronous operation is in flight\n"
        "  CTA (0,0,0) thread 0 (warp 0, lane 0): mbarrier.try_wait in role 1 at k.cpp:10, waits for bar[0], parity 0; "
        "it is in phase 0, 1 of 1 "
        "arrivals pending, tx-count 0\n"
        "    earlier: init with count 1 in role 0 at k.cpp:1, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
        "pending, tx-count 0\n"
        "  CTA (0,0,0) thread 32 (warp 1, lane 0): mbarrier.try_wait in role 1 at k.cpp:11, waits for bar[1], parity "
        "0; it is in phase 0, 1 of 1 "
        "arrivals pending, tx-count 0\n"
        "    earlier: init with count 1 in role 0 at k.cpp:1, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
        "pending, tx-count 0");
}

// Some warps have ended, one has arrived elsewhere; the report names only those that wait.
TEST_F(Protocols, DeadlockAfterOthersHaveEnded) {
  const auto kernel = [&] {
    init({1, 1});
    if (role() == 1) wait(10, 0);
    if (role() == 2) arrive(11, 1);
  };
  found(kernel,
        "deadlock: no thread can run, and no asynchronous operation is in flight\n"
        "  CTA (0,0,0) thread 32 (warp 1, lane 0): mbarrier.try_wait in role 1 at k.cpp:10, waits for bar[0], parity "
        "0; it is in phase 0, 1 of 1 "
        "arrivals pending, tx-count 0\n"
        "    earlier: init with count 1 in role 0 at k.cpp:1, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
        "pending, tx-count 0");
}

TEST_F(Protocols, OneArrivalTooManyCompletesAPhaseTooMany) {
  const auto kernel = [&] {
    init({1});
    if (role() != 0) return;
    arrive(10, 0);
    arrive(11, 0);
    wait(12, 0);
  };
  found(kernel,
        "deadlock: no thread can run, and no asynchronous operation is in flight\n"
        "  CTA (0,0,0) thread 0 (warp 0, lane 0): mbarrier.try_wait in role 1 at k.cpp:12, waits for bar[0], parity 0; "
        "it is in phase 0, 1 of 1 "
        "arrivals pending, tx-count 0\n"
        "    earlier: init with count 1 in role 0 at k.cpp:1, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
        "pending, tx-count 0\n"
        "    earlier: arrive 1 in role 1 at k.cpp:10, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 1, 1 pending, "
        "tx-count 0\n"
        "    earlier: arrive 1 in role 1 at k.cpp:11, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 pending, "
        "tx-count 0");
}

TEST_F(Protocols, TooFewArrivals) {
  const auto kernel = [&] {
    init({2, 2});
    if (role() != 0 && role() != 1) return;
    arrive(10 + role(), 1 - role());
    wait(20 + role(), role());
  };
  const std::string text = bench.findings(kernel);
  EXPECT_NE(text.find("waits for bar[0], parity 0; it is in phase 0, 1 of 2 arrivals pending"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "earlier: arrive 1 in role 1 at k.cpp:11, CTA (0,0,0) thread 32 (warp 1, lane 0) -> phase 0, 1 pending"),
      std::string::npos);
  EXPECT_EQ(bench.found_in(kernel), 12);
}

TEST_F(Protocols, WaitsForDifferentPhasesAreNoDeadlock) {
  quiet([&] {
    init({1});
    if (tid() == 0) arrive(3, 0);
    sim_barrier_sync(4, 0, -1);
    if (role() == 0) {
      wait(10, 0, 0);
      arrive(11, 0);
    } else if (role() == 1) {
      wait(20, 0, 1);
    }
  });
}

TEST_F(Protocols, MoreArrivalsThanThePhaseHasPending) {
  found(
      [&] {
        init({1, 1});
        if (role() == 0) arrive(10, 1, 2);
      },
      "barrier misuse: too many arrivals: 2 with 1 of 1 pending in phase 0, bar[1] (shared + 0x1c8 of CTA (0,0,0))\n"
      "  in mbarrier.arrive in role 1 at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Protocols, SecondInitNeedsAnInvalidation) {
  const auto kernel = [&](bool inval) {
    if (tid() != 0) return;
    sim_mbarrier_init(10, shared(bar[0]), 1);
    if (inval) sim_mbarrier_inval(11, shared(bar[0]));
    sim_mbarrier_init(12, shared(bar[0]), 1);
    sim_mbarrier_inval(13, shared(bar[0]));
  };
  quiet([&] { kernel(true); });
  found([&] { kernel(false); },
        "barrier misuse: the mbarrier is initialised again without an mbarrier.inval before, bar[0] (shared + 0x1c0 of "
        "CTA (0,0,0))\n"
        "  in mbarrier.init in role 1 at k.cpp:12, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Protocols, UseWithoutInitAndAfterInvalidation) {
  const char* names[] = {"mbarrier.try_wait", "mbarrier.arrive", "mbarrier.expect_tx", "mbarrier.inval"};
  for (const bool after : {false, true})
    for (int use = 0; use < 4; ++use)
      found(
          [&] {
            if (tid() != 0) return;
            if (after) {
              sim_mbarrier_init(10, shared(bar[0]), 1);
              sim_mbarrier_inval(11, shared(bar[0]));
            }
            if (use == 0) wait(12, 0);
            if (use == 1) arrive(12, 0);
            if (use == 2) sim_mbarrier_expect_tx(12, shared(bar[0]), 64);
            if (use == 3) sim_mbarrier_inval(12, shared(bar[0]));
          },
          std::string("barrier misuse: the mbarrier is not initialised, or was overwritten, bar[0] (shared + 0x1c0 of "
                      "CTA (0,0,0))\n  in ") +
              names[use] + " in role 1 at k.cpp:12, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Protocols, MissedPhase) {
  // Warp 1 completes two phases before warp 0, which waits for the first, has looked: only in some schedules, and then named.
  const auto kernel = [&] {
    init({1});
    if (role() == 0) wait(10, 0, 0);
    if (role() == 1) {
      arrive(20, 0);
      arrive(21, 0);
    }
  };
  EXPECT_EQ(bench.findings(kernel),
            "barrier misuse: the thread has missed a phase: the mbarrier completed the one it waited for and another "
            "before it looked, "
            "bar[0] (shared + 0x1c0 of CTA (0,0,0))\n"
            "  in mbarrier.try_wait in role 1 at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Protocols, LivelockOfAPollingLoop) {
  for (const int use_try : {0, 1}) {
    const auto kernel = [&](bool wrong) {
      init({1});
      if (role() == 0)
        while (!(use_try ? sim_mbarrier_try_wait_parity : sim_mbarrier_test_wait_parity)(10, shared(bar[0]), 0,
                                                                                         kAcquire, kCta)) {
        }
      if (role() == 1 && !wrong) arrive(20, 0);
    };
    quiet([&] { kernel(false); });
    found([&] { kernel(true); }, std::string("livelock: all threads that can run wait in loops, and nothing changes\n"
                                             "  CTA (0,0,0) thread 0 (warp 0, lane 0): mbarrier.test_wait in role 1 at "
                                             "k.cpp:10, waits for bar[0], parity 0; it is in phase 0, "
                                             "1 of 1 arrivals pending, tx-count 0\n"
                                             "    earlier: init with count 1 in role 0 at k.cpp:1, CTA (0,0,0) thread "
                                             "0 (warp 0, lane 0) -> phase 0, 1 pending, tx-count 0"));
  }
}

TEST_F(Protocols, NamedBarriers) {
  // A barrier of two warps orders them; an arrival without a wait orders those who wait.
  const auto kernel = [&](bool wrong) {
    if (role() == 0) write(10, 0);
    if (tid() < 32) sim_barrier_arrive(11, 3, 64);
    if (tid() >= 32 && tid() < 64) {
      if (!wrong) sim_barrier_sync(20, 3, 64);
      if (role() == 1) read(21, 0);
      if (wrong) sim_barrier_sync(20, 3, 64);
    }
  };
  quiet([&] { kernel(false); });
  found([&] { kernel(true); }, race("read after write", 0, 0, 10, 1, 21));
  found(
      [&] {
        if (tid() < 32) sim_barrier_sync(10, 2, 64);
        if (tid() >= 32 && tid() < 64) sim_barrier_sync(20, 2, 96);
      },
      "barrier misuse: barrier 2 with 96 threads, while those that have come expect 64\n"
      "  in bar.sync in role 2 at k.cpp:20, by CTA (0,0,0) thread 32 (warp 1, lane 0)");
  found(
      [&] {
        if (tid() < 33) sim_barrier_sync(10, 2, 64);
      },
      "deadlock: no thread can run, and no asynchronous operation is in flight\n"
      "  CTA (0,0,0) thread 0 (warp 0, lane 0) and 32 more: bar.sync 2 in role 1 at k.cpp:10, 33 of 64 threads have "
      "come");
}

}  // namespace
}  // namespace gemmsmith::simulator
