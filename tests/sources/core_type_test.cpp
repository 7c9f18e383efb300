#include "sources/openblas/core_type.h"

#include <gtest/gtest.h>

#include "sources/openblas/openblas_source.h"
#include "sources/sources_under_test.h"
#include "support/environment.h"

namespace gemmsmith::openblas {
namespace {

DeviceFacts cpu_with(std::vector<std::string> features, std::string vendor = "GenuineIntel") {
  DeviceFacts facts;
  facts.kind = "cpu";
  facts.vendor = std::move(vendor);
  facts.features = std::move(features);
  return facts;
}
const std::vector<std::string> kAvx2 = {"avx", "avx2", "fma"};
const std::vector<std::string> kAvx512 = {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"};
std::vector<std::string> plus(std::vector<std::string> features, std::vector<std::string> more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

TEST(CoreType, suits_the_features) {
  EXPECT_EQ(suitable_core_type(cpu_with({})), std::nullopt);
  EXPECT_EQ(suitable_core_type(cpu_with({"avx"})), std::nullopt);
  EXPECT_EQ(suitable_core_type(cpu_with({"avx", "avx2"})), std::nullopt) << "without FMA";
  EXPECT_EQ(suitable_core_type(cpu_with(kAvx2)), "Haswell");
  EXPECT_EQ(suitable_core_type(cpu_with(kAvx2, "AuthenticAMD")), "Zen");
  EXPECT_EQ(suitable_core_type(cpu_with(plus(kAvx2, {"avx512f"}))), "Haswell")
      << "AVX-512 F alone, as on Knights Landing";
  EXPECT_EQ(suitable_core_type(cpu_with(kAvx512, "AuthenticAMD")), "SkylakeX");
  EXPECT_EQ(suitable_core_type(cpu_with(plus(kAvx512, {"avx512_bf16"}))), "Cooperlake");
  EXPECT_EQ(suitable_core_type(cpu_with(plus(kAvx512, {"avx512_bf16", "amx_bf16"}))), "SapphireRapids");
}

// A suitable type is never refused, on any CPU.
TEST(CoreType, accepts_what_it_chooses) {
  for (const auto& features :
       {kAvx2, kAvx512, plus(kAvx512, {"avx512_bf16"}), plus(kAvx512, {"avx512_bf16", "amx_bf16"})})
    for (const char* vendor : {"GenuineIntel", "AuthenticAMD"}) {
      const DeviceFacts cpu = cpu_with(features, vendor);
      const std::string core = suitable_core_type(cpu).value();
      EXPECT_EQ(instruction_set_of_core(core), instruction_set_of(cpu)) << core;
      EXPECT_TRUE(judge({core, {}, {}, false}, cpu)) << core;
      EXPECT_TRUE(judge({core, {}, core, false}, cpu)) << core;
      EXPECT_TRUE(judge({core, core, "Prescott", false}, cpu)) << core;
    }
}

TEST(CoreType, refuses_kernels_below_the_cpu) {
  EXPECT_EQ(
      judge({"Prescott", {}, {}, false}, cpu_with(kAvx512)).reason,
      "detected core type Prescott has SSE kernels, but the CPU has AVX-512 (avx512f avx512bw avx512dq avx512vl); "
      "set OPENBLAS_CORETYPE=SkylakeX");
  EXPECT_EQ(judge({"Haswell", {}, "Haswell", false}, cpu_with(plus(kAvx512, {"avx512_bf16"}))).reason,
            "OPENBLAS_CORETYPE=Haswell in the environment: core type Haswell has AVX2 kernels, but the CPU has AVX-512 "
            "(avx512f avx512bw avx512dq avx512vl); unset it or set OPENBLAS_CORETYPE=Cooperlake");
  EXPECT_EQ(
      judge({"Sandybridge", {}, {}, false}, cpu_with(kAvx2, "AuthenticAMD")).reason,
      "detected core type Sandybridge has AVX kernels, but the CPU has AVX2 (avx2 fma); set OPENBLAS_CORETYPE=Zen");
  EXPECT_TRUE(judge({"Prescott", {}, {}, true}, cpu_with(kAvx512))) << "allowed for tests of correctness";
  EXPECT_TRUE(judge({"Prescott", {}, {}, false}, cpu_with({})));
}

TEST(CoreType, trusts_names_that_are_newer_than_this_list) {
  EXPECT_TRUE(judge({"Zen9", {}, {}, false}, cpu_with(kAvx512)));
}

TEST(CoreType, refuses_a_request_that_was_not_met) {
  EXPECT_EQ(judge({"Haswell", "SkylakeX", {}, false}, cpu_with(kAvx512)).reason,
            "core type SkylakeX was asked for, but the library runs as Haswell: it does not have that type, or it was "
            "loaded earlier "
            "in this process");
  EXPECT_TRUE(judge({"Haswell", "haswell", {}, false}, cpu_with(kAvx512))) << "who asks for slow kernels gets them";
  EXPECT_TRUE(judge({"Cooperlake", "SapphireRapids", {}, false}, cpu_with(kAvx512)))
      << "the next lower one of the same set";
}

TEST(OpenBlasSource, refuses_when_the_library_is_missing) {
  OpenBlasOptions options;
  options.library_names = {"libopenblas-of-nowhere.so.7"};
  const auto source = make_openblas_source(device_under_test(), options);
  EXPECT_EQ(source->version(), "not found");
  const Supports answer = source->supports(make_problem(8, 8, 8, DataType::f32), device_under_test());
  EXPECT_FALSE(answer);
  EXPECT_EQ(answer.reason,
            "libopenblas-of-nowhere.so.7: cannot be opened; Debian's package is libopenblas0-pthread; tried "
            "libopenblas-of-nowhere.so.7: libopenblas-of-nowhere.so.7: cannot open shared object file: No such file or "
            "directory");
}

TEST(OpenBlasSource, leaves_the_environment_as_it_was) {
  const char* const names[] = {"OPENBLAS_CORETYPE", "OPENBLAS_THREAD_TIMEOUT"};
  std::optional<std::string> before[2];
  for (int i = 0; i < 2; ++i) before[i] = environment_variable(names[i]);
  make_openblas_source(device_under_test());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(environment_variable(names[i]), before[i]) << names[i];
}

TEST(OpenBlasSource, shows_its_core_type_and_judges_it) {
  const auto source = make_openblas_source(device_under_test());
  if (source->version() == "not found") GTEST_SKIP() << "OpenBLAS is not installed";
  const auto space = source->version().find(' ');
  ASSERT_NE(space, std::string::npos) << source->version();
  const std::string core = source->version().substr(space + 1);
  const auto set = instruction_set_of_core(core);
  const Supports answer = source->supports(make_problem(8, 8, 8, DataType::f32), device_under_test());
  EXPECT_EQ(bool(answer), !set || *set >= instruction_set_of(device_under_test())) << core << ": " << answer.reason;
}

}  // namespace
}  // namespace gemmsmith::openblas
