#include "output/table.h"

#include <algorithm>

namespace gemmsmith::cli {
namespace {

// Blanks between two columns. Numbers are seldom as wide as their title, so one is enough between them.
size_t gap_between(const Column& left, const Column& right) { return left.right && right.right ? 1 : 2; }

}  // namespace

void Table::add(std::vector<std::string> cells, Tint tint) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), tint});
}

std::vector<size_t> Table::layout(size_t width) const {
  std::vector<size_t> natural;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t widest = display_width(columns_[c].title);
    for (const Row& row : rows_) widest = std::max(widest, display_width(row.cells[c]));
    natural.push_back(widest);
  }
  while (true) {
    std::vector<size_t> widths = natural;
    size_t total = 0, before = kDropped;
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == kDropped) continue;
      total += widths[c] + (before != kDropped ? gap_between(columns_[before], columns_[c]) : 0);
      before = c;
    }
    // The widest column that may shrink gives one column at a time, so that two long ones end up alike.
    for (; total > width; --total) {
      size_t widest = kDropped;
      for (size_t c = 0; c < widths.size(); ++c) {
        const bool may = widths[c] != kDropped && columns_[c].min_width > 0 && widths[c] > columns_[c].min_width;
        if (may && (widest == kDropped || widths[c] > widths[widest])) widest = c;
      }
      if (widest == kDropped) break;
      --widths[widest];
    }
    if (total <= width) return widths;
    size_t victim = kDropped;
    for (size_t c = 0; c < widths.size(); ++c)
      if (widths[c] != kDropped && columns_[c].drop_order > 0 &&
          (victim == kDropped || columns_[c].drop_order > columns_[victim].drop_order))
        victim = c;
    if (victim == kDropped) return widths;
    natural[victim] = kDropped;
  }
}

std::string Table::line(const Row& row, const std::vector<size_t>& widths, const Style& style) const {
  std::string text;
  size_t before = kDropped;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (widths[c] == kDropped) continue;
    if (before != kDropped) text.append(gap_between(columns_[before], columns_[c]), ' ');
    before = c;
    std::string cell = fit(row.cells[c], widths[c], style.unicode);
    text += columns_[c].right ? pad_left(std::move(cell), widths[c]) : pad_right(std::move(cell), widths[c]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return tinted(std::move(text), row.tint, style.colour) + "\n";
}

std::string Table::print(const Style& style) const {
  const std::vector<size_t> widths = layout(style.width);
  Row titles{{}, Tint::bold};
  for (const Column& column : columns_) titles.cells.push_back(column.title);
  std::string text = line(titles, widths, style);
  for (const Row& row : rows_) text += line(row, widths, style);
  return text;
}

}  // namespace gemmsmith::cli
