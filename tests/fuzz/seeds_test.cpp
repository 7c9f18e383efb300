// Every target over its seeds, over what once broke a law, and over mutations of both: a fuzzer in miniature that needs
// no other compiler.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/targets.h"
#include "support/random.h"

namespace gemmsmith::fuzz {
namespace {

std::vector<std::string> seeds_of(std::string_view target) {
  std::vector<std::string> seeds;
  const std::filesystem::path folder = std::filesystem::path(GEMMSMITH_SOURCE_DIR) / "tests/fuzz/corpus" / target;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back((std::ostringstream() << file.rdbuf()).str());
  }
  return seeds;
}

// A few bytes changed, cut out, repeated or taken from another seed.
std::string mutated(std::string text, const std::vector<std::string>& seeds, Random& random) {
  for (uint64_t times = 1 + random.below(4); times > 0; --times) {
    const size_t at = random.below(text.size() + 1), size = std::min<size_t>(random.below(9), text.size() - at);
    const std::string& other = seeds[random.below(seeds.size())];
    const size_t from = random.below(other.size() + 1);
    switch (random.below(4)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.insert(at, text.substr(at, size));
        break;
      case 2:
        text.replace(at, size, other.substr(from, random.below(17)));
        break;
      default:
        if (at < text.size()) text[at] = char(random.below(256));
    }
  }
  return text;
}

class Seeds : public testing::TestWithParam<Target> {};

TEST_P(Seeds, BreakNoLaw) {
  const std::vector<std::string> seeds = seeds_of(GetParam().name);
  ASSERT_GE(seeds.size(), 3u);
  for (const std::string& seed : seeds) GetParam().run(seed);
}

TEST_P(Seeds, BreakNoLawWhenMutated) {
  const std::vector<std::string> seeds = seeds_of(GetParam().name);
  Random random(1);
  for (int i = 0; i < 300; ++i) GetParam().run(mutated(seeds[random.below(seeds.size())], seeds, random));
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Seeds, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gemmsmith::fuzz
