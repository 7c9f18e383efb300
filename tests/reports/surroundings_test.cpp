// What a program around the library may do: locales, environment variables, pinned cores, signals, fork, many threads.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <locale>
#include <thread>

#include "api/state.h"
#include "gemmsmith/json.h"
#include "gemmsmith/model.h"
#include "numerics/multiply.h"
#include "support/environment.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

Result<Device> open_device(int threads = 2) {
  return Device::open("cpu", {.threads = threads, .measure_peaks = false, .kernel_cache = {}, .warn = {}});
}

// Multiplies small whole numbers with a kernel that is built now, and holds D against them.
void multiply(const Device& device, const std::string& text, const std::string& source = "native") {
  const GemmProblem p = GemmProblem::parse(text).value();
  const auto a = [](int64_t i, int64_t k) { return double((3 * i + 5 * k) % 7 - 3); };
  const auto b = [](int64_t k, int64_t j) { return double((2 * k + 7 * j) % 5 - 2); };
  auto gemm = Gemm::build(device, p, source);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  Operands operands = filled(p, a, b);
  operands.poison_output();
  ASSERT_TRUE(gemm->run(operands.arguments()).ok());
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k) sum += a(i, k) * b(k, j);
      ASSERT_EQ(load_element(p.d.type, operands.arguments().d, i * p.d.row_stride + j * p.d.column_stride), sum)
          << text << ": D[" << i << "," << j << "]";
    }
}

class Surroundings : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = open_device(); !device.ok()) GTEST_SKIP() << "skipped: " << device.error().text();
  }
};

// ---- locale

// 1,5 for 1.5 and 1.000 for 1000, in C and in C++ while it lives.
class GermanNumbers {
 public:
  GermanNumbers() : before_(std::locale()), c_before_(setlocale(LC_ALL, nullptr)) {
    struct Comma : std::numpunct<char> {
      char do_decimal_point() const override { return ','; }
      char do_thousands_sep() const override { return '.'; }
      std::string do_grouping() const override { return "\3"; }
    };
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"})
      if (setlocale(LC_ALL, name) != nullptr) break;
    std::locale::global(std::locale(std::locale::classic(), new Comma));
  }
  ~GermanNumbers() {
    std::locale::global(before_);
    setlocale(LC_ALL, c_before_.c_str());
  }

 private:
  std::locale before_;
  std::string c_before_;
};

TEST_F(Surroundings, ACommaInNumbersChangesNothing) {
  const std::string text =
      "m=1200 n=20 k=3 dtype=f32 alpha=0.5 beta=1e-3 epilogue=clamp(acc * 1.25 + bias[n], -1.5, 1234567.5)";
  const std::string printed = GemmProblem::parse(text).value().print();
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16,)"
      R"( "num_hidden_layers": 2, "num_key_value_heads": 4, "vocab_size": 32000, "rope_theta": 0.5})";
  TuneOptions options;
  options.budget_seconds = 0.05;
  options.sources = {"native", "reference"};
  const auto device = open_device();
  const TuneReport report = tune(*device, GemmProblem::parse("4x20x3").value(), options).value();
  const std::string json = to_json(report);
  const auto model = model_problems(config, 128).value();
  const GermanNumbers german;
  std::ostringstream stream;
  stream << 1234.5;
  ASSERT_EQ(stream.str(), "1.234,5") << "the locale is there";
  EXPECT_EQ(GemmProblem::parse(text).value().print(), printed);
  EXPECT_EQ(GemmProblem::parse(printed).value().print(), printed);
  EXPECT_EQ(to_json(report), json);
  EXPECT_EQ(to_json(report_from_json(json).value()), json);
  const auto again = model_problems(config, 128).value();
  ASSERT_EQ(again.size(), model.size());
  for (size_t i = 0; i < model.size(); ++i) EXPECT_EQ(again[i].problem, model[i].problem);
  Store store = Store::open(":memory:").value();
  ASSERT_TRUE(tune(*device, GemmProblem::parse("4x20x3 alpha=0.5").value(), options, &store).ok());
  EXPECT_EQ(store.verify().value().size(), 0u);
  multiply(*device, "33x65x17");
}

// ---- environment variables

TEST_F(Surroundings, VariablesOfOtherLibrariesDoNotChangeResultsOrFacts) {
  const DeviceFacts before = open_device(0)->facts();
  const std::pair<const char*, const char*> variables[] = {
      {"OMP_NUM_THREADS", "1"},   {"OMP_NUM_THREADS", "many"},   {"OPENBLAS_NUM_THREADS", "0"},
      {"GOMP_CPU_AFFINITY", "0"}, {"OMP_WAIT_POLICY", "active"}, {"MKL_NUM_THREADS", "-1"},
      {"DNNL_VERBOSE", "0"},      {"LANG", "no_such_locale"},    {"TMPDIR", "/nowhere"},
      {"LC_ALL", "de_DE.UTF-8"},  {"MALLOC_PERTURB_", "165"}};
  for (const auto& [name, value] : variables) {
    SCOPED_TRACE(concat(name, "=", value));
    const auto saved = environment_variable(name);
    set_environment_variable(name, value);
    const auto device = open_device(0);
    ASSERT_TRUE(device.ok());
    EXPECT_EQ(device->facts().fingerprint(), before.fingerprint());
    for (const SourceReport& source : device->sources())
      if (source.supported) multiply(*device, "17x40x23 dtype=f32", source.name);
    saved ? set_environment_variable(name, *saved) : unset_environment_variable(name);
  }
}

// ---- cores: the affinity of the thread that opens the device counts, when it opens it

TEST_F(Surroundings, ADeviceUsesTheCoresThatItsThreadMayUse) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  const int cores = CPU_COUNT(&all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto pinned = open_device(0);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(pinned->facts().cores, 1);
  EXPECT_EQ(pinned->facts().threads, 1);
  multiply(*pinned, "33x65x17");
  const auto wide = open_device(0);
  EXPECT_LE(wide->facts().cores, cores) << "a cgroup may allow less";
  EXPECT_EQ(wide->facts().threads, wide->facts().cores) << "a mask that was widened counts for the next device";
  if (cores > 1 && wide->facts().cores > 1) {
    EXPECT_NE(wide->facts().fingerprint(), pinned->facts().fingerprint()) << "choices are not mixed up";
  }
  // More threads than cores are slow, not wrong.
  const auto many = open_device(cores * 3);
  multiply(*many, "33x65x17");
}

// ---- signals

// A timer that interrupts system calls every half millisecond, without SA_RESTART.
class Interruptions {
 public:
  Interruptions() {
    count = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { count = count + 1; };
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Interruptions() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  static inline volatile sig_atomic_t count = 0;

 private:
  struct sigaction before_{};
};

TEST_F(Surroundings, SignalsInterruptNothing) {
  const std::string home = *environment_variable("HOME");
  const Interruptions interruptions;
  for (int round = 0; round < 4; ++round) {
    const auto device = open_device();
    ASSERT_TRUE(device.ok());
    Store store = Store::open(home + "/interrupted.sqlite").value();
    TuneOptions options;
    options.budget_seconds = 0.1;
    options.retune = true;
    options.sources = {"native", "reference"};
    const auto report = tune(*device, GemmProblem::parse("5x48x33").value(), options, &store);
    ASSERT_TRUE(report.ok()) << report.error().text();
    EXPECT_NE(report->best(), nullptr) << report->decision;
    EXPECT_EQ(report->store_note.find("not saved"), std::string::npos) << report->store_note;
    multiply(*device, concat(round + 2, "x48x33 epilogue=acc * ", 1, " + 0"));
    EXPECT_EQ(device->kernel_cache().unsaved, 0);
    EXPECT_EQ(device->kernel_cache().damaged, 0);
  }
  EXPECT_GT(Interruptions::count, 50);
}

// ---- fork

int exit_code_of(const std::function<void()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(120);  // one that waits for ever is killed
    child();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Surroundings, AForkedChildMayUseItsParentsKernelsAndDevicesOfItsOwn) {
  const auto device = open_device(3);
  const GemmProblem p = GemmProblem::parse("70x97x33").value();
  auto gemm = Gemm::build(*device, p, "native");
  ASSERT_TRUE(gemm.ok());
  Operands operands = filled(p, [](int64_t, int64_t) { return 1.0; }, [](int64_t, int64_t) { return 2.0; });
  const auto right = [&] {
    operands.poison_output();
    ASSERT_TRUE(gemm->run(operands.arguments()).ok());
    const auto* d = static_cast<const float*>(operands.arguments().d);
    EXPECT_TRUE(std::all_of(d, d + p.m * p.n, [](float value) { return value == 66; }));
  };
  right();
  EXPECT_EQ(exit_code_of(right), 0) << "the parent's kernel, on one thread";
  EXPECT_EQ(exit_code_of([&] { multiply(*device, "17x40x23 epilogue=acc * 1"); }), 0) << "a kernel that it compiles";
  EXPECT_EQ(exit_code_of([] { multiply(*open_device(2), "17x40x23"); }), 0) << "a device of its own";
  EXPECT_EQ(exit_code_of([&] { [[maybe_unused]] const auto gone = std::move(gemm); }), 0) << "which ends there";
  right();
}

// ---- threads (U08): handles made and destroyed inside, sizes at random

TEST_F(Surroundings, ManyThreadsMakeUseAndDropKernelsAtOnce) {
  const auto device = open_device(2);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Random random{uint64_t(t)};
      for (int i = 0; i < 12; ++i)
        multiply(*device, concat(random.between(1, 37), "x", random.between(1, 37), "x", random.between(1, 37)),
                 random.below(3) == 0 ? "reference" : "native");
    });
}

// ---- what the library leaves as it was

TEST_F(Surroundings, TheFloatingPointEnvironmentIsLeftAlone) {
  const auto control = [] { return __builtin_ia32_stmxcsr() & ~0x3fu; };  // without the flags that results set
  const unsigned before = control();
  const auto device = open_device(2);
  for (const SourceReport& source : device->sources())
    if (source.supported) multiply(*device, "17x40x23", source.name);
  EXPECT_EQ(control(), before);
}

}  // namespace
}  // namespace gemmsmith
