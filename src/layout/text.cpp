// Parsing and printing; the grammar is in gemmsmith/layout_text.h.
#include <cctype>
#include <charconv>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
constexpr int kDeepest = 64;  // parentheses: beyond any layout, well below any stack

class Parser {
 public:
  Parser(std::string_view text, const char* what) : text_(text), what_(what) {}

  Error wrong(const std::string& limit, const std::string& remedy = "") const {
    return {concat(what_, ", column ", at_ + 1), shown(text_), limit, remedy, {}};
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Status end() {
    skip();
    if (at_ == text_.size()) return Done{};
    return wrong(concat("has ", shown(text_.substr(at_)), " where it should end"));
  }

  // tuple of what `leaf` reads, between `open` and `close`.
  template <class T, class ReadLeaf>
  Result<Nested<T>> nested(const ReadLeaf& leaf, int depth = 0, char open = '(', char close = ')') {
    if (depth > kDeepest) return wrong(concat("is nested deeper than ", kDeepest));
    if (at_sum() || !take(open)) {
      GS_TRY(T value, leaf());
      return Nested<T>(std::move(value));
    }
    typename Nested<T>::Parts parts;
    while (!take(close)) {
      if (!parts.empty() && !take(',') && !take(';')) return wrong(concat("misses , or ", close), "(4,(2,8))");
      if (take(close)) break;  // a comma before the end
      GS_TRY(Nested<T> part, (nested<T>(leaf, depth + 1, open, close)));
      parts.push_back(std::move(part));
    }
    return Nested<T>(std::move(parts));
  }

  Result<int64_t> integer() {
    skip();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [rest, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) return wrong("has a number beyond 64 bits", "at most 2^63 - 1");
    if (error != std::errc()) return wrong("misses a number", "((2,4),8):((1,2),16)");
    at_ += size_t(rest - begin);
    return value;
  }
  Result<SymInt> number() {
    SymInt product(1);
    do {
      GS_TRY(const SymInt factor, this->factor());
      product = product * factor;
    } while (take('*'));
    if (product.overflowed()) return wrong("has a number beyond 64 bits", "at most 2^63 - 1");
    return product;
  }
  Result<SymInt> factor() {
    const Nesting level(*this);
    if (nesting_ > kDeepest) return wrong(concat("is nested deeper than ", kDeepest));
    if (at_sum()) {
      take('(');
      return two_numbers('+', ')', [](const SymInt& a, const SymInt& b) { return a + b; });
    }
    if (at_ == text_.size() || !is_name_character(text_[at_], true)) {
      GS_TRY(const int64_t n, integer());
      return SymInt(n);
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_], false)) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (!take('(')) return SymInt::symbol(std::string(name));
    if (name == "floor") return two_numbers('/', ')', [](const SymInt& a, const SymInt& b) { return a / b; });
    if (name == "ceil") return two_numbers('/', ')', [](const SymInt& a, const SymInt& b) { return ceil_div(a, b); });
    if (name == "mod") return two_numbers(',', ')', [](const SymInt& a, const SymInt& b) { return a % b; });
    if (name == "min") return two_numbers(',', ')', [](const SymInt& a, const SymInt& b) { return min(a, b); });
    if (name == "max") return two_numbers(',', ')', [](const SymInt& a, const SymInt& b) { return max(a, b); });
    at_ = begin;
    return wrong("has a function that is not known", "floor(a/b), ceil(a/b), mod(a,b), min(a,b), max(a,b)");
  }
  // What stands between the parentheses of a sum or a function; a divisor may have parentheses of its own.
  template <class Operation>
  Result<SymInt> two_numbers(char between, char close, const Operation& operation) {
    GS_TRY(const SymInt a, number());
    if (!take(between)) return wrong(concat("misses ", between), "ceil(m/128)");
    const bool parentheses = between == '/' && !at_sum() && take('(');
    GS_TRY(const SymInt b, number());
    if (parentheses && !take(')')) return wrong("misses )", "ceil(m/(2*n))");
    if (!take(close)) return wrong(concat("misses ", close), "ceil(m/128)");
    return operation(a, b);
  }
  // "(a+b)", not a tuple: a plus that belongs to this parenthesis.
  bool at_sum() {
    skip();
    if (at_ == text_.size() || text_[at_] != '(') return false;
    int depth = 0;
    for (size_t i = at_; i < text_.size(); ++i) {
      depth += (text_[i] == '(') - (text_[i] == ')');
      if (depth == 0 || (depth == 1 && text_[i] == ',')) return false;
      if (depth == 1 && text_[i] == '+') return true;
    }
    return false;
  }
  Result<Stride> stride() {
    GS_TRY(SymInt scale, number());
    std::vector<int> basis;
    while (take('@')) {
      GS_TRY(const int64_t index, integer());
      if (index < 0 || index > 63) return wrong(concat("has a basis of ", index), "0 to 63");
      basis.insert(basis.begin(), int(index));
    }
    return Stride(std::move(scale), std::move(basis));
  }
  Result<Shape> shape() {
    return nested<SymInt>([this] { return number(); });
  }
  Result<SymbolicMode> strides_for(const Shape& shape) {
    if (!take(':')) return wrong("misses : and strides", "((2,4),8):((1,2),16)");
    const size_t begin = at_;
    GS_TRY(const Nested<Stride> strides, nested<Stride>([this] { return stride(); }));
    if (!congruent(shape, strides)) {
      at_ = begin;
      return wrong("has strides that are not nested like the shape", "a stride for each extent");
    }
    size_t next = 0;
    const std::vector<Stride> flat = strides.leaves();
    return transform(shape, [&](const SymInt& extent) { return SymbolicLeaf{extent, flat[next++]}; });
  }
  Result<SymbolicMode> mode() {
    GS_TRY(const Shape extents, shape());
    return strides_for(extents);
  }
  bool at_swizzle() {
    skip();
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with("Sw<") || rest.starts_with("S<");
  }
  Result<Swizzle> swizzle() {
    take('S');
    if (text_.substr(at_).starts_with('w')) ++at_;
    int64_t values[3];
    for (int i = 0; i < 3; ++i) {
      if (!take(i == 0 ? '<' : ',')) return wrong("misses a number of the swizzle", "Sw<3,4,3>");
      GS_TRY(values[i], integer());
      if (values[i] > 32 || values[i] < (i == 2 ? -32 : 0))
        return wrong(concat("has a swizzle of ", values[i]), "Sw<3,4,3>");
    }
    if (!take('>')) return wrong("misses > after the swizzle", "Sw<3,4,3>");
    const Swizzle swizzle{int(values[0]), int(values[1]), int(values[2])};
    if (!swizzle.valid())
      return wrong("has a swizzle whose bits overlap or lie beyond 62", "a shift of at least as many bits");
    return swizzle;
  }

 private:
  struct Nesting {
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Parser& parser_;
  };
  std::string_view text_;
  const char* what_;
  size_t at_ = 0;
  int nesting_ = 0;  // of numbers
};

// [outer o start o] modes [o swizzle]
Result<SymbolicLayout> read_layout(Parser& in) {
  SymbolicLayout out;
  bool composed = false;
  if (in.at_swizzle()) {
    GS_TRY(out.swizzle, in.swizzle());
    composed = true;
  } else {
    GS_TRY(out.modes, in.mode());
  }
  if (!composed) {
    if (!in.take('o')) return out;
    if (in.at_swizzle()) {
      GS_TRY(out.swizzle, in.swizzle());
      return out;
    }
    out.outer.push_back(std::move(out.modes));
  } else if (!in.take('o')) {
    return in.wrong("is a swizzle of no layout", "Sw<3,4,3> o 0 o (8,64):(128,2)");
  }
  GS_TRY(const Shape start, in.shape());
  if (in.peek() == ':') {  // no start: a layout straight away
    GS_TRY(out.modes, in.strides_for(start));
    return out;
  }
  if (!(start.is_leaf() && start.leaf().constant() == 0)) out.start = start;
  if (!in.take('o')) return in.wrong("misses a layout after the start", "(4,5):(1,4) o 2 o (2,3):(1,2)");
  GS_TRY(out.modes, in.mode());
  return out;
}

template <class T, class Print>
void print_into(std::string& text, const Nested<T>& tuple, const Print& leaf) {
  if (tuple.is_leaf()) {
    text += leaf(tuple.leaf());
    return;
  }
  text += '(';
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (i > 0) text += ',';
    print_into(text, tuple[i], leaf);
  }
  text += ')';
}
}  // namespace

Result<SymbolicLayout> parse_layout(std::string_view text) {
  Parser in(text, "layout");
  GS_TRY(SymbolicLayout layout, read_layout(in));
  GS_CHECK(in.end());
  return layout;
}

Result<SymbolicMode> parse_mode(std::string_view text) {
  Parser in(text, "layout");
  GS_TRY(SymbolicMode mode, in.mode());
  GS_CHECK(in.end());
  return mode;
}

Result<Shape> parse_shape(std::string_view text) {
  Parser in(text, "shape");
  GS_TRY(Shape shape, in.shape());
  GS_CHECK(in.end());
  return shape;
}

Result<Nested<int64_t>> parse_numbers(std::string_view text) {
  Parser in(text, "numbers");
  GS_TRY(Nested<int64_t> numbers, in.nested<int64_t>([&] { return in.integer(); }));
  GS_CHECK(in.end());
  return numbers;
}

Result<Nested<std::optional<SymInt>>> parse_slice(std::string_view text) {
  using Index = std::optional<SymInt>;
  Parser in(text, "coordinate");
  GS_TRY(Nested<Index> at, in.nested<Index>([&]() -> Result<Index> {
    if (in.take('_')) return Index();
    GS_TRY(const SymInt n, in.number());
    return Index(n);
  }));
  GS_CHECK(in.end());
  return at;
}

Result<Tiler> parse_tiler(std::string_view text) {
  using Tile = std::optional<SymbolicMode>;
  Parser in(text, "tiler");
  if (in.peek() == '<') {
    GS_TRY(Tiler tiler, in.nested<Tile>(
                            [&]() -> Result<Tile> {
                              if (in.take('_')) return Tile();
                              GS_TRY(const Shape extents, in.shape());
                              if (in.peek() != ':' && extents.is_leaf())
                                return Tile(SymbolicMode(SymbolicLeaf{extents.leaf(), 1}));
                              GS_TRY(SymbolicMode mode, in.strides_for(extents));
                              return Tile(std::move(mode));
                            },
                            0, '<', '>'));
    GS_CHECK(in.end());
    return tiler;
  }
  GS_TRY(const Shape extents, in.shape());
  if (in.peek() != ':') {
    GS_CHECK(in.end());
    return tiler(extents);
  }
  GS_TRY(const SymbolicMode mode, in.strides_for(extents));
  GS_CHECK(in.end());
  return tiler(mode);
}

std::string print(const Shape& shape) {
  std::string text;
  print_into(text, shape, [](const SymInt& n) { return n.text(); });
  return text;
}

std::string print(const SymbolicMode& mode) {
  std::string text = print(shape_of(mode)) + ":";
  print_into(text, mode, [](const SymbolicLeaf& leaf) { return leaf.stride.text(); });
  return text;
}

std::string print(const SymbolicLayout& layout) {
  std::string text = print(layout.modes);
  const std::string swizzle =
      concat("Sw<", layout.swizzle.bits, ',', layout.swizzle.base, ',', layout.swizzle.shift, '>');
  const std::string start = layout.start.empty() ? "0" : print(layout.start);
  if (!layout.outer.empty()) return concat(print(layout.outer[0]), " o ", start, " o ", text);
  if (!layout.start.empty()) return concat(swizzle, " o ", start, " o ", text);
  return layout.swizzle.bits ? concat(text, " o ", swizzle) : text;
}

}  // namespace gemmsmith
