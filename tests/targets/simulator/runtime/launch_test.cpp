// Launches, special registers, collectives of a warp, counters, timelines, the table of entries.
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "support/half.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/gemm_kernel.h"

namespace gemmsmith::simulator {
namespace {

int reg(SpecialRegister which) { return sim_special_register(0, int(which)); }

TEST(SimulatorLaunch, LaunchesThatCannotBeAreRefused) {
  const auto error = [](auto change) {
    Bench bench;
    const std::function<void()> nothing = [] {};
    Launch launch = bench.complete(nothing);
    LaunchOptions options;
    change(launch, options);
    const auto result = Bench::simulator().run(launch, options);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(error([](auto&, auto&) {}), "");
  EXPECT_EQ(error([](auto& l, auto&) { l.kernel = nullptr; }), "launch of kernel: no kernel cannot be run");
  EXPECT_EQ(error([](auto& l, auto&) { l.grid.y = 0; }), "launch of kernel: 1x0x1 has a dimension below 1");
  EXPECT_EQ(error([](auto& l, auto&) { l.block.x = 1056; }),
            "launch of kernel: block = 1056x1x1 has more than 1024 threads");
  EXPECT_EQ(error([](auto& l, auto&) { l.grid.x = 3, l.cluster.x = 2; }),
            "launch of kernel: grid = 3x1x1 is not a multiple of the cluster, 2x1x1");
  EXPECT_EQ(error([](auto& l, auto&) { l.grid.x = l.cluster.x = 17; }),
            "launch of kernel: cluster = 17x1x1 has more than 16 CTAs");
  EXPECT_EQ(error([](auto& l, auto&) { l.shared_bytes = 232449; }),
            "launch of kernel: shared_bytes = 232449 is more than the 232448 of a CTA on sm_90");
  EXPECT_EQ(error([](auto& l, auto& o) { l.grid.x = 300, o.residency = Residency::all; }),
            "launch of kernel: 300 CTAs at a time are more than the 224 windows of shared memory below 4 GiB; a "
            "smaller grid, or "
            "Residency::one_cluster");
}

TEST(SimulatorLaunch, EveryThreadRunsOnceAndKnowsWhereItIs) {
  for (const Residency residency : {Residency::one_cluster, Residency::all}) {
    Bench bench;
    bench.launch.grid = {4, 6, 2};
    bench.launch.cluster = {2, 3, 1};
    bench.launch.block = {8, 2, 3};
    bench.options.residency = residency;
    std::set<std::vector<int>> seen;
    ASSERT_EQ(bench
                  .run([&] {
                    using enum SpecialRegister;
                    const int x = reg(ctaid_x), y = reg(ctaid_y), z = reg(ctaid_z);
                    EXPECT_TRUE(seen.insert({x, y, z, reg(tid_x), reg(tid_y), reg(tid_z)}).second);
                    EXPECT_EQ(reg(clusterid_x) * 2 + reg(cluster_ctaid_x), x);
                    EXPECT_EQ(reg(clusterid_y) * 3 + reg(cluster_ctaid_y), y);
                    EXPECT_EQ(reg(cluster_ctarank), x % 2 + y % 3 * 2);
                    EXPECT_EQ(reg(cluster_nctarank), 6);
                    EXPECT_EQ(reg(warpid) * 32 + reg(laneid), reg(tid_x) + 8 * (reg(tid_y) + 2 * reg(tid_z)));
                    const auto window = reinterpret_cast<uintptr_t>(sim_shared(0, 0));
                    EXPECT_LT(window, uintptr_t(1) << 32);
                    EXPECT_EQ(window % (1 << 24), 0u);
                    EXPECT_EQ(sim_cta_rank_of(0, sim_mapa(0, sim_shared(0, 0), 5)), 5);
                  })
                  .text(),
              "");
    EXPECT_EQ(seen.size(), 48u * 48u);
  }
}

TEST(SimulatorLaunch, CollectivesOfAWarp) {
  Bench bench;
  bench.launch.block.x = 32;
  ASSERT_EQ(bench.complaints([] {
    const int lane = tid();
    const auto shuffle = [lane](ShuffleMode mode, int by, int clamp) {
      return sim_shuffle(0, int(mode), -1, 100 + lane, by, clamp);
    };
    const auto expect = [](int64_t got, int from, bool valid) {
      EXPECT_EQ(int32_t(got), 100 + from);
      EXPECT_EQ(got >> 32 & 1, valid);
    };
    expect(shuffle(ShuffleMode::idx, 7, 31), 7, true);
    expect(shuffle(ShuffleMode::up, 3, 0), lane < 3 ? lane : lane - 3, lane >= 3);
    expect(shuffle(ShuffleMode::down, 3, 31), lane > 28 ? lane : lane + 3, lane <= 28);
    expect(shuffle(ShuffleMode::bfly, 5, 31), lane ^ 5, true);
    // Segments of eight lanes: c = (32 - 8) << 8 | 31.
    expect(shuffle(ShuffleMode::down, 3, 24 << 8 | 31), lane % 8 > 4 ? lane : lane + 3, lane % 8 <= 4);
    expect(shuffle(ShuffleMode::idx, 2, 24 << 8 | 31), lane / 8 * 8 + 2, true);

    EXPECT_EQ(sim_vote(1, int(VoteMode::ballot), -1, lane % 3 == 0), 0x49249249);
    EXPECT_EQ(sim_vote(1, int(VoteMode::any), -1, lane == 4), 1);
    EXPECT_EQ(sim_vote(1, int(VoteMode::all), -1, lane != 4), 0);
    EXPECT_EQ(sim_vote(1, int(VoteMode::uni), -1, 0), 1);
    uint32_t same = 0;
    for (int i = 0; i < 32; ++i) same |= uint32_t(i / 5 == lane / 5) << i;
    EXPECT_EQ(uint32_t(sim_match_any(2, -1, lane / 5)), same);
    EXPECT_EQ(sim_match_all(2, -1, 9), int64_t(0x1ffffffff));
    EXPECT_EQ(sim_match_all(2, -1, lane), 0);
    EXPECT_EQ(sim_redux(3, int(AtomicOp::add), int(AtomicType::u32), -1, lane), 496);
    EXPECT_EQ(sim_redux(3, int(AtomicOp::min), int(AtomicType::s32), -1, lane - 16), -16);
    EXPECT_EQ(sim_redux(3, int(AtomicOp::min), int(AtomicType::u32), -1, lane - 16), 0);
    EXPECT_EQ(sim_elect(4, -1), lane == 0);
    // Two halves of a diverged warp, each with its own collective.
    if (lane < 16)
      EXPECT_EQ(sim_vote(5, int(VoteMode::ballot), 0xffff, 1), 0xffff);
    else
      EXPECT_EQ(sim_elect(6, int(0xffff0000)), lane == 16);
    sim_syncwarp(7, -1);
  }),
            "");
}

TEST(SimulatorLaunch, CollectivesThatDiverge) {
  Bench bench;
  bench.launch.block.x = 32;
  for (int line = 0; line < 30; ++line) bench.site("line", line);
  EXPECT_EQ(bench.findings([] { sim_syncwarp(10, 0xff); }),
            "divergence: a lane that is not in the mask 0xff executes the operation\n"
            "  in bar.warp.sync in line at k.cpp:10, by CTA (0,0,0) thread 8 (warp 0, lane 8)");
  EXPECT_EQ(bench.findings([] { tid() < 5 ? sim_syncwarp(10, -1) : sim_syncwarp(11, -1); }),
            "divergence: lanes of the warp have come to bar.warp.sync in line at k.cpp:10, this one comes to "
            "bar.warp.sync in "
            "line at k.cpp:11, with the same mask 0xffffffff\n"
            "  in bar.warp.sync in line at k.cpp:11, by CTA (0,0,0) thread 5 (warp 0, lane 5)");
  EXPECT_EQ(
      bench.findings([] { sim_shuffle(12, int(ShuffleMode::bfly), tid() < 16 ? 0xffff : int(0xffff0000), 0, 16, 31); }),
      "divergence: lane 0 reads lane 16, which is not in the mask 0xffff\n"
      "  in shfl.sync in line at k.cpp:12, by CTA (0,0,0) thread 15 (warp 0, lane 15)");
}

TEST(SimulatorLaunch, RegistersMoveBetweenWarpgroups) {
  Bench bench;
  bench.launch.block.x = 384;
  for (int line = 0; line < 30; ++line) bench.site("roles", line);
  const auto kernel = [](int consumers) {
    if (tid() >= 256)
      sim_setmaxnreg(10, 24, 0);
    else
      sim_setmaxnreg(11, consumers, 1);
  };
  EXPECT_EQ(bench.complaints([&] { kernel(240); }), "");
  // 168 a thread at launch: the producers give back 144 x 128 registers, the consumers want 80 x 256.
  EXPECT_EQ(
      bench.findings([&] { kernel(248); }),
      "deadlock: no thread can run, and no asynchronous operation is in flight\n"
      "  CTA (0,0,0) thread 224 (warp 7, lane 0) and 31 more: setmaxnreg.inc in roles at k.cpp:11, 512 registers are "
      "free in the CTA");
  EXPECT_EQ(bench.findings([] { sim_setmaxnreg(12, 100, 1); }),
            "invalid operand: 100 registers are no multiple of 8 from 24 to 256\n"
            "  in setmaxnreg.inc in roles at k.cpp:12, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
  EXPECT_EQ(bench.findings([] {
    if (tid() < 32) sim_setmaxnreg(13, 24, 0);
  }),
            "divergence: the warps of warpgroup 0 have executed different setmaxnreg: 24 and 168 registers\n"
            "  in exit in the end of the kernel, by CTA (0,0,0) thread 30 (warp 0, lane 30)");
}

TEST(SimulatorLaunch, SmallStacksOverflowWithAName) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "skipped: AddressSanitizer's frames do not fit a stack of two pages";
#endif
  Bench bench;
  bench.launch.block.x = 32;
  bench.options.stack_bytes = 8192;
  EXPECT_EQ(bench
                .run([] {
                  // The stack is two pages, and this is in the upper one.
                  char here = 0;
                  const uintptr_t page = reinterpret_cast<uintptr_t>(&here) / 4096 * 4096;
                  if (tid() == 1) *reinterpret_cast<volatile char*>(page - 4096) = 0;
                })
                .text(),
            "stack overflow: a thread's stack of 8192 bytes is full\n"
            "  in exit in the end of the kernel, by CTA (0,0,0) thread 1 (warp 0, lane 1)");
}

TEST(SimulatorLaunch, CountersAreTheBytesThatMove) {
  GemmKernel g(128, 128, 256, 64, 3, 2);
  g.bench.options.count_bank_conflicts = true;
  const Counters n = g.run().counters;
  EXPECT_EQ(n.ctas, 2);
  EXPECT_EQ(n.waves, 1);
  EXPECT_EQ(n.tma_read_bytes, 4 * 4 * (64 + 64) * 64 * 2);  // tiles x k blocks x rows of A and B
  EXPECT_EQ(n.multicast_bytes, n.tma_read_bytes);
  EXPECT_EQ(n.tma_write_bytes, 128 * 128 * 4);
  EXPECT_EQ(n.shared_store_bytes, 128 * 128 * 4);
  EXPECT_EQ(n.wgmma_instructions, 4 * 4 * 4);
  EXPECT_EQ(n.global_load_bytes + n.global_store_bytes + n.dsmem_bytes, 0);
  // A warp stores columns 2 (lane % 4) of rows lane / 4, 32 columns of 4 bytes apart: all eight rows hit the same banks.
  EXPECT_EQ(n.shared_wavefronts, 128 * 128 / 32 * 8);
  EXPECT_EQ(n.bank_conflicts, 128 * 128 / 32 * 7);
}

TEST(SimulatorLaunch, BankConflictsOfEveryStride) {
  for (const int bytes : {4, 8, 16})
    for (int stride = bytes; stride <= 256; stride += bytes) {
      Bench bench;
      bench.launch.block.x = 32;
      bench.region("words", 8192, 16);
      bench.options.count_bank_conflicts = true;
      const Counters n = bench.run([&] { sim_load(0, shared(uint32_t(tid() * stride)), bytes); }).counters;
      const int together = 32 / (bytes / 4);
      int passes = 0;
      for (int first = 0; first < 32; first += together) {
        std::vector<std::set<int>> words(32);
        size_t most = 0;
        for (int lane = first; lane < first + together; ++lane)
          for (int b = 0; b < bytes; b += 4)
            words[size_t((lane * stride + b) / 4 % 32)].insert((lane * stride + b) / 4);
        for (const auto& w : words) most = std::max(most, w.size());
        passes += int(most);
      }
      EXPECT_EQ(n.shared_wavefronts, passes) << bytes << " " << stride;
      EXPECT_EQ(n.bank_conflicts, passes - bytes / 4) << bytes << " " << stride;
    }
}

TEST(SimulatorLaunch, TimelineIsAChromeTrace) {
  GemmKernel g(64, 64, 512, 64, 2, 1);
  g.bench.options.timeline_of_cta = Dim3{0, 0, 0};
  const LaunchResult r = g.run();
  const auto trace = nlohmann::json::parse(r.timeline);
  std::set<std::string> names;
  int loads = 0;
  for (const auto& e : trace.at("traceEvents")) {
    names.insert(e.at("name"));
    loads += e.at("name") == "TMA load" && e.at("ph") == "X";
    if (e.at("ph") != "X") continue;
    EXPECT_GE(e.at("ts").get<int64_t>(), 0);
    EXPECT_GE(e.at("dur").get<int64_t>(), 0);
    EXPECT_LE(e.at("ts").get<int64_t>() + e.at("dur").get<int64_t>(), r.counters.steps);
  }
  EXPECT_EQ(loads, 2 * 8);
  for (const char* name :
       {"mbarrier.try_wait: full[0]", "mbarrier.try_wait: empty[1]", "TMA load", "TMA store", "wgmma"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(SimulatorLaunch, EntriesAreATableOfNamesAndTypes) {
  std::set<std::string_view> names;
  for (const Entry& entry : entries()) {
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_TRUE(entry.name.starts_with("sim_"));
    EXPECT_NE(entry.address, nullptr);
    ASSERT_FALSE(entry.parameters.empty());
    EXPECT_EQ(entry.parameters[0], ValueKind::i32) << entry.name << ": the site comes first";
  }
  const auto& shuffle = *std::ranges::find_if(entries(), [](const Entry& e) { return e.name == "sim_shuffle"; });
  EXPECT_EQ(shuffle.result, ValueKind::i64);
  EXPECT_EQ(shuffle.parameters, std::vector<ValueKind>(6, ValueKind::i32));
  const auto& math = *std::ranges::find_if(entries(), [](const Entry& e) { return e.name == "sim_math"; });
  EXPECT_EQ(math.result, ValueKind::f32);
}

TEST(SimulatorLaunch, SmallFloatsAreTheirTables) {
  for (int bits = 0; bits < 256; ++bits) {
    const float a = float_from_e4m3(uint8_t(bits)), b = float_from_e5m2(uint8_t(bits));
    const int e = bits >> 3 & 15, f = bits & 7;
    const double expected = (bits & 128 ? -1 : 1) * (e ? std::ldexp(1 + f / 8.0, e - 7) : std::ldexp(f / 8.0, -6));
    if ((bits & 127) == 127)
      EXPECT_TRUE(std::isnan(a));
    else
      EXPECT_EQ(a, expected);
    EXPECT_TRUE(std::isnan(a) || e4m3_from_float(a) == bits) << bits;
    EXPECT_TRUE(!std::isfinite(b) || e5m2_from_float(b) == bits) << bits;
  }
  // Between two neighbours: the nearer, in the middle the even one; beyond the largest: the largest.
  for (int bits = 0; bits < 0x7e; ++bits) {
    const float low = float_from_e4m3(uint8_t(bits)), high = float_from_e4m3(uint8_t(bits + 1)),
                middle = (low + high) / 2;
    EXPECT_EQ(e4m3_from_float(middle), bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(e4m3_from_float(std::nextafter(middle, low)), bits);
    EXPECT_EQ(e4m3_from_float(std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(float_from_e4m3(e4m3_from_float(1e9f)), 448.0f);
  EXPECT_EQ(float_from_e5m2(e5m2_from_float(-1e9f)), -57344.0f);
  for (const PackedType type : {PackedType::bf16x2, PackedType::f16x2, PackedType::e4m3x2, PackedType::e5m2x2})
    for (int value = -8; value < 8; ++value) {
      const int32_t packed = sim_convert_pack(0, int(type), float(value + 1), float(value));
      EXPECT_EQ(sim_convert_unpack(0, int(type), packed, 0), float(value));
      EXPECT_EQ(sim_convert_unpack(0, int(type), packed, 1), float(value + 1));
    }
  EXPECT_EQ(std::bit_cast<uint32_t>(sim_convert_tf32(0, std::bit_cast<float>(0x3f801000u))), 0x3f802000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(sim_convert_tf32(0, std::bit_cast<float>(0x3f800fffu))), 0x3f800000u);
}

}  // namespace
}  // namespace gemmsmith::simulator
