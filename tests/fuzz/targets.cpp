#include "fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "support/text.h"

namespace gemmsmith::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"problem", problem}, {"expression", expression},       {"layout", layout}, {"model", model},
    {"csv", csv},         {"store_lines", store_lines},     {"cases", cases},   {"kernel_file", kernel_file},
    {"config", config},   {"command_words", command_words},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

void require(bool law, std::string_view sentence, std::string_view about) {
  if (law) return;
  std::fprintf(stderr, "broken law: %s: %s\n", std::string(sentence).c_str(), shown(about, 4000).c_str());
  std::abort();
}

void require_readable(const Error& error) {
  constexpr size_t kLongest = 20'000;
  const std::string text = error.text();
  require(!error.given.empty() || !error.limit.empty(), "an error says what is wrong", text);
  require(text.size() <= kLongest, "errors are short", text);
  for (const std::string_view line : split(text, '\n'))
    require(shown(line, kLongest) == line, "errors are printable", line);
}

}  // namespace gemmsmith::fuzz
