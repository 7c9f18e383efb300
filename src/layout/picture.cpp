// Pictures of layouts: a grid of cells, drawn as text, TikZ or SVG.
#include <algorithm>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
constexpr int64_t kMostCells = 4096;
constexpr int kColours = 8;
// Light enough for black digits, apart for the colour-blind (after Okabe and Ito).
constexpr const char* kPalette[kColours] = {"cfe8ff", "ffe3c2", "d6f0d0", "f8d0d8",
                                            "e3d7f5", "fff4b8", "cdeeee", "e6e6e6"};
constexpr int kNoColour = -1;

struct Cell {
  std::vector<std::string> lines;
  int colour = kNoColour;
};
struct Grid {
  std::string title;
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;  // row by row
  Cell& at(int64_t row, int64_t column) { return cells[size_t(row * columns + column)]; }
  const Cell& at(int64_t row, int64_t column) const { return cells[size_t(row * columns + column)]; }
};

Error no_picture(const std::string& given, const std::string& limit, const std::string& remedy) {
  return {"picture", given, limit, remedy, {}};
}

// Rows and columns of a shape of one or two modes.
Result<Grid> empty_grid(const std::string& title, const Shape& shape) {
  const auto modes = shape.size();
  if (modes == 0 || modes > 2)
    return no_picture(title, concat("has ", modes, " modes"), "one or two: group() the others");
  const bool one = shape.is_leaf() || modes == 1;
  const auto rows = one ? 1 : product(shape[0]).constant(), columns = product(shape[one ? 0 : 1]).constant();
  if (!rows || !columns) return no_picture(title, "has a size that is not known", "numbers for its symbols");
  const auto cells = (SymInt(*rows) * SymInt(*columns)).constant();
  if (!cells || *rows < 0 || *columns < 0 || *cells > kMostCells)
    return no_picture(title, concat("has ", *rows, " x ", *columns, " cells"), concat("at most ", kMostCells));
  return Grid{title, *rows, *columns, std::vector<Cell>(size_t(*cells))};
}

int colour_of(const SymbolicLayout& layout, const Coordinate& value) {
  const auto offset = value.is_leaf() ? value.leaf().constant() : std::nullopt;
  if (!offset) return kNoColour;
  const int64_t unit = layout.swizzle.bits ? *offset >> layout.swizzle.base : *offset;
  return int(((unit % kColours) + kColours) % kColours);
}

Result<Grid> offsets_grid(const SymbolicLayout& layout) {
  GS_TRY(Grid grid, empty_grid(print(layout), shape_of(layout.modes)));
  for (int64_t column = 0; column < grid.columns; ++column)
    for (int64_t row = 0; row < grid.rows; ++row) {
      GS_TRY(const Coordinate value, evaluate(layout, Coordinate(row + column * grid.rows)));
      grid.at(row, column) = {{print(value)}, colour_of(layout, value)};
    }
  return grid;
}

Result<Grid> thread_value_grid(const SymbolicLayout& layout, const Shape& tile) {
  const std::string title = concat(print(layout), " of ", print(tile));
  const Shape shape = shape_of(layout.modes);
  if (shape.size() != 2 || shape.is_leaf())
    return no_picture(title, concat("has ", shape.size(), " modes"), "two, of threads and of values");
  GS_TRY(Grid grid, empty_grid(title, tile));
  GS_TRY(const Grid walked, empty_grid(title, shape));  // holds the threads and values to what can be drawn
  for (int64_t thread = 0; thread < walked.rows; ++thread)
    for (int64_t value = 0; value < walked.columns; ++value) {
      GS_TRY(const Coordinate at, evaluate(layout, Coordinate{Coordinate(thread), Coordinate(value)}));
      GS_TRY(const SymInt number, index_of(at, tile));
      const auto index = number.constant();
      if (!index || *index < 0 || *index >= grid.rows * grid.columns)
        return no_picture(title,
                          concat("gives value ", value, " of thread ", thread, " the element ", number.text(),
                                 ", outside of the tile"),
                          concat("a tile of more than ", grid.rows * grid.columns, " elements"));
      Cell& cell = grid.at(*index % grid.rows, *index / grid.rows);
      if (cell.lines.empty())
        cell = {{concat('T', thread), concat('V', value)}, int(thread % kColours)};
      else if (cell.lines.size() == 2)
        cell.lines[0] += '+';  // more than one thread has it
    }
  return grid;
}

std::string as_table(const Grid& grid) {
  const auto text_of = [](const Cell& cell) { return cell.lines.empty() ? std::string(".") : join(cell.lines, ""); };
  size_t width = format_integer(grid.columns - 1).size(), side = format_integer(grid.rows - 1).size();
  for (const Cell& cell : grid.cells) width = std::max(width, text_of(cell).size());
  const auto right = [](std::string text, size_t to) { return std::string(to - text.size(), ' ') + text; };
  std::string out(side + 2, ' ');
  for (int64_t column = 0; column < grid.columns; ++column) out += ' ' + right(format_integer(column), width);
  out += '\n' + std::string(side + 1, ' ') + '+' + std::string((width + 1) * size_t(grid.columns), '-') + '\n';
  for (int64_t row = 0; row < grid.rows; ++row) {
    out += right(format_integer(row), side) + " |";
    for (int64_t column = 0; column < grid.columns; ++column) out += ' ' + right(text_of(grid.at(row, column)), width);
    out += '\n';
  }
  return out;
}

std::string for_latex(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "$<$" : c == '>' ? "$>$" : c == '_' ? "\\_" : std::string(1, c);
  return out;
}

std::string as_latex(const Grid& grid) {
  std::string out = concat("% ", grid.title, "\n\\documentclass[tikz]{standalone}\n");
  for (int i = 0; i < kColours; ++i) out += concat("\\definecolor{c", i, "}{HTML}{", lower_case(kPalette[i]), "}\n");
  // xcolor's HTML model wants capitals.
  for (size_t at = 0; (at = out.find("{HTML}{", at)) != std::string::npos;)
    for (at += 7; out[at] != '}'; ++at)
      if (out[at] >= 'a') out[at] = char(out[at] - 'a' + 'A');
  out += "\\begin{document}\n\\begin{tikzpicture}[x=8mm,y=-8mm,font=\\sffamily\\scriptsize]\n";
  out += concat("\\node[anchor=south west] at (0,-0.5) {", for_latex(grid.title), "};\n");
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t column = 0; column < grid.columns; ++column) {
      const Cell& cell = grid.at(row, column);
      const std::string fill = cell.colour == kNoColour ? "white" : concat('c', cell.colour);
      out += concat("\\filldraw[draw=gray,fill=", fill, "] (", column, ',', row, ") rectangle ++(1,1);\n");
      if (!cell.lines.empty())
        out += concat("\\node[align=center] at (", column, ".5,", row, ".5) {", for_latex(join(cell.lines, "\\\\")),
                      "};\n");
    }
  for (int64_t row = 0; row < grid.rows; ++row) out += concat("\\node[gray] at (-0.4,", row, ".5) {", row, "};\n");
  for (int64_t column = 0; column < grid.columns; ++column)
    out += concat("\\node[gray] at (", column, ".5,-0.3) {", column, "};\n");
  return out + "\\end{tikzpicture}\n\\end{document}\n";
}

std::string for_xml(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string as_svg(const Grid& grid) {
  size_t longest = 2, lines = 1;
  for (const Cell& cell : grid.cells) {
    for (const std::string& line : cell.lines) longest = std::max(longest, line.size());
    lines = std::max(lines, cell.lines.size());
  }
  const int64_t wide = std::max<int64_t>(24, 6 * int64_t(longest) + 8), high = lines > 1 ? 30 : 24, left = 32, top = 42;
  const int64_t width = std::max<int64_t>(left + wide * grid.columns + 8, 7 * int64_t(grid.title.size()) + 16);
  const int64_t height = top + high * grid.rows + 8;
  std::string out =
      concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ",
             width, ' ', height, "\">\n<title>", for_xml(grid.title), "</title>\n<style>");
  out +=
      "text{font:10px monospace;text-anchor:middle}.i{fill:#888}.t{font-size:12px;text-anchor:start}path{stroke:#888;"
      "stroke-width:.5}.n{fill:#fff}";
  for (int i = 0; i < kColours; ++i) out += concat(".c", i, "{fill:#", kPalette[i], '}');
  out += concat("</style>\n<rect width=\"", width, "\" height=\"", height,
                "\" fill=\"#fff\"/>\n<text class=\"t\" x=\"8\" y=\"16\">", for_xml(grid.title), "</text>\n");
  const auto text = [&](int64_t x, int64_t y, const std::string& content, const char* kind) {
    out += concat("<text", kind, " x=\"", x, "\" y=\"", y, "\">", for_xml(content), "</text>\n");
  };
  for (int64_t column = 0; column < grid.columns; ++column)
    text(left + column * wide + wide / 2, top - 6, format_integer(column), " class=\"i\"");
  for (int64_t row = 0; row < grid.rows; ++row) {
    const int64_t y = top + row * high;
    text(left / 2, y + high / 2 + 4, format_integer(row), " class=\"i\"");
    for (int64_t column = 0; column < grid.columns; ++column) {
      const Cell& cell = grid.at(row, column);
      const int64_t x = left + column * wide;
      out += concat("<path class=\"", cell.colour == kNoColour ? "n" : concat('c', cell.colour), "\" d=\"M", x, ' ', y,
                    'h', wide, 'v', high, 'h', -wide, "z\"/>\n");
      const int64_t first = y + high / 2 + 4 - 5 * (int64_t(cell.lines.size()) - 1);
      for (size_t line = 0; line < cell.lines.size(); ++line)
        text(x + wide / 2, first + 11 * int64_t(line), cell.lines[line], "");
    }
  }
  return out + "</svg>\n";
}

using Draw = std::string (*)(const Grid&);
Result<std::string> drawn(Result<Grid> grid, Draw draw) {
  if (!grid.ok()) return std::move(grid).error();
  return draw(*grid);
}

// Numbers as numbers where they are known, as text elsewhere.
template <class T>
std::string json_tuple(const Nested<T>& tuple) {
  if (tuple.is_leaf()) {
    const std::string text = tuple.leaf().text();
    return tuple.leaf().constant() ? text : concat('"', text, '"');
  }
  std::vector<std::string> parts;
  for (const auto& part : tuple) parts.push_back(json_tuple(part));
  return concat('[', join(parts, ", "), ']');
}
}  // namespace

Result<std::string> table(const SymbolicLayout& layout) { return drawn(offsets_grid(layout), as_table); }
Result<std::string> latex(const SymbolicLayout& layout) { return drawn(offsets_grid(layout), as_latex); }
Result<std::string> svg(const SymbolicLayout& layout) { return drawn(offsets_grid(layout), as_svg); }

Result<std::string> thread_value_table(const SymbolicLayout& layout, const Shape& tile) {
  return drawn(thread_value_grid(layout, tile), as_table);
}
Result<std::string> thread_value_latex(const SymbolicLayout& layout, const Shape& tile) {
  return drawn(thread_value_grid(layout, tile), as_latex);
}
Result<std::string> thread_value_svg(const SymbolicLayout& layout, const Shape& tile) {
  return drawn(thread_value_grid(layout, tile), as_svg);
}

std::string to_json(const SymbolicLayout& layout) {
  const Shape shape = shape_of(layout.modes);
  const auto strides = transform(layout.modes, [](const SymbolicLeaf& leaf) { return leaf.stride; });
  const SymInt count = product(shape);
  std::string out = concat("{\n  \"layout\": \"", print(layout), "\",\n  \"rank\": ", layout.modes.size(),
                           ",\n  \"shape\": ", json_tuple(shape), ",\n  \"stride\": ", json_tuple(strides),
                           ",\n  \"size\": ", json_tuple(Shape(count)));
  if (const auto reach = cosize(layout.modes); reach.ok())
    out += concat(",\n  \"cosize\": ", json_tuple(Shape(*reach)));
  if (!count.constant() || *count.constant() > kMostCells) return out + "\n}";
  std::vector<std::string> offsets;
  for (int64_t i = 0; i < *count.constant(); ++i) {
    const auto value = evaluate(layout, Coordinate(i));
    if (!value.ok()) return out + "\n}";
    offsets.push_back(json_tuple(*value));
  }
  return out + concat(",\n  \"offsets\": [", join(offsets, ", "), "]\n}");
}

}  // namespace gemmsmith
