// The C interface: whole error texts, what it must do with wrong calls, with structs of other versions and with exceptions.
#include "gemmsmith/gemmsmith.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gemmsmith/gemm.h"
#include "gemmsmith/json.h"

extern "C" void run_c_program(char* error, size_t error_bytes);  // c_program.c

namespace gemmsmith {
namespace {

struct Close {
  void operator()(gs_device* x) const { gs_device_close(x); }
  void operator()(gs_gemm* x) const { gs_gemm_close(x); }
  void operator()(gs_store* x) const { gs_store_close(x); }
  void operator()(gs_dispatch* x) const { gs_dispatch_close(x); }
  void operator()(gs_cancel* x) const { gs_cancel_close(x); }
  void operator()(char* x) const { gs_string_free(x); }
};
template <class T>
using Owned = std::unique_ptr<T, Close>;

// A buffer that is never empty before a call, so that a call that writes nothing shows.
struct Text {
  char text[1024] = "not written";
  std::string str() const { return text; }
};

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    gs_device_options options = {sizeof options, 2, 1};
    gs_device* device = nullptr;
    if (gs_device_open("cpu", &options, &device, error_.text, sizeof error_.text) != GS_OK)
      GTEST_SKIP() << error_.str();
    EXPECT_EQ(error_.str(), "");
    device_.reset(device);
  }
  gs_device* device() { return device_.get(); }
  char* error() { return error_.text; }
  static constexpr size_t kErrorBytes = sizeof(Text::text);

  // A problem with the source that needs no compiling.
  Owned<gs_gemm> build(const char* problem) {
    gs_gemm* gemm = nullptr;
    EXPECT_EQ(gs_gemm_build(device(), problem, "reference", nullptr, &gemm, error(), kErrorBytes), GS_OK) << error();
    return Owned<gs_gemm>(gemm);
  }
  gs_tune_options quick() {
    static const char* const sources[] = {"native", "reference"};
    gs_tune_options options = {};
    options.size = sizeof options;
    options.budget_seconds = 0.05;
    options.sources = sources;
    options.source_count = 2;
    return options;
  }

  Text error_;
  Owned<gs_device> device_;
};

TEST(CApiErrors, an_unknown_device_lists_the_known) {
  Text error;
  gs_device* device = reinterpret_cast<gs_device*>(&error);
  EXPECT_EQ(gs_device_open("gpu", nullptr, &device, error.text, sizeof error.text), GS_ERROR);
  EXPECT_EQ(error.str(),
            "device: \"gpu\" is not a device of this build; known: cpu, cuda, sim:sm_90a; to compile only: sm_80, "
            "sm_89, sm_90a, sm_100a");
  EXPECT_EQ(device, nullptr);
}

TEST(CApiErrors, null_pointers_are_named) {
  Text error;
  gs_device* device = nullptr;
  EXPECT_EQ(gs_device_open("cpu", nullptr, nullptr, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_device_open: device is NULL");
  EXPECT_EQ(gs_device_open(nullptr, nullptr, &device, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_device_open: name is NULL");
  EXPECT_EQ(gs_problem_print(nullptr, nullptr, 0, nullptr, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_problem_print: problem is NULL");
  EXPECT_EQ(gs_store_open(":memory:", nullptr, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_store_open: store is NULL");
  EXPECT_EQ(gs_tune(nullptr, "1x1x1", nullptr, nullptr, nullptr, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_tune: device is NULL");
  EXPECT_EQ(gs_gemm_run(nullptr, nullptr, error.text, sizeof error.text), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_gemm_run: gemm is NULL");
  EXPECT_EQ(gs_cancel_open(nullptr), GS_INVALID_ARGUMENT);
  gs_device_close(nullptr);
  gs_store_close(nullptr);
  gs_gemm_close(nullptr);
  gs_cancel_close(nullptr);
  gs_string_free(nullptr);
}

TEST(CApiErrors, a_text_that_does_not_fit_is_cut_between_characters_at_every_length) {
  const char* problem = "1x1x1 dtype=\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // characters of 2, 3 and 4 bytes
  Text whole;
  ASSERT_EQ(gs_problem_print(problem, nullptr, 0, nullptr, whole.text, sizeof whole.text), GS_ERROR);
  ASSERT_NE(whole.str().find("\xf0\x9f\x98\x80"), std::string::npos) << whole.str();
  const std::string expected = whole.str();
  for (size_t bytes = 0; bytes <= expected.size() + 2; ++bytes) {
    std::vector<char> buffer(bytes + 8, '#');
    ASSERT_EQ(gs_problem_print(problem, nullptr, 0, nullptr, buffer.data(), bytes), GS_ERROR);
    EXPECT_EQ(std::string(buffer.begin() + long(bytes), buffer.end()), "########");  // nothing behind the end
    if (bytes == 0) continue;
    const std::string text = buffer.data();
    if (bytes > expected.size()) {
      EXPECT_EQ(text, expected);
      continue;
    }
    ASSERT_LT(text.size(), bytes);
    ASSERT_GE(text.size() + 4, bytes);  // cut for the character that does not fit, and no more
    if (bytes < 4) continue;
    ASSERT_EQ(text.substr(text.size() - 3), "...");
    const size_t kept = text.size() - 3;
    EXPECT_EQ(text.substr(0, kept), expected.substr(0, kept));
    EXPECT_NE(static_cast<unsigned char>(expected[kept]) & 0xc0, 0x80) << "inside a character, at " << bytes;
  }
  EXPECT_EQ(gs_problem_print(problem, nullptr, 0, nullptr, nullptr, 0), GS_ERROR);
  EXPECT_EQ(gs_problem_print(problem, nullptr, 0, nullptr, nullptr, 100), GS_ERROR);
}

TEST(CApiProblem, prints_what_the_library_prints) {
  const char* problem = "4x5x6 dtype=bf16 bias=f32 epilogue=gelu(acc + bias[n])";
  const std::string expected = GemmProblem::parse(problem).value().print();
  Text error;
  size_t length = 0;
  ASSERT_EQ(gs_problem_print(problem, nullptr, 0, &length, error.text, sizeof error.text), GS_OK);
  EXPECT_EQ(error.str(), "");
  EXPECT_EQ(length, expected.size());
  std::string text(length + 1, '#');
  ASSERT_EQ(gs_problem_print(problem, text.data(), length, &length, error.text, sizeof error.text),
            GS_BUFFER_TOO_SMALL);
  EXPECT_EQ(error.str(), "gs_problem_print: text_bytes = " + std::to_string(expected.size()) + " is less than " +
                             std::to_string(expected.size() + 1) + ", what the text and its zero take");
  EXPECT_EQ(length, expected.size());
  EXPECT_EQ(text, std::string(length + 1, '#'));
  ASSERT_EQ(gs_problem_print(problem, text.data(), length + 1, &length, error.text, sizeof error.text), GS_OK);
  EXPECT_STREQ(text.c_str(), expected.c_str());
}

TEST(CApiProblem, errors_are_those_of_the_library) {
  for (const char* problem : {"", "1x2", "1x1x1 dtype=f8", "-1x2x3", "1x1x1 epilogue=acc +"}) {
    Text error;
    EXPECT_EQ(gs_problem_print(problem, nullptr, 0, nullptr, error.text, sizeof error.text), GS_ERROR) << problem;
    EXPECT_EQ(error.str(), GemmProblem::parse(problem).error().text());
  }
}

TEST(CApiVersions, are_the_headers) {
  EXPECT_STREQ(gs_version(), GEMMSMITH_VERSION);
  EXPECT_EQ(gs_abi_version(), GS_ABI_VERSION);
}

TEST(CApiVersions, a_struct_of_an_older_header_has_the_defaults_and_one_of_a_newer_may_not_ask_for_more) {
  Text error;
  gs_device* device = nullptr;
  struct Newer {
    gs_device_options known;
    int32_t added[2];
  } newer = {{sizeof newer, -1, 1}, {0, 0}};  // -1 threads: the error after that of the size
  const auto open = [&](size_t size) {
    newer.known.size = size;
    return gs_device_open("cpu", &newer.known, &device, error.text, sizeof error.text);
  };
  EXPECT_EQ(open(sizeof newer), GS_ERROR);
  EXPECT_EQ(error.str().substr(0, 12), "threads: -1 ") << error.str();
  newer.added[1] = 1;
  EXPECT_EQ(open(sizeof newer), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error.str(), "gs_device_open: byte " + std::to_string(offsetof(Newer, added) + 4) +
                             " of options is of a field that gemmsmith " GEMMSMITH_VERSION
                             " does not have; leave it zero, or use a newer library");
  for (const size_t size : {size_t(0), size_t(1), sizeof newer - 1, size_t(1) << 40}) {
    EXPECT_EQ(open(size), GS_INVALID_ARGUMENT);
    EXPECT_EQ(error.str(), "gs_device_open: options.size = " + std::to_string(size) +
                               " is the size of no version of it; set it to sizeof *options");
  }
  // Without the field, the wrong number of threads is not seen.
  if (open(sizeof(size_t)) == GS_OK) gs_device_close(device);
  EXPECT_EQ(error.str().find("threads"), std::string::npos) << error.str();
}

TEST_F(CApi, a_tuned_kernel_multiplies_and_outlives_its_device_and_store) {
  gs_store* opened = nullptr;
  ASSERT_EQ(gs_store_open(":memory:", &opened, error(), kErrorBytes), GS_OK) << error();
  Owned<gs_store> store(opened);
  const gs_tune_options options = quick();
  gs_gemm* created = nullptr;
  const char* problem = "3x5x4 dtype=f32 beta=1 bias=f32 epilogue=relu(acc + bias[n]) * scale";
  ASSERT_EQ(gs_gemm_create(device(), problem, &options, store.get(), &created, error(), kErrorBytes), GS_OK) << error();
  const Owned<gs_gemm> gemm(created);
  char* json = nullptr;
  ASSERT_EQ(gs_tune(device(), problem, &options, store.get(), &json, error(), kErrorBytes), GS_OK) << error();
  const Owned<char> owned(json);
  const auto report = report_from_json(json);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->from_store);
  EXPECT_EQ(report->best()->source, gs_gemm_source(gemm.get()));
  EXPECT_EQ(report->best()->config, gs_gemm_config(gemm.get()));
  gs_device_release_memory(device());

  device_.reset();
  store.reset();
  float a[12], b[20], c[15], bias[5], d[15];
  for (int i = 0; i < 12; ++i) a[i] = float(i) - 5;
  for (int i = 0; i < 20; ++i) b[i] = float(i % 7) - 3;
  for (int i = 0; i < 15; ++i) c[i] = float(i % 4);
  for (int i = 0; i < 5; ++i) bias[i] = float(i);
  const float scale = 2;
  const void* inputs[] = {bias, &scale};
  const gs_gemm_arguments arguments = {sizeof arguments, a, b, c, d, inputs, 2};
  ASSERT_EQ(gs_gemm_run(gemm.get(), &arguments, error(), kErrorBytes), GS_OK) << error();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      float sum = c[i * 5 + j] + bias[j];
      for (int k = 0; k < 4; ++k) sum += a[i * 4 + k] * b[k * 5 + j];
      EXPECT_EQ(d[i * 5 + j], std::max(sum, 0.0f) * 2) << i << "," << j;
    }
}

TEST_F(CApi, pointers_that_the_problem_needs_are_asked_for_and_no_others) {
  const float one[4] = {1, 1, 1, 1};
  float d[4] = {};
  const void* bias[] = {one};
  const void* none[] = {nullptr};
  const auto run = [&](const char* problem, gs_gemm_arguments arguments) {
    arguments.size = sizeof arguments;
    const Owned<gs_gemm> gemm = build(problem);
    return gs_gemm_run(gemm.get(), &arguments, error(), kErrorBytes);
  };
  const auto refused = [&](const char* problem, const gs_gemm_arguments& arguments, const std::string& name) {
    EXPECT_EQ(run(problem, arguments), GS_INVALID_ARGUMENT) << problem;
    EXPECT_EQ(error_.str(), "gs_gemm_run: arguments." + name + " is NULL; \"" +
                                GemmProblem::parse(problem).value().print() + "\" needs it");
  };
  refused("2x2x2", {0, nullptr, one, nullptr, d, nullptr, 0}, "a");
  refused("2x2x2", {0, one, nullptr, nullptr, d, nullptr, 0}, "b");
  refused("2x2x2 beta=2", {0, one, one, nullptr, d, nullptr, 0}, "c");
  refused("2x2x2", {0, one, one, one, nullptr, nullptr, 0}, "d");
  refused("2x2x2 epilogue=acc + bias[n]", {0, one, one, one, d, none, 1}, "inputs[0], bias,");
  EXPECT_EQ(run("2x2x2 alpha=0", {0, nullptr, nullptr, nullptr, d, nullptr, 0}), GS_OK) << error();
  EXPECT_EQ(run("2x2x0", {0, nullptr, nullptr, nullptr, d, nullptr, 0}), GS_OK) << error();
  EXPECT_EQ(run("0x2x2 beta=1", {0, nullptr, nullptr, nullptr, nullptr, nullptr, 0}), GS_OK) << error();
  EXPECT_EQ(run("2x2x2 epilogue=acc + bias[n]", {0, one, one, nullptr, d, bias, 1}), GS_OK) << error();
  EXPECT_EQ(d[0], 3);

  EXPECT_EQ(run("2x2x2 epilogue=acc + bias[n]", {0, one, one, nullptr, d, nullptr, 0}), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error_.str(),
            "gs_gemm_run: arguments has 0 inputs where the epilogue acc + bias[n] has 1; one pointer for each, in the "
            "order of their first use");
  EXPECT_EQ(run("2x2x2", {0, one, one, nullptr, d, bias, 1}), GS_INVALID_ARGUMENT);
  EXPECT_EQ(error_.str(),
            "gs_gemm_run: arguments has 1 inputs where the epilogue acc has 0; one pointer for each, in the order of "
            "their first use");
}

TEST_F(CApi, options_that_make_no_sense_are_refused) {
  const auto refused = [&](const gs_tune_options& options, gs_status status, const std::string& text) {
    char* json = error();
    EXPECT_EQ(gs_tune(device(), "1x1x1", &options, nullptr, &json, error(), kErrorBytes), status);
    EXPECT_EQ(error_.str(), text);
    EXPECT_EQ(json, nullptr);
  };
  for (const double budget : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    gs_tune_options options = quick();
    options.budget_seconds = budget;
    refused(options, GS_INVALID_ARGUMENT,
            std::string("gs_tune: options.budget_seconds = ") +
                (budget < 0   ? "-1"
                 : budget > 0 ? "inf"
                              : "nan") +
                " is not a time; give seconds, or 0 for the default");
  }
  gs_tune_options options = quick();
  options.max_memory_bytes = -1;
  refused(options, GS_INVALID_ARGUMENT,
          "gs_tune: options.max_memory_bytes = -1 is negative; give bytes, or 0 for the default");
  options = quick();
  options.reserved = 7;
  refused(options, GS_INVALID_ARGUMENT, "gs_tune: options.reserved = 7 is not 0; begin with = {sizeof options}");
  options = quick();
  options.sources = nullptr;
  refused(options, GS_INVALID_ARGUMENT, "gs_tune: options.sources is NULL, with a source_count of 2");
  const char* const sources[] = {"reference", nullptr, "magic"};
  options.sources = sources;
  refused(options, GS_INVALID_ARGUMENT, "gs_tune: options.sources[1] is NULL");
  options.sources = sources + 2;
  options.source_count = 1;
  refused(options, GS_ERROR, "sources: \"magic\" is not a source; known: native, openblas, onednn, reference");
}

TEST_F(CApi, progress_is_called_with_the_users_pointer_and_cancel_ends_the_tuning) {
  struct User {
    gs_cancel* cancel;
    int calls = 0;
  } user = {};
  gs_cancel* cancel = nullptr;
  ASSERT_EQ(gs_cancel_open(&cancel), GS_OK);
  const Owned<gs_cancel> owned(cancel);
  user.cancel = cancel;
  gs_tune_options options = quick();
  options.budget_seconds = 3600;  // only the flag can end it
  options.cancel = cancel;
  options.user = &user;
  options.progress = [](const gs_tune_progress* progress, void* pointer) {
    User& user = *static_cast<User*>(pointer);
    ++user.calls;
    EXPECT_EQ(progress->size, sizeof *progress);
    EXPECT_EQ(progress->budget_seconds, 3600);
    EXPECT_TRUE(progress->phase && progress->best);
    if (progress->measured > 0) gs_cancel_set(user.cancel);
  };
  char* json = nullptr;
  ASSERT_EQ(gs_tune(device(), "64x64x64", &options, nullptr, &json, error(), kErrorBytes), GS_OK) << error();
  const Owned<char> text(json);
  EXPECT_GT(user.calls, 0);
  const auto report = report_from_json(json);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->interrupted);
}

TEST_F(CApi, an_exception_of_a_callback_stops_at_the_boundary) {
  gs_tune_options options = quick();
  options.progress = [](const gs_tune_progress*, void*) { throw std::runtime_error("of the callback"); };
  EXPECT_EQ(gs_tune(device(), "8x8x8", &options, nullptr, nullptr, error(), kErrorBytes), GS_INTERNAL);
  EXPECT_EQ(error_.str(), "gs_tune: an exception came out of a callback or of a bug of gemmsmith: of the callback");
  options.progress = [](const gs_tune_progress*, void*) { throw 1; };
  EXPECT_EQ(gs_tune(device(), "8x8x8", &options, nullptr, nullptr, error(), kErrorBytes), GS_INTERNAL);
  EXPECT_EQ(error_.str(), "gs_tune: an exception came out of a callback or of a bug of gemmsmith");
  options.progress = [](const gs_tune_progress*, void*) { throw std::bad_alloc(); };
  EXPECT_EQ(gs_tune(device(), "8x8x8", &options, nullptr, nullptr, error(), kErrorBytes), GS_OUT_OF_MEMORY);
  EXPECT_EQ(error_.str(), "gs_tune: out of memory");
  options.progress = nullptr;
  EXPECT_EQ(gs_tune(device(), "8x8x8", &options, nullptr, nullptr, error(), kErrorBytes), GS_OK) << error();
}

TEST_F(CApi, a_store_that_cannot_be_opened_says_why) {
  gs_store* store = reinterpret_cast<gs_store*>(this);
  EXPECT_EQ(gs_store_open("/dev/null/store.sqlite", &store, error(), kErrorBytes), GS_ERROR);
  EXPECT_EQ(error_.str(), Store::open("/dev/null/store.sqlite").error().text());
  EXPECT_EQ(store, nullptr);
}

TEST_F(CApi, a_program_in_c_dispatches_emits_and_reads_facts) {
  run_c_program(error(), kErrorBytes);
  EXPECT_STREQ(error(), "");
}

TEST_F(CApi, facts_are_the_devices_in_a_struct_of_any_version) {
  const DeviceFacts facts = Device::open("cpu", {.threads = 2, .measure_peaks = false}).value().facts();
  gs_device_facts all = {};
  all.size = sizeof all;
  ASSERT_EQ(gs_device_get_facts(device(), &all, error(), kErrorBytes), GS_OK) << error();
  EXPECT_EQ(all.fingerprint, facts.fingerprint());
  EXPECT_EQ(all.model, facts.model);
  EXPECT_EQ(all.threads, 2);
  EXPECT_EQ(all.vector_bytes, facts.vector_bytes);
  EXPECT_EQ(all.last_level_bytes, facts.last_level_bytes);
  EXPECT_EQ(all.peak_f32_gflops, 0) << "not measured";
  for (const std::string& feature : facts.features)
    EXPECT_NE((" " + std::string(all.features) + " ").find(" " + feature + " "), std::string::npos);

  // An older caller's struct ends before the caches; what is behind it is not touched.
  gs_device_facts old = {};
  std::memset(static_cast<void*>(&old), 0x55, sizeof old);
  old.size = offsetof(gs_device_facts, l1_bytes);
  ASSERT_EQ(gs_device_get_facts(device(), &old, error(), kErrorBytes), GS_OK) << error();
  EXPECT_EQ(old.cores, facts.cores);
  EXPECT_EQ(old.l1_bytes, 0x5555555555555555);
  // A newer caller's has fields that this library does not know: they are zero.
  struct Newer {
    gs_device_facts known;
    int64_t more;
  } newer;
  std::memset(static_cast<void*>(&newer), 0x55, sizeof newer);
  newer.known.size = sizeof newer;
  ASSERT_EQ(gs_device_get_facts(device(), &newer.known, error(), kErrorBytes), GS_OK) << error();
  EXPECT_EQ(newer.known.size, sizeof newer);
  EXPECT_EQ(newer.more, 0);

  gs_device_facts unset = {};
  EXPECT_EQ(gs_device_get_facts(device(), &unset, error(), kErrorBytes), GS_INVALID_ARGUMENT);
  EXPECT_STREQ(error(), "gs_device_get_facts: facts.size = 0 is the size of no version of it; set it to sizeof *facts");
  char* sources = nullptr;
  ASSERT_EQ(gs_device_sources(device(), &sources, error(), kErrorBytes), GS_OK) << error();
  EXPECT_NE(std::string(sources).find("\"native\""), std::string::npos);
  gs_string_free(sources);
}

TEST_F(CApi, stages_of_a_kernel_are_those_of_the_library) {
  char* content = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(gs_emit(device(), "8x16x4 dtype=f32", nullptr, "mlir", &content, &bytes, error(), kErrorBytes), GS_OK)
      << error();
  EXPECT_EQ(std::strlen(content), bytes);
  EXPECT_NE(std::string(content).find("llvm.func"), std::string::npos);
  gs_string_free(content);
  ASSERT_EQ(gs_emit(device(), "8x16x4 dtype=f32", nullptr, "object", &content, nullptr, error(), kErrorBytes), GS_OK)
      << error();
  EXPECT_EQ(std::string(content, 4),
            "\x7f"
            "ELF");
  gs_string_free(content);
  EXPECT_EQ(gs_emit(device(), "8x16x4 dtype=f32", "gemm_packed mr=99", "asm", &content, &bytes, error(), kErrorBytes),
            GS_ERROR);
  EXPECT_EQ(std::string(error()).substr(0, 9), "--config:");
  EXPECT_EQ(content, nullptr);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(CApi, a_range_of_m_is_checked) {
  gs_dispatch* made = nullptr;
  gs_dispatch_options options = {};
  options.size = sizeof options;
  options.min_m = 9;
  EXPECT_EQ(gs_dispatch_create(device(), "8x16x4", &options, nullptr, &made, error(), kErrorBytes), GS_ERROR);
  EXPECT_STREQ(error(), "dispatch: min_m = 9 is not from 1 to 8, the m of the problem");
  EXPECT_EQ(made, nullptr);
  options.min_m = 2;
  const gs_tune_options tune = quick();
  options.tune = &tune;
  ASSERT_EQ(gs_dispatch_create(device(), "8x16x4", &options, nullptr, &made, error(), kErrorBytes), GS_OK) << error();
  const Owned<gs_dispatch> dispatch(made);
  EXPECT_EQ(gs_dispatch_prepare(made, 1, error(), kErrorBytes), GS_ERROR);
  gs_gemm_arguments arguments = {};
  arguments.size = sizeof arguments;
  EXPECT_EQ(gs_dispatch_run(made, 2, &arguments, error(), kErrorBytes), GS_INVALID_ARGUMENT);
  EXPECT_STREQ(error(), "gs_dispatch_run: arguments.a is NULL; \"8x16x4 dtype=f32\" needs it")
      << "nothing was tuned for it";
  char* table = nullptr;
  ASSERT_EQ(gs_dispatch_table(made, &table, error(), kErrorBytes), GS_OK);
  EXPECT_STREQ(table, "[]");
  gs_string_free(table);
}

}  // namespace
}  // namespace gemmsmith
