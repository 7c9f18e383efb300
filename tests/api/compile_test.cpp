// Kernels for a device that is not there: stages of one, and folders of many.
#include "gemmsmith/compile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

GemmProblem problem(const char* text) { return GemmProblem::parse(text).value(); }

Device gpu(const char* arch = "sm_90a") {
  DeviceOptions options;
  options.kernel_cache = "none";
  return Device::open(arch, options).value();
}

// Small, so that the tests are quick.
constexpr const char* kConfig = "gemm_warp_specialized block_m=64 block_n=64 num_stages=2 num_consumers=1";

TEST(EmitForAGpu, HasItsStages) {
  const Device device = gpu();
  const std::pair<const char*, const char*> expected[] = {
      {"mlir", "hw.wgmma_block"}, {"llvm", "define ptx_kernel void @gemm_warp_specialized"}, {"ptx", ".target sm_90a"}};
  for (const auto& [stage, text] : expected) {
    const auto emitted = emit(device, problem("512x512x512 dtype=bf16 b=col"), kConfig, stage);
    ASSERT_TRUE(emitted.ok()) << emitted.error().text();
    EXPECT_NE(emitted->content.find(text), std::string::npos) << stage;
    EXPECT_EQ(emitted->stage, stage);
  }
}

TEST(EmitForAGpu, WithoutAConfigurationItIsTheFirstGuess) {
  const auto emitted = emit(gpu(), problem("4096x4096x4096 dtype=bf16 b=col"), "", "ptx");
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  EXPECT_TRUE(emitted->config.starts_with("gemm_")) << emitted->config;
}

TEST(EmitForAGpu, UnknownStagesAreNamedWithTheKnown) {
  const auto refused = emit(gpu(), problem("512x512x512 dtype=bf16 b=col"), kConfig, "asm");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().text().starts_with(
      "--stage: \"asm\" is not a stage of a kernel for the device \"sm_90a\"; known: "))
      << refused.error().text();
}

TEST(EmitForAGpu, ArchitecturesWithoutATemplateSayWhichIsMissing) {
  const std::string text = problem("512x512x512 dtype=bf16 b=col").print();
  EXPECT_EQ(
      emit(gpu("sm_80"), problem("512x512x512 dtype=bf16 b=col"), "", "ptx").error().text(),
      "device sm_80: " + text + " has no template: a GEMM on cp.async and mma.sync is missing; sm_90a has templates");
  EXPECT_EQ(emit(gpu("sm_100a"), problem("512x512x512 dtype=bf16 b=col"), "", "ptx").error().text(),
            "device sm_100a: " + text +
                " has no template: a GEMM on tcgen05 and tensor memory is missing; sm_90a has templates");
}

class FolderOfKernels : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "gemmsmith-compile-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { fs::remove_all(folder_); }
  CompileFolderReport compile(const std::vector<const char*>& texts, const CompileFolderOptions& options = {}) {
    std::vector<GemmProblem> problems;
    for (const char* text : texts) problems.push_back(problem(text));
    auto report = compile_folder(gpu(), problems, folder_, options);
    EXPECT_TRUE(report.ok()) << report.error().text();
    return report.ok() ? *report : CompileFolderReport{};
  }
  json index() const {
    std::ifstream file(folder_ + "/index.json");
    return json::parse(file);
  }
  std::string folder_;
};

TEST_F(FolderOfKernels, HasAnIndexThatSaysHowToCallThem) {
  const CompileFolderReport report =
      compile({"4096x4096x4096 dtype=bf16 b=col", "8192x4096x4096 dtype=bf16 b=col", "64x64x64 dtype=f32"});
  ASSERT_FALSE(report.kernels.empty());
  ASSERT_EQ(report.unserved.size(), 1u) << "no tensor core multiplies f32 exactly";
  EXPECT_NE(report.unserved[0].second.find("f32"), std::string::npos) << report.unserved[0].second;
  EXPECT_FALSE(report.cancelled);
  const json document = index();
  EXPECT_EQ(document["form"], 1);
  EXPECT_EQ(document["device"], "sm_90a");
  ASSERT_EQ(document["kernels"].size(), report.kernels.size());
  for (size_t i = 0; i < report.kernels.size(); ++i) {
    const FolderKernel& kernel = report.kernels[i];
    EXPECT_EQ(kernel.refused, "");
    EXPECT_FALSE(kernel.kept);
    const json& entry = document["kernels"][i];
    EXPECT_EQ(entry["config"], kernel.config);
    EXPECT_EQ(entry["file"], kernel.file);
    EXPECT_EQ(entry["bytes"], fs::file_size(folder_ + "/" + kernel.file));
    EXPECT_NE(entry["key"].get<std::string>().find("cuda sm_90a"), std::string::npos);
    const json& launch = entry["signature"]["launch"];
    EXPECT_GE(launch["threads"], 128);
    EXPECT_GT(launch["shared_bytes"], 0);
    EXPECT_FALSE(entry["signature"]["tensor_maps"].empty());
    EXPECT_EQ(entry["signature"]["tensor_maps"][0]["operand"], "a");
    EXPECT_EQ(entry["signature"]["tensor_maps"][0]["type"], "bf16");
  }
}

TEST_F(FolderOfKernels, KeepsWhatIsThere) {
  const std::vector<const char*> problems = {"4096x4096x4096 dtype=bf16 b=col"};
  const CompileFolderReport first = compile(problems, {.top = 2});
  ASSERT_EQ(first.kernels.size(), 2u);
  const json before = index();
  const CompileFolderReport second = compile(problems, {.top = 2, .threads = 1});
  for (const FolderKernel& kernel : second.kernels) EXPECT_TRUE(kernel.kept) << kernel.config;
  EXPECT_EQ(index(), before);

  // A damaged file is made again, and other problems leave it alone.
  std::ofstream(folder_ + "/" + first.kernels[0].file) << "damaged";
  const CompileFolderReport third = compile(problems, {.top = 2});
  EXPECT_FALSE(third.kernels[0].kept);
  EXPECT_TRUE(third.kernels[1].kept);
  EXPECT_EQ(index(), before) << "the same code again";
  compile({"4096x4096x4096 dtype=f16 b=col"});
  EXPECT_EQ(index()["kernels"].size(), 3u);
}

TEST_F(FolderOfKernels, CancellingKeepsWhatIsDone) {
  std::atomic<bool> cancel{false};
  CompileFolderOptions options;
  options.top = 6;
  options.threads = 1;
  options.cancel = &cancel;
  size_t calls = 0;
  options.progress = [&](size_t done, size_t total, const FolderKernel& kernel) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 6u);
    EXPECT_NE(kernel.config, "");
    cancel = done == 2;
  };
  const CompileFolderReport report = compile({"4096x4096x4096 dtype=bf16 b=col"}, options);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(index()["kernels"].size(), 2u);
}

TEST_F(FolderOfKernels, OptionsAndFoldersThatMakeNoSense) {
  const std::vector<GemmProblem> problems = {problem("4096x4096x4096 dtype=bf16 b=col")};
  EXPECT_EQ(compile_folder(gpu(), problems, folder_, {.top = 0}).error().text(), "top: 0 is not 1 to 1000");
  EXPECT_EQ(compile_folder(gpu(), problems, folder_, {.threads = -1}).error().text(), "threads: -1 is not 0 to 4096");
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_FALSE(compile_folder(gpu(), problems, folder_ + "/file/kernels").ok());
}

}  // namespace
}  // namespace gemmsmith
