#include "tuner/host_bench.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "fakes.h"
#include "problem/reference.h"
#include "support/half.h"

namespace gemmsmith {
namespace {

using fake::FakeClock;

// A kernel of one C++ function.
struct FunctionKernel final : Kernel {
  explicit FunctionKernel(std::function<void(const GemmArguments&)> f) : function(std::move(f)) {}
  Status run(const GemmArguments& args) override {
    function(args);
    return Done{};
  }
  std::function<void(const GemmArguments&)> function;
};

GemmProblem parsed(const std::string& text) { return GemmProblem::parse(text).value(); }

// A bench with a problem, and kernels that are right but for one thing.
struct Bed {
  explicit Bed(const std::string& text, int64_t limit = int64_t(1) << 30, int64_t last_level_bytes = 1 << 16)
      : problem(parsed(text)) {
    device.last_level_bytes = last_level_bytes;
    const Status prepared = bench.prepare(problem, device, {limit, 1});
    EXPECT_TRUE(prepared.ok()) << prepared.error().text();
  }
  Accuracy check(std::function<void(const GemmArguments&)> after, uint64_t seed = 2) {
    FunctionKernel kernel([&](const GemmArguments& args) {
      compute_reference(problem, args);
      after(args);
    });
    return bench.check(kernel, seed).value();
  }
  Accuracy check_right(uint64_t seed = 2) {
    return check([](const GemmArguments&) {}, seed);
  }

  GemmProblem problem;
  DeviceFacts device;
  FakeClock clock;
  HostBench bench{clock};
};

// Small problems, each a case of its own for memory: types, majors, strides, batches, C, inputs.
const char* const kProblems[] = {
    "5x7x9",
    "33x65x17 dtype=bf16 b=col",
    "16x16x64 dtype=i8",
    "1x40x33 dtype=f16 epilogue=relu(acc + bias[n])",
    "3x8x12x20 beta=1 c=f32:row:ld=16 d=f32:row:ld=19 epilogue=acc * aux[m,n] + scale",
    "2x6x5x4 a=f32:col:ld=9 d=f32:col:ld=11",
    "8x8x0 beta=0.5",
};

TEST(HostBench, RightKernelsPass) {
  for (const char* text : kProblems) {
    Bed bed(text);
    for (const uint64_t seed : {2, 3}) {
      const Accuracy a = bed.check_right(seed);
      EXPECT_TRUE(a.passed) << text << ": " << a.failure;
      EXPECT_EQ(a.compared, bed.problem.batch * bed.problem.m * bed.problem.n) << text << ": all, it is small";
    }
  }
}

TEST(HostBench, OneWrongElementIsFoundWhereverItIs) {
  for (const char* text : kProblems) {
    Bed bed(text);
    const GemmProblem& p = bed.problem;
    for (int64_t t = 0; t < p.batch; ++t)
      for (int64_t i = 0; i < p.m; i += 3)
        for (int64_t j = 0; j < p.n; j += 2) {
          const int64_t at = t * p.d.batch_stride + i * p.d.row_stride + j * p.d.column_stride;
          const Accuracy a = bed.check([&](const GemmArguments& args) {
            store_element(p.d.type, args.d, at, load_element(p.d.type, args.d, at) * 1.5 + 3);
          });
          ASSERT_FALSE(a.passed) << text;
          ASSERT_EQ(a.failure.find("D[" + std::to_string(i) + "," + std::to_string(j) + "]"), 0u)
              << text << ": " << a.failure;
        }
    EXPECT_TRUE(bed.check_right().passed) << "the next kernel is not blamed";
  }
}

TEST(HostBench, AnUnwrittenElementIsFound) {
  for (const char* text : kProblems) {
    Bed bed(text);
    const GemmProblem& p = bed.problem;
    const int64_t last = (p.batch - 1) * p.d.batch_stride + (p.m - 1) * p.d.row_stride + (p.n - 1) * p.d.column_stride;
    FunctionKernel kernel([&](const GemmArguments& args) {
      const double before = load_element(p.d.type, args.d, last);
      compute_reference(p, args);
      store_element(p.d.type, args.d, last, before);
    });
    EXPECT_FALSE(bed.bench.check(kernel, 2).value().passed) << text;
  }
}

TEST(HostBench, AnUnwrittenElementOfALargeOutputIsFoundThoughOnlySamplesAreCompared) {
  Bed bed("2048x2048x32");
  const GemmProblem& p = bed.problem;
  Operands truth =
      Operands::create(p, 2).value();  // equal seeds fill equal values, so the right output can be kept and copied
  compute_reference(p, truth.arguments());
  const auto* right = static_cast<const float*>(truth.arguments().d);
  int64_t skipped = -1;
  FunctionKernel kernel([&](const GemmArguments& args) {
    auto* d = static_cast<float*>(args.d);
    for (int64_t i = 0; i < p.m * p.n; ++i)
      if (i != skipped) d[i] = right[i];
  });
  const Accuracy whole = bed.bench.check(kernel, 2).value();
  EXPECT_TRUE(whole.passed) << whole.failure;
  EXPECT_LT(whole.compared, p.m * p.n / 2);
  for (const int64_t place : {int64_t(1), int64_t(777'777), p.m * p.n - 2}) {
    skipped = place;
    EXPECT_FALSE(bed.bench.check(kernel, 2).value().passed) << place;
  }
}

TEST(HostBench, WritesOutOfBoundsAreFound) {
  for (const char* text : kProblems) {
    Bed bed(text);
    const GemmProblem& p = bed.problem;
    const int64_t last = (p.batch - 1) * p.d.batch_stride + (p.m - 1) * p.d.row_stride + (p.n - 1) * p.d.column_stride;
    for (const int64_t at : {int64_t(-1), last + 1, last + 100}) {
      const Accuracy a = bed.check([&](const GemmArguments& args) { store_element(p.d.type, args.d, at, 1); });
      EXPECT_FALSE(a.passed) << text << " at " << at;
      EXPECT_NE(a.failure.find("guard band"), std::string::npos) << a.failure;
      EXPECT_TRUE(bed.check_right().passed) << "the next kernel gets whole guard bands";
    }
  }
}

TEST(HostBench, WritesBetweenRowsAreFound) {
  Bed bed("6x5x4 d=f32:row:ld=8");
  const Accuracy a = bed.check([](const GemmArguments& args) { static_cast<float*>(args.d)[5] = 0; });
  EXPECT_EQ(a.failure, "gap between elements of d overwritten, at element 5 of its memory");
  EXPECT_TRUE(bed.check_right().passed);
}

TEST(HostBench, KernelThatKeepsAnEarlierResultFailsOnOtherInputs) {
  Bed bed("12x12x12");
  std::vector<float> kept;
  FunctionKernel kernel([&](const GemmArguments& args) {
    auto* d = static_cast<float*>(args.d);
    if (kept.empty()) {
      compute_reference(bed.problem, args);
      kept.assign(d, d + 144);
    }
    std::copy(kept.begin(), kept.end(), d);
  });
  EXPECT_TRUE(bed.bench.check(kernel, 2).value().passed);
  EXPECT_FALSE(bed.bench.check(kernel, 3).value().passed);
}

TEST(HostBench, ErrorsOfAKernelAreErrors) {
  struct Failing final : Kernel {
    Status run(const GemmArguments&) override { return Error{"library", "status 4", "is not 0", {}, {}}; }
  } kernel;
  Bed bed("4x4x4");
  EXPECT_EQ(bed.bench.check(kernel, 2).error().text(), "library: status 4 is not 0");
  EXPECT_EQ(bed.bench.sample_us(kernel, 3).error().text(), "library: status 4 is not 0");
}

TEST(HostBench, SamplesAreMeanTimesByTheClockOverRotatingCopies) {
  Bed bed("16x16x16", int64_t(1) << 30, 1 << 16);
  std::set<const void*> a, b, d;
  FunctionKernel kernel([&](const GemmArguments& args) {
    a.insert(args.a);
    b.insert(args.b);
    d.insert(args.d);
    bed.clock.advance_us(7);
  });
  EXPECT_NEAR(bed.bench.sample_us(kernel, 100).value(), 7, 1e-3);
  // 2 x 64 KiB over sets of 3 x 1 KiB: 43 copies, each with all operands of its own.
  EXPECT_EQ(bed.bench.conditions(), "operands cold: 86 copies, 264 kB");
  EXPECT_EQ(a.size(), 86u);
  EXPECT_EQ(b.size(), 86u);
  EXPECT_EQ(d.size(), 86u);
}

TEST(HostBench, EveryCopyHoldsTheOperands) {
  for (const char* text : kProblems) {
    Bed bed(text);
    const GemmProblem& p = bed.problem;
    Operands same = Operands::create(p, 1).value();  // the seed of the bed
    const Check expected(p, same.arguments());
    int wrong = 0;
    FunctionKernel kernel([&](const GemmArguments& args) {
      compute_reference(p, args);
      wrong += !expected.compare(args.d).passed;
    });
    ASSERT_TRUE(bed.bench.sample_us(kernel, 50).ok());
    ASSERT_TRUE(bed.bench.sample_us(kernel, 50).ok());
    EXPECT_EQ(wrong, 0) << text;
  }
}

TEST(HostBench, ChecksDoNotDisturbTheCopies) {
  Bed bed("16x16x16");
  const auto first_a = [&] {
    float value = 0;
    FunctionKernel kernel([&](const GemmArguments& args) { value = *static_cast<const float*>(args.a); });
    EXPECT_TRUE(bed.bench.sample_us(kernel, 1).ok());
    return value;
  };
  const float before = first_a();
  bed.check_right(99);
  EXPECT_EQ(first_a(), before);
}

TEST(HostBench, LittleMemoryMeansLessRotationBeforeItMeansFailure) {
  const int64_t set = 3 * 64 * 64 * 4;
  Bed roomy("64x64x64", 100 * set), tight("64x64x64", 4 * set), shared("64x64x64", set);
  EXPECT_EQ(roomy.bench.conditions(), "operands cold: 6 copies, 295 kB");
  EXPECT_EQ(
      tight.bench.conditions(),
      "operands partly warm: 2 copies, 98.3 kB, less than four times the last-level cache of 65.5 kB because memory "
      "is limited");
  EXPECT_EQ(
      tight.bench.memory(),
      "197 kB of the cap of 197 kB: operands 49.2 kB, copies 98.3 kB, reference 49.2 kB (samples); the rest is for "
      "the kernels' own");
  EXPECT_EQ(
      shared.bench.conditions(),
      "operands partly warm: 1 copy, 49.2 kB, less than four times the last-level cache of 65.5 kB because memory is "
      "limited");
  EXPECT_TRUE(shared.check_right().passed);
  EXPECT_FALSE(shared.check([](const GemmArguments& args) { static_cast<float*>(args.d)[-1] = 0; }).passed);
  FunctionKernel kernel([&](const GemmArguments& args) { compute_reference(shared.problem, args); });
  EXPECT_TRUE(shared.bench.sample_us(kernel, 2).ok()) << "samples use the new memory";
  EXPECT_TRUE(shared.check_right().passed);

  HostBench bench(roomy.clock);
  EXPECT_EQ(bench.prepare(roomy.problem, roomy.device, {set - 1, 1}).error().text(),
            "memory: operands of 49.2 kB are more than the cap of 49.2 kB; raise --max-memory, in a program "
            "TuneOptions::max_memory_bytes");
  DeviceFacts small = roomy.device;
  small.memory_bytes = set;  // half of it is the limit
  EXPECT_EQ(
      bench.prepare(roomy.problem, small, {100 * set, 1}).error().text(),
      "memory: operands of 49.2 kB are more than the half of this process's memory that tuning may take, 24.6 kB; "
      "free memory, or raise the limit of this process's group");
}

TEST(HostBench, OneBenchForManyProblems) {
  FakeClock clock;
  HostBench bench(clock);
  DeviceFacts device;
  for (int round = 0; round < 2; ++round)
    for (const char* text : kProblems) {
      const GemmProblem p = parsed(text);
      ASSERT_TRUE(bench.prepare(p, device, {1 << 30, 1}).ok());
      FunctionKernel kernel([&](const GemmArguments& args) { compute_reference(p, args); });
      EXPECT_TRUE(bench.check(kernel, 2).value().passed) << text;
      EXPECT_TRUE(bench.sample_us(kernel, 3).ok());
    }
}

// The whole search on real memory and a real clock: the right kernel wins over a faster one that leaves out a product.
TEST(HostBench, SearchOnRealMemory) {
  struct Functions final : Source {
    explicit Functions(GemmProblem p) : problem(std::move(p)) {}
    std::string name() const override { return "functions"; }
    std::string version() const override { return "1"; }
    Supports supports(const GemmProblem&, const DeviceFacts&) const override { return {}; }
    CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override {
      return {{{"functions", "short", 0}, {"functions", "right", 0}}, {}};
    }
    Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate& c) override {
      GemmProblem p = problem;
      if (c.config == "short") --p.k;  // strides stay: the last product of each sum is missing
      return std::unique_ptr<Kernel>(
          std::make_unique<FunctionKernel>([p](const GemmArguments& args) { compute_reference(p, args); }));
    }
    GemmProblem problem;
  };
  SystemClock clock;
  HostBench bench(clock);
  Functions source(parsed("24x24x24"));
  TuneRequest request;
  request.problem = source.problem;
  request.device.last_level_bytes = 1 << 20;
  request.sources = {&source};
  request.bench = &bench;
  request.clock = &clock;
  const TuneReport report = search(request).value();
  EXPECT_EQ(fake::winner_of(report), "functions right");
  EXPECT_EQ(report.candidates[0].state, CandidateState::wrong);
  EXPECT_GT(report.best()->timing->median_us, 0);
  EXPECT_EQ(report.best()->accuracy->compared, 576);
}

}  // namespace
}  // namespace gemmsmith
