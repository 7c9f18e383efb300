// Tables that fit the terminal: columns shrink first, then the least important ones go.
#pragma once
#include <string>
#include <vector>

#include "output/text.h"

namespace gemmsmith::cli {

struct Column {
  std::string title;
  bool right = true;     // aligned to the right, as numbers are
  int drop_order = 0;    // of columns that go when the line is too long, the highest goes first; 0: stays
  size_t min_width = 0;  // text longer than the column may be cut down to this many columns; 0: never cut
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell a column. A row with fewer is filled with empty ones.
  void add(std::vector<std::string> cells, Tint tint = Tint::none);
  bool empty() const { return rows_.empty(); }
  // Lines that end in newlines: titles, then rows. Longer than style.width only if no column is left to cut or drop.
  std::string print(const Style&) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tint tint;
  };
  std::vector<size_t> layout(size_t width) const;  // the width of each column; kDropped for one that is left out
  std::string line(const Row&, const std::vector<size_t>& widths, const Style&) const;

  static constexpr size_t kDropped = size_t(-1);
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace gemmsmith::cli
