// Results of two other implementations of the algebra, as data: pycute's over the inputs of CuTe's own tests, and those that
// the tests of CUTLASS's MLIR compiler assert. Where nesting or spelling differ the functions are compared; where the
// functions differ the fact is listed below with the reason, and has to differ.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <variant>

#include "gemmsmith/layout_text.h"

namespace gemmsmith {
namespace {

using Words = std::vector<std::string>;
using Value = std::variant<SymbolicLayout, Shape, Tiler>;

struct Fact {
  std::string operation, text, expected;
  Words arguments;
  std::string angle;  // "<0, 2>" after the arguments
};

Words split_top(const std::string& text, char separator) {
  Words parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' || c == '<';
    depth -= c == ')' || c == ']' || c == '>';
    if (c == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) {
    while (part.starts_with(' ')) part.erase(0, 1);
    while (part.ends_with(' ')) part.pop_back();
  }
  return parts;
}

// Every ? becomes a symbol of its own.
std::string named(std::string text, int& next) {
  for (size_t at; (at = text.find('?')) != std::string::npos;) text.replace(at, 1, "s" + std::to_string(next++));
  return text;
}

std::vector<Fact> read_facts(const std::string& file) {
  std::ifstream in(GEMMSMITH_SOURCE_DIR "/tests/layout/data/" + file);
  std::vector<Fact> facts;
  std::string line, operation;
  while (std::getline(in, line)) {
    if (line.starts_with("# ") || line.empty()) continue;
    if (line.starts_with("## ")) {
      operation = split_top(line.substr(3), ' ')[0];
      if (const size_t end = operation.find('('); end != std::string::npos) operation.resize(end);
      continue;
    }
    Fact fact{operation, line, "", {}, ""};
    int next = 0;
    size_t arrow = line.find(" => "), width = 4;
    if (arrow != std::string::npos) {
      for (const std::string& word : split_top(line.substr(0, arrow), ' '))
        if (word != ",") fact.arguments.push_back(named(word, next));
    } else {
      arrow = line.find(" -> ");
      std::string call = line.substr(0, arrow);
      const size_t open = call.find('('), close = call.rfind(')');
      fact.angle = call.substr(close + 1);
      for (const std::string& word : split_top(call.substr(open + 1, close - open - 1), ','))
        fact.arguments.push_back(named(word, next));
    }
    fact.expected = line.substr(arrow + width);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<int64_t> numbers_in(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    out.push_back(std::stoll(text.substr(i)));
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
  }
  return out;
}

bool is_layout(const std::string& text) { return text.find(':') != std::string::npos; }

Result<Tiler> tiler_of(std::string text) {
  for (char& c : text) c = c == '[' ? '<' : c == ']' ? '>' : c == ';' ? ',' : c;
  return parse_tiler(text);
}

Result<SymbolicMode> select(SymbolicMode mode, const std::string& path) {
  for (const int64_t index : numbers_in(path)) mode = SymbolicMode(mode[size_t(index)]);
  return mode;
}

template <class T>
Result<Value> value(Result<T> result) {
  if (!result.ok()) return std::move(result).error();
  return Value(std::move(*result));
}
Result<Value> value(Result<SymInt> result) {
  if (!result.ok()) return std::move(result).error();
  return Value(Shape(*result));
}
Result<Value> value(Result<SymbolicMode> result) {
  if (!result.ok()) return std::move(result).error();
  return Value(SymbolicLayout{*result});
}

using Unary = Result<SymbolicMode> (*)(const SymbolicMode&);
const std::map<std::string, Unary> kUnary = {
    {"right_inverse", right_inverse},
    {"left_inverse", left_inverse},
    {"flatten", [](const SymbolicMode& m) -> Result<SymbolicMode> { return flatten(m); }},
};
using Product = Result<SymbolicMode> (*)(const SymbolicMode&, const SymbolicMode&);
const std::map<std::string, Product> kProducts = {
    {"logical_product", logical_product}, {"zipped_product", zipped_product},   {"tiled_product", tiled_product},
    {"flat_product", flat_product},       {"blocked_product", blocked_product}, {"raked_product", raked_product}};
using Divide = Result<SymbolicMode> (*)(const SymbolicMode&, const Tiler&);
const std::map<std::string, Divide> kDivides = {{"logical_divide", logical_divide},
                                                {"zipped_divide", zipped_divide},
                                                {"tiled_divide", tiled_divide},
                                                {"flat_divide", flat_divide},
                                                {"composition", composition}};

// The end of a complement: a shape, or a layout whose cosize it is.
Result<Shape> end_of(const std::string& text) {
  if (!is_layout(text)) return parse_shape(text);
  GS_TRY(const SymbolicMode mode, parse_mode(text));
  GS_TRY(const SymInt n, cosize(mode));
  return Shape(n);
}

Result<Value> compute_on_shapes(const Fact& fact) {
  const Words& a = fact.arguments;
  GS_TRY(const Shape first, parse_shape(a[0]));
  if (fact.operation == "size" && !fact.angle.empty())
    return Value(Shape(product(first[size_t(numbers_in(fact.angle)[0])])));
  if (fact.operation == "tuple_product" || fact.operation == "size") return Value(Shape(product(first)));
  if (fact.operation == "tuple_product_each") return Value(product_each(first));
  if (fact.operation == "flatten") return Value(Shape::tuple(first.leaves()));
  if (fact.operation == "make_ordered_layout") {
    GS_TRY(const auto order, parse_numbers(a[1]));
    return value(ordered(first, order));
  }
  if (fact.operation == "ceil_div" && is_layout(a[1])) {  // by a layout: by its size
    GS_TRY(const SymbolicMode mode, parse_mode(a[1]));
    return value(ceil_div(Shape(product(first)), Shape(size(mode))));
  }
  GS_TRY(const Shape second, parse_shape(a[1]));
  if (fact.operation == "ceil_div") return value(ceil_div(first, second));
  if (fact.operation == "shape_div") return value(shape_div(first, second));
  if (fact.operation == "tuple_add") return value(add(first, second));
  if (fact.operation == "tuple_sub") return value(subtract(first, second));
  if (fact.operation == "crd2idx") return value(index_of(first, second));
  if (fact.operation == "idx2crd") return value(coordinate_of(first, second));
  if (fact.operation == "increment_coord") return value(increment(first, second));
  return Error{"facts", fact.operation, "is not known", "", {}};
}

Result<Value> compute(const Fact& fact) {
  const Words& a = fact.arguments;
  const std::string& operation = fact.operation;
  if (operation == "layout_eval") {
    GS_TRY(const SymbolicLayout layout, parse_layout(a[1]));
    if (a[0] != "(_)") {
      GS_TRY(const Shape at, parse_shape(a[0]));
      return value(evaluate(layout, at));
    }
    GS_TRY(const Sliced sliced, slice(layout.modes, Nested<std::optional<SymInt>>{std::optional<SymInt>()}));
    return Value(sliced.offset);
  }
  if (operation == "flatten" && a[0].starts_with('[')) {
    GS_TRY(const Tiler tiler, tiler_of(a[0]));
    return Value(Tiler::tuple(tiler.leaves()));
  }
  if (!is_layout(a[0])) return compute_on_shapes(fact);
  GS_TRY(const SymbolicLayout layout, parse_layout(a[0]));
  if (operation == "size" || operation == "cosize") {
    GS_TRY(const SymbolicMode mode, select(layout.modes, fact.angle));
    return operation == "size" ? value(Result<SymInt>(size(mode))) : value(cosize(mode));
  }
  if (const auto found = kUnary.find(operation); found != kUnary.end()) return value(on_modes(layout, found->second));
  if (operation == "coalesce") {
    GS_TRY(const auto profile, parse_numbers(a.size() > 1 ? a[1] : "1"));
    return value(on_modes(layout, coalesce_by, profile));
  }
  if (operation == "group_modes") {
    const auto range = numbers_in(fact.angle);
    return value(on_modes(layout, group, size_t(range[0]), size_t(range[1])));
  }
  if (operation == "complement") {
    const bool up_to_1 = fact.text.find(" => ") != std::string::npos;  // pycute's max_idx
    const auto none = up_to_1 ? std::optional(Shape(1)) : std::nullopt;
    if (a.size() == 1) return value(on_modes(layout, complement, none));
    GS_TRY(const Shape end, end_of(a[1]));
    return value(on_modes(layout, complement, std::optional(end)));
  }
  if (operation == "tile_to_shape") {
    GS_TRY(const Shape shape, parse_shape(a[1]));
    std::optional<Nested<int64_t>> order;
    if (a.size() > 2) {
      GS_TRY(order, parse_numbers(a[2]));
    }
    return value(on_modes(layout, tile_to_shape, shape, order));
  }
  if (const auto found = kProducts.find(operation); found != kProducts.end()) {
    GS_TRY(const SymbolicMode copies, parse_mode(a[1]));
    return value(on_modes(layout, found->second, copies));
  }
  if (const auto found = kDivides.find(operation); found != kDivides.end()) {
    GS_TRY(const Tiler by, tiler_of(a[1]));
    return value(on_modes(layout, found->second, by));
  }
  return Error{"facts", operation, "is not known", "", {}};
}

// Equality with ? in the expected one, which stands for any number that is not known.
bool matches(const SymInt& expected, const SymInt& actual) {
  return expected.constant() ? expected == actual : !actual.constant();
}
bool matches(const Shape& expected, const Shape& actual) {
  if (!congruent(expected, actual)) return false;
  const auto e = expected.leaves(), a = actual.leaves();
  for (size_t i = 0; i < e.size(); ++i)
    if (!matches(e[i], a[i])) return false;
  return true;
}

bool same_leaves(const std::vector<SymbolicLeaf>& expected, const std::vector<SymbolicLeaf>& actual) {
  if (expected.size() != actual.size()) return false;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!matches(expected[i].extent, actual[i].extent) || !matches(expected[i].stride.scale, actual[i].stride.scale) ||
        expected[i].stride.basis != actual[i].stride.basis)
      return false;
  return true;
}

// The same function: of known layouts at every index, of others leaf by leaf.
bool same_function(const SymbolicMode& expected, const SymbolicMode& actual) {
  const auto extent = size(expected).constant();
  bool known = extent.has_value();
  for (const auto& leaf : expected.leaves()) known &= leaf.stride.scale.constant().has_value();
  if (!known) {
    if (congruent(expected, actual) && same_leaves(expected.leaves(), actual.leaves())) return true;
    return same_leaves(coalesce(expected).leaves(), coalesce(actual).leaves());
  }
  if (!(size(actual) == *extent)) return false;
  const int64_t step = *extent > 10'000 ? *extent / 5'000 + 1 : 1;  // a few are larger than worth walking
  for (int64_t i = 0; i < *extent; i += step) {
    const auto e = evaluate(expected, Coordinate(i)), a = evaluate(actual, Coordinate(i));
    if (!e.ok() || !a.ok()) return false;
    // A direction that nothing steps in may be left out.
    const auto difference = subtract(*e, *a);
    if (!difference.ok()) return false;
    for (const SymInt& n : difference->leaves())
      if (n.constant() != 0) return false;
  }
  return true;
}

// Left inverses matter where the layout goes.
bool same_on_offsets(const SymbolicMode& of, const SymbolicMode& expected, const SymbolicMode& actual) {
  const int64_t extent = *size(of).constant();
  for (int64_t i = 0; i < extent; i += extent > 10'000 ? extent / 5'000 + 1 : 1) {
    const auto at = evaluate(of, Coordinate(i));
    if (!at.ok() || !at->is_leaf()) return false;
    const auto e = evaluate(expected, *at), a = evaluate(actual, *at);
    if (!e.ok() || !a.ok() || !(*e == *a)) return false;
  }
  return true;
}

bool agrees(const Fact& fact, const Value& actual, bool& same_text) {
  int next = 0;
  if (const Shape* shape = std::get_if<Shape>(&actual)) {
    const auto expected = parse_shape(named(fact.expected, next));
    same_text = expected.ok() && print(*expected) == print(*shape);
    return expected.ok() && matches(*expected, *shape);
  }
  if (const Tiler* tiler = std::get_if<Tiler>(&actual)) {
    const auto expected = tiler_of(fact.expected);
    return expected.ok() && *expected == *tiler;
  }
  const SymbolicLayout& layout = std::get<SymbolicLayout>(actual);
  const auto expected = parse_layout(named(fact.expected, next));
  if (!expected.ok()) return false;
  same_text = print(*expected) == print(layout);
  if (expected->swizzle.bits && !(expected->swizzle == layout.swizzle)) return false;
  if (expected->outer.size() != layout.outer.size()) return false;
  if (!expected->outer.empty() && !same_function(expected->outer[0], layout.outer[0])) return false;
  if (same_function(expected->modes, layout.modes)) return true;
  return fact.operation == "left_inverse" &&
         same_on_offsets(*parse_mode(fact.arguments[0]), expected->modes, layout.modes);
}

std::string outcome(const Result<Value>& actual) {
  if (!actual.ok()) return actual.error().text();
  if (std::holds_alternative<Tiler>(*actual)) return "another tiler";
  return std::holds_alternative<Shape>(*actual) ? print(std::get<Shape>(*actual))
                                                : print(std::get<SymbolicLayout>(*actual));
}

struct Count {
  int facts = 0, same_text = 0, listed = 0;
};
Count check(const std::string& file, const std::map<std::string, std::string>& differing) {
  Count count;
  for (const Fact& fact : read_facts(file)) {
    ++count.facts;
    const auto actual = compute(fact);
    bool same_text = false;
    const bool agreed = actual.ok() ? agrees(fact, *actual, same_text) : fact.expected.starts_with("(pycute raises");
    count.same_text += same_text;
    const auto listed = differing.find(fact.operation + " " + fact.text);
    if (listed == differing.end()) {
      EXPECT_TRUE(agreed) << fact.operation << ": " << fact.text << "\n  is " << outcome(actual);
    } else {
      ++count.listed;
      EXPECT_FALSE(agreed) << fact.operation << ": " << fact.text << "\n  is listed as different: " << listed->second;
    }
  }
  EXPECT_EQ(count.listed, int(differing.size())) << "a fact is listed that is not there";
  return count;
}

// Facts that differ, with the reason.
const std::map<std::string, std::string> kPycute = {
    {"right_inverse (2,4,4,6):(4,1,0,8) => 1:0", "stops at the stride of 0, where (4,2,6):(2,1,32) goes on"},
    {"left_inverse (4,2):(1,5) => 4:1", "is no left inverse: offset 5, of index 4, goes to 5"},
    {"left_inverse (128,160):(65536,1) => 65440:128", "is no left inverse: offset 65536, of index 1, goes to 8388608"},
    {"left_inverse (2,2,2):(4,0,1) => 1:0", "is no left inverse: offset 4, of index 1, goes to 0"},
    {"composition (1,):(1,) , (4,):(1,) => (4,):(0,)",
     "the left side ends; here, as in CuTe's C++, its last leaf goes on"},
    {"composition (8,8):(8,1) , 2:3 => (pycute raises AssertionError; CuTe C++ accepts or static_asserts)",
     "0 and 3 stay within the first leaf: 2:24"},
    {"composition (8,8):(8,1) , 3:3 => (pycute raises AssertionError; CuTe C++ accepts or static_asserts)",
     "0, 3 and 6 stay within the first leaf: 3:24"},
};
const char* const kUnknownExtent = "guesses that 3 divides an extent that is not known; refused";
const char* const kNoHostValue = "is code that computes on run-time numbers, not a value on the host; refused";
const std::map<std::string, std::string> kLit = {
    {"composition composition((4,3,1):(3,1,0), (24):(1)) -> ((4,3,2)):((3,1,0))",
     "is past the size of the left side, whose last leaf 1:0 is passed by (pycute's result)"},
    {"composition composition((?,?):(?,?), (4):(1)) -> ((?,?)):((?,?))",
     "guesses that an unknown extent divides 4; refused"},
    {"flat_divide flat_divide((?,?):(?,?), (3,4):(1,3)) -> ((?,?),(?,?),(?,?),(?,?)):((?,?),(?,?),(?,?),(?,?))",
     kUnknownExtent},
    {"logical_divide logical_divide((?,?):(?,?), (3,4):(1,3)) -> "
     "(((?,?),(?,?)),((?,?),(?,?))):(((?,?),(?,?)),((?,?),(?,?)))",
     kUnknownExtent},
    {"tiled_divide tiled_divide((?,?):(?,?), (3,4):(1,3)) -> (((?,?),(?,?)),(?,?),(?,?)):(((?,?),(?,?)),(?,?),(?,?))",
     kUnknownExtent},
    {"zipped_divide zipped_divide((?,?):(?,?), (3,4):(1,3)) -> "
     "(((?,?),(?,?)),((?,?),(?,?))):(((?,?),(?,?)),((?,?),(?,?)))",
     kUnknownExtent},
    {"increment_coord increment_coord((?,?), (4,8)) -> (?,?)", kNoHostValue},
    {"increment_coord increment_coord((1,2), (?,8)) -> (?,?)", kNoHostValue},
    {"increment_coord increment_coord(((?,?),(?,?)), ((?,3),(3,3))) -> ((?,?),(?,?))", kNoHostValue},
    {"increment_coord increment_coord((?,?,?), (?,4,8)) -> (?,?,?)", kNoHostValue},
    {"increment_coord increment_coord((0,0,0,0), (?,3,3,1)) -> (?,?,?,?)", kNoHostValue},
    {"layout_eval layout_eval((?), S<1,4,3> o 0 o (16):(16)) -> ?", kNoHostValue},
    {"layout_eval layout_eval((?), S<1,12,3> o 0 o (1024):(1)) -> ?", kNoHostValue},
    {"left_inverse left_inverse(((2,4),(3,5)):((4,1),(2,8))) -> (2,2,2,5):(2,8,1,24)",
     "offset 2 has indices 4 and 8, so that there is no left inverse; refused"},
    {"tuple_sub tuple_sub((10,8), (3,2,5)) -> (7,6,5)", "keeps what has no counterpart; here 0 - 5"},
    {"tuple_sub tuple_sub(((5,8),(3,4)), ((1,2),(1,1,1))) -> ((4,6),(2,3,1))",
     "keeps what has no counterpart; here 0 - 1"},
};

TEST(Facts, OfPycute) {
  const Count count = check("layout_facts.txt", kPycute);
  EXPECT_EQ(count.facts, 160);
  EXPECT_EQ(count.listed, 7);
  EXPECT_EQ(count.same_text, 130);
}

TEST(Facts, OfTheCutlassCompiler) {
  const Count count = check("layout_lit_facts.txt", kLit);
  EXPECT_EQ(count.facts, 536);
  EXPECT_EQ(count.listed, 16);
  EXPECT_EQ(count.same_text, 437);
}

}  // namespace
}  // namespace gemmsmith
