// Layouts and their operations, as `gemmsmith layout` has them.
#include "fuzz/targets.h"
#include "gemmsmith/layout_text.h"
#include "output/layout_steps.h"
#include "support/text.h"

namespace gemmsmith::fuzz {
namespace {

constexpr size_t kMostSteps = 4;  // more of them only take longer

void require_round_trip(const SymbolicLayout& layout) {
  const std::string text = print(layout);
  const auto back = parse_layout(text);
  require(back.ok(), "a printed layout parses", text);
  require(print(*back) == text, "a printed layout parses back to itself", text);
}

// Pictures and tables are given or refused; so are offsets.
void look_at(const SymbolicLayout& layout) {
  for (const auto& picture : {table(layout), svg(layout), latex(layout)})
    if (!picture.ok()) require_readable(picture.error());
  require(!to_json(layout).empty() && !cli::layout_summary(layout).empty(), "every layout has a summary");
  for (const int64_t index : {0, 1, 37, 4095})
    if (const auto offset = evaluate(layout, Coordinate(SymInt(index))); !offset.ok()) require_readable(offset.error());
}

}  // namespace

void layout(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  const auto parsed = parse_layout(lines[0]);
  if (!parsed.ok()) return require_readable(parsed.error());
  require_round_trip(*parsed);
  look_at(*parsed);

  std::vector<cli::ChosenStep> steps;
  for (size_t i = 1; i < lines.size() && i <= kMostSteps; ++i) {
    const size_t blank = std::min(lines[i].find(' '), lines[i].size());
    for (const cli::LayoutStep& step : cli::layout_steps())
      if (std::string_view(step.flag).substr(2) == lines[i].substr(0, blank))
        steps.push_back({&step, std::string(trim(lines[i].substr(blank)))});
  }
  const auto result = cli::apply_steps(std::string(lines[0]), steps);
  if (!result.ok()) return require_readable(result.error());
  require_round_trip(*result);
  look_at(*result);
}

}  // namespace gemmsmith::fuzz
