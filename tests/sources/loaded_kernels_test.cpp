#include "sources/native/loaded_kernels.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/random.h"

namespace gemmsmith {
namespace {

// Counts those that live.
class FakeKernel final : public LoadedKernel {
 public:
  explicit FakeKernel(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
  ~FakeKernel() override { --alive_; }
  const KernelSignature& signature() const override { return signature_; }
  Status launch(int64_t*) override { return Done{}; }

 private:
  std::atomic<int>& alive_;
  KernelSignature signature_;
};

// Against a list that is kept by hand.
TEST(LoadedKernels, KeepsTheMostRecentlyUsed) {
  for (const size_t most : {0u, 1u, 2u, 7u}) {
    std::atomic<int> alive = 0;
    LoadedKernels kernels(most);
    std::vector<int> used;  // the most recently used last
    Random random(most + 1);
    for (int step = 0; step < 2000; ++step) {
      const int number = int(random.below(12));
      const bool expected = std::find(used.begin(), used.end(), number) != used.end();
      const std::shared_ptr<LoadedKernel> found = kernels.find(std::to_string(number));
      ASSERT_EQ(found != nullptr, expected);
      if (!found) kernels.keep(std::to_string(number), std::make_shared<FakeKernel>(alive));
      std::erase(used, number);
      used.push_back(number);
      if (used.size() > most) used.erase(used.begin());
      ASSERT_EQ(kernels.size(), used.size());
      ASSERT_EQ(alive, int(used.size()));
    }
  }
}

TEST(LoadedKernels, OneThatIsHeldOutlivesItsPlace) {
  std::atomic<int> alive = 0;
  LoadedKernels kernels(1);
  const std::shared_ptr<LoadedKernel> held = kernels.keep("a", std::make_shared<FakeKernel>(alive));
  kernels.keep("b", std::make_shared<FakeKernel>(alive));
  EXPECT_EQ(kernels.find("a"), nullptr);
  EXPECT_EQ(alive, 2);
  EXPECT_TRUE(held->launch(nullptr).ok());
}

TEST(LoadedKernels, ThreadsThatBuildTheSameGetTheSame) {
  std::atomic<int> alive = 0;
  LoadedKernels kernels(4);
  {
    const auto first = kernels.keep("a", std::make_shared<FakeKernel>(alive));
    EXPECT_EQ(kernels.keep("a", std::make_shared<FakeKernel>(alive)), first);
    EXPECT_EQ(alive, 1);
  }
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        Random random{uint64_t(t)};
        for (int i = 0; i < 3000; ++i) {
          const std::string key = std::to_string(random.below(8));
          auto kernel = kernels.find(key);
          if (!kernel) kernel = kernels.keep(key, std::make_shared<FakeKernel>(alive));
          EXPECT_TRUE(kernel->launch(nullptr).ok());
        }
      });
  }
  EXPECT_EQ(size_t(alive), kernels.size());
}

}  // namespace
}  // namespace gemmsmith
