// Layouts as text and as pictures.
//
//   layout  = [outer "o" start "o"] tuple ":" tuple ["o" swizzle]       ((2,4),8):((1,2),16)     (4,8):(8,1) o Sw<3,4,3>
//   outer   = tuple ":" tuple | swizzle                                 (4,5):(1,4) o 2 o (2,3):(1,2)
//   tuple   = number | "(" [tuple {"," tuple}] ")"
//   number  = factor {"*" factor}; strides also with a basis: 3@1@0
//   factor  = digits | name | "(" number "+" number ")" | "floor" or "ceil" "(" number "/" number ")"
//           | "mod" or "min" or "max" "(" number "," number ")"; a divisor may have parentheses of its own: ceil(m/(2*n))
//   swizzle = ("Sw" | "S") "<" bits "," base "," shift ">"
//
// A swizzle in front with start 0 means the same as one behind. Spaces do not matter, nor does a comma before ")".
#pragma once
#include <string>
#include <string_view>

#include "gemmsmith/layout_algebra.h"

namespace gemmsmith {

Result<SymbolicLayout> parse_layout(std::string_view);
Result<SymbolicMode> parse_mode(std::string_view);  // shape:stride alone
Result<Shape> parse_shape(std::string_view);
Result<Nested<int64_t>> parse_numbers(std::string_view);
// "_" or nothing to keep a part: "(_,3)".
Result<Nested<std::optional<SymInt>>> parse_slice(std::string_view);
// "<4:1,8:2>" part by part, "<_,2:1>", nested; a shape "(4,8)"; or one mode.
Result<Tiler> parse_tiler(std::string_view);

std::string print(const SymbolicMode&);
std::string print(const SymbolicLayout&);
std::string print(const Shape&);

// Pictures of the offsets of a layout of known numbers, at most 4096 of them: mode 0 downwards, mode 1 to the right, a
// layout of one mode as one row. Errors: more than two modes, with how to group them; numbers that are not known.
// Cells are coloured by offset: of swizzled layouts of bytes by the bank of 16 bytes, of others modulo 8.
Result<std::string> table(const SymbolicLayout&);
Result<std::string> latex(const SymbolicLayout&);  // a document with TikZ
Result<std::string> svg(const SymbolicLayout&);

// Thread-value layouts: mode 0 is the thread, mode 1 the value that it holds, offsets are indices of `tile`, two modes.
// Each element is marked with who has it. Errors: elements outside of the tile.
Result<std::string> thread_value_table(const SymbolicLayout&, const Shape& tile);
Result<std::string> thread_value_latex(const SymbolicLayout&, const Shape& tile);
Result<std::string> thread_value_svg(const SymbolicLayout&, const Shape& tile);

// {"layout": ..., "size": ..., "cosize": ..., "rank": ..., "shape": [...], "stride": [...], "offsets": [...]}; offsets of
// known layouts with at most 4096.
std::string to_json(const SymbolicLayout&);

}  // namespace gemmsmith
