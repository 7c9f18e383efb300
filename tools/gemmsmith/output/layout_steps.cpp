#include "output/layout_steps.h"

namespace gemmsmith::cli {

namespace {
using Unary = Result<SymbolicMode> (*)(const SymbolicMode&);
using Tiled = Result<SymbolicMode> (*)(const SymbolicMode&, const Tiler&);
using Multiplied = Result<SymbolicMode> (*)(const SymbolicMode&, const SymbolicMode&);

template <Unary operation>
Result<SymbolicLayout> on_all(const SymbolicLayout& layout, const std::string&) {
  return on_modes(layout, operation);
}
template <Tiled operation>
Result<SymbolicLayout> by_tiler(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const Tiler by, parse_tiler(text));
  return on_modes(layout, operation, by);
}
template <Multiplied operation>
Result<SymbolicLayout> by_layout(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const SymbolicMode copies, parse_mode(text));
  return on_modes(layout, operation, copies);
}

Result<SymbolicMode> coalesced(const SymbolicMode& mode) { return coalesce_by(mode, Nested<int64_t>(1)); }
Result<SymbolicMode> flattened(const SymbolicMode& mode) { return flatten(mode); }
Result<SymbolicMode> filtered(const SymbolicMode& mode) { return filter(mode); }
Result<SymbolicMode> null(const SymbolicMode& mode) { return nullspace(mode); }

Result<SymbolicLayout> complemented(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const Shape end, parse_shape(text));
  return on_modes(layout, complement, std::optional(end));
}
Result<SymbolicLayout> tiled_to(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const Shape shape, parse_shape(text));
  return on_modes(layout, tile_to_shape, shape, std::optional<Nested<int64_t>>());
}

// "1,3" as two numbers.
Result<std::pair<int64_t, int64_t>> two_numbers(const std::string& text) {
  GS_TRY(const Nested<int64_t> numbers, parse_numbers("(" + text + ")"));
  const auto leaves = numbers.leaves();
  if (leaves.size() != 2) return Error{"numbers", text, "are not two numbers", "1,3", {}};
  return std::pair(leaves[0], leaves[1]);
}
Result<SymbolicLayout> grouped(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const auto range, two_numbers(text));
  return on_modes(layout, group, size_t(range.first), size_t(range.second));
}
Result<SymbolicLayout> recasted(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const auto bits, two_numbers(text));
  if (bits.first < 1 || bits.second < 1 || bits.first > 65536 || bits.second > 65536)
    return Error{"recast", text, "are not sizes in bits", "16,32", {}};
  return recast(layout, int(bits.first), int(bits.second));
}
Result<SymbolicLayout> sliced(const SymbolicLayout& layout, const std::string& text) {
  GS_TRY(const auto at, parse_slice(text));
  GS_TRY(const Sliced part, slice(layout.modes, at));
  SymbolicLayout out = layout;
  out.modes = part.rest;
  if (part.offset.is_leaf() && part.offset.leaf().constant() == 0) return out;
  GS_TRY(out.start, layout.start.empty() ? Result<Coordinate>(part.offset) : add(layout.start, part.offset));
  return out;
}
}  // namespace

const std::vector<LayoutStep>& layout_steps() {
  static const std::vector<LayoutStep> steps = {
      {"--coalesce", "", "As few leaves as can be", on_all<coalesced>},
      {"--flatten", "", "One level of nesting", on_all<flattened>},
      {"--filter", "", "Without strides of 0", on_all<filtered>},
      {"--nullspace", "", "The indices whose offset is 0", on_all<null>},
      {"--right-inverse", "", "R with A(R(i)) = i", on_all<right_inverse>},
      {"--left-inverse", "", "L with L(A(i)) = i", on_all<left_inverse>},
      {"--compose", "TILER", "A(B(c)), B a layout or one for each mode", by_tiler<composition>},
      {"--complement", "SHAPE", "What the layout leaves out below the size of a shape", complemented},
      {"--divide", "TILER", "((tile_m,tiles_m),(tile_n,tiles_n))", by_tiler<logical_divide>},
      {"--zipped-divide", "TILER", "((tile_m,tile_n),(tiles_m,tiles_n))", by_tiler<zipped_divide>},
      {"--tiled-divide", "TILER", "((tile_m,tile_n),tiles_m,tiles_n)", by_tiler<tiled_divide>},
      {"--flat-divide", "TILER", "(tile_m,tile_n,tiles_m,tiles_n)", by_tiler<flat_divide>},
      {"--product", "LAYOUT", "(block,copies)", by_layout<logical_product>},
      {"--tiled-product", "LAYOUT", "(block,copies_m,copies_n)", by_layout<tiled_product>},
      {"--flat-product", "LAYOUT", "(block_m,block_n,copies_m,copies_n)", by_layout<flat_product>},
      {"--blocked-product", "LAYOUT", "((block_m,copies_m),(block_n,copies_n))", by_layout<blocked_product>},
      {"--raked-product", "LAYOUT", "((copies_m,block_m),(copies_n,block_n))", by_layout<raked_product>},
      {"--max-common", "LAYOUT", "The indices at which both are the identity", by_layout<max_common_layout>},
      {"--tile-to-shape", "SHAPE", "Copies of the layout that fill a shape", tiled_to},
      {"--group", "BEGIN,END", "Modes [BEGIN,END) as one", grouped},
      {"--recast", "FROM,TO", "The same bits in units of TO bits instead of FROM", recasted},
      {"--slice", "COORDINATE", "What is left with some coordinates fixed: (_,3)", sliced},
  };
  return steps;
}

Result<SymbolicLayout> apply_steps(const std::string& text, const std::vector<ChosenStep>& steps) {
  GS_TRY(SymbolicLayout layout, parse_layout(text));
  for (const ChosenStep& chosen : steps) {
    auto next = chosen.step->run(layout, chosen.argument);
    if (!next.ok()) return std::move(next).error().note("while applying " + std::string(chosen.step->flag));
    layout = std::move(*next);
  }
  return layout;
}

std::string layout_summary(const SymbolicLayout& layout) {
  const auto reach = cosize(layout.modes);
  return print(layout) + "\nsize " + size(layout.modes).text() + ", cosize " +
         (reach.ok() ? reach->text() : "beyond 64 bits") + "\n";
}

}  // namespace gemmsmith::cli
