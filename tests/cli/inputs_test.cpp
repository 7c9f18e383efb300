#include "inputs.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

namespace gemmsmith::cli {
namespace {

using Words = std::vector<std::string>;
constexpr auto kProblem = Word::Kind::problem;
constexpr auto kModel = Word::Kind::model;
constexpr auto kShapes = Word::Kind::shapes;

// A file that is gone when the test is over.
struct TemporaryFile {
  TemporaryFile(const std::string& name, const std::string& content)
      : folder(std::filesystem::path(testing::TempDir()) / ("gemmsmith_inputs_" + std::to_string(getpid()))),
        path(folder / name) {
    std::filesystem::create_directories(folder);
    EXPECT_TRUE(write_file(path.string(), content).ok());
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder, path;
};

TEST(GroupWords, JoinsWordsIntoOneProblem) {
  EXPECT_EQ(group_words({"m=128", "n=4096", "k=1024", "dtype=bf16"}),
            (std::vector<Word>{{kProblem, "m=128 n=4096 k=1024 dtype=bf16"}}));
  EXPECT_EQ(group_words({"128x4096x1024", "dtype=bf16", "epilogue=gelu(acc", "+", "bias[n])"}),
            (std::vector<Word>{{kProblem, "128x4096x1024 dtype=bf16 epilogue=gelu(acc + bias[n])"}}));
}

TEST(GroupWords, AnEpilogueMayComeFirst) {
  EXPECT_EQ(group_words({"epilogue=gelu(acc", "+", "bias[n])", "8x8x8", "dtype=f32", "4x4x4", "epilogue=acc", "/", "x",
                         "x=f32", "m/gpt2", "b/c"}),
            (std::vector<Word>{{kProblem, "epilogue=gelu(acc + bias[n]) 8x8x8 dtype=f32"},
                               {kProblem, "4x4x4 epilogue=acc / x x=f32"},
                               {kModel, "m/gpt2"},
                               {kModel, "b/c"}}));
  EXPECT_EQ(group_words({"m=1 epilogue=acc n=2 k=3", "m=4"}),
            (std::vector<Word>{{kProblem, "m=1 epilogue=acc n=2 k=3"}, {kProblem, "m=4"}}));
  EXPECT_EQ(group_words({"8x8x8", "epilogue=where(acc<=x,", "acc==y,", "1)", "a/b"}),
            (std::vector<Word>{{kProblem, "8x8x8 epilogue=where(acc<=x, acc==y, 1) a/b"}}));
}

TEST(GroupWords, AnExtentThatIsGivenAgainStartsTheNextProblem) {
  EXPECT_EQ(group_words({"8x8x8", "dtype=f32", "2x16x16x16", "4x4x4"}),
            (std::vector<Word>{{kProblem, "8x8x8 dtype=f32"}, {kProblem, "2x16x16x16"}, {kProblem, "4x4x4"}}));
  EXPECT_EQ(group_words({"n=1", "m=2", "k=3", "n=4", "k=5", "m=6", "batch=7"}),
            (std::vector<Word>{{kProblem, "n=1 m=2 k=3"}, {kProblem, "n=4 k=5 m=6 batch=7"}}));
  EXPECT_EQ(group_words({"8x8x8 dtype=f32", "m=1 n=2 k=3 epilogue=acc + c[m,n]", "4x4x4"}),
            (std::vector<Word>{
                {kProblem, "8x8x8 dtype=f32"}, {kProblem, "m=1 n=2 k=3 epilogue=acc + c[m,n]"}, {kProblem, "4x4x4"}}));
  EXPECT_EQ(group_words({"8x8x8", "batch=2", "batch=3"}),
            (std::vector<Word>{{kProblem, "8x8x8 batch=2"}, {kProblem, "batch=3"}}));
}

TEST(GroupWords, TellsFilesFromProblems) {
  EXPECT_EQ(
      group_words({"a.json", "8x8x8", "b/c.csv", "dtype=f32"}),
      (std::vector<Word>{{kModel, "a.json"}, {kProblem, "8x8x8"}, {kShapes, "b/c.csv"}, {kProblem, "dtype=f32"}}));
  EXPECT_EQ(group_words({"models/qwen"}), (std::vector<Word>{{kModel, "models/qwen"}}));
  EXPECT_EQ(group_words({"8x8x8", "epilogue=acc", "/", "2"}),
            (std::vector<Word>{{kProblem, "8x8x8 epilogue=acc / 2"}}));
  EXPECT_EQ(group_words({}), std::vector<Word>());
}

TEST(ReadFile, GivesEveryByte) {
  for (const std::string& content : {std::string(), std::string("a\r\n\0b", 5), std::string(100000, 'x')}) {
    const TemporaryFile file("data", content);
    EXPECT_EQ(read_file(file.path.string()).value(), content);
  }
}

TEST(ReadFile, NamesWhatIsNear) {
  const TemporaryFile file("qwen3-0.6b.json", "{}");
  const std::string wrong = (file.folder / "qwen3-0.6.json").string();
  EXPECT_EQ(read_file(wrong).error().text(), wrong + ": the file does not exist; near it: qwen3-0.6b.json");
  const std::string far = (file.folder / "x").string();
  EXPECT_EQ(read_file(far).error().text(), far + ": the file does not exist");
  EXPECT_EQ(read_file(file.folder.string()).error().text(),
            file.folder.string() + ": the path is a folder; give a file in it");
}

TEST(ReadWork, MergesEqualProblemsAndRanksThemByWork) {
  const TemporaryFile file("shapes.csv", "name,m,n,k\nbig,64,64,64\nsmall,8,8,8\nagain,64,64,64\n");
  const Work work = read_work({file.path.string(), "8x8x8 dtype=bf16 b=col", "16x16x16"}, {}).value();
  ASSERT_EQ(work.items.size(), 5u);
  ASSERT_EQ(work.distinct.size(), 3u);
  for (size_t i = 1; i < work.distinct.size(); ++i) EXPECT_LE(work.distinct[i - 1].flops(), work.distinct[i].flops());
  for (const WorkItem& item : work.items) EXPECT_EQ(work.distinct[item.index], item.named.problem);
  EXPECT_EQ(work.items[0].index, work.items[2].index);
  EXPECT_EQ(work.items[1].index, work.items[3].index);
  ASSERT_EQ(work.groups.size(), 1u);
  EXPECT_EQ(work.groups[0].name, "shapes");
  EXPECT_EQ(work.items[4].group, -1);
}

TEST(ReadWork, TakesAModelAtEachNumberOfTokens) {
  const std::string model = GEMMSMITH_SOURCE_DIR "/models/qwen3-0.6b.json";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << model << " is not there";
  const Work work = read_work({model}, "1,16,128").value();
  ASSERT_EQ(work.groups.size(), 3u);
  EXPECT_EQ(work.groups[2].tokens, 128);
  for (const WorkItem& item : work.items) EXPECT_FALSE(item.named.name.empty());
  EXPECT_EQ(read_work({model}, {}).value().groups.size(), 2u);
}

TEST(ReadWork, SaysWhereAnErrorIs) {
  EXPECT_EQ(read_work({"8x8x8"}, "1").error().text(),
            "--tokens: 1 is for model configurations, and none is given; name a config.json, or leave --tokens out");
  const Error bad = read_work({"8x8x8", "dtype=f31"}, {}).error();
  ASSERT_FALSE(bad.notes.empty());
  EXPECT_EQ(bad.notes.back(), "in the problem `8x8x8 dtype=f31`");
  const TemporaryFile empty("empty.csv", "name,m,n,k\n");
  EXPECT_FALSE(read_work({empty.path.string()}, {}).ok());
}

TEST(ReadProblem, IsAllWordsTogether) {
  EXPECT_EQ(read_problem({"m=8", "n=4", "k=2"}).value(), GemmProblem::parse("8x4x2").value());
  EXPECT_FALSE(read_problem({"8x4"}).ok());
}

}  // namespace
}  // namespace gemmsmith::cli
