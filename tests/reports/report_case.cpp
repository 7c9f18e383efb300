#include "reports/report_case.h"

#include <cmath>
#include <functional>

#include "problem/reference.h"
#include "problem/spec.h"
#include "support/half.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kHeader =
    "id,m,n,k,batch,dtype_a,dtype_b,dtype_d,layout_a,layout_b,alpha,beta,epilogue,special,expected";

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields = {""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// "a=list:1 2 b=const:1 flag" -> {a: "list:1 2", b: "const:1 flag"}; a word without "=" in front is a key without value.
std::map<std::string, std::string> specials_of(const std::string& text) {
  std::map<std::string, std::string> specials;
  std::string* last = nullptr;
  for (const std::string_view word : split_words(text)) {
    const size_t assigned = word.find('=');
    if (assigned != word.npos) {
      last = &(specials[std::string(word.substr(0, assigned))] = std::string(word.substr(assigned + 1)));
    } else if (last) {
      *last += concat(" ", word);
    } else {
      last = &specials[std::string(word)];
    }
  }
  return specials;
}

std::string operand_text(const std::string& type, const std::string& layout) {
  if (layout.starts_with("S(")) return type + ":strides" + layout.substr(1);
  if (layout.empty() || layout[0] == 'R') return type + ":row" + layout.substr(layout.empty() ? 0 : 1);
  return type + ":col" + layout.substr(1);
}

std::string problem_text(const std::vector<std::string>& f, const ReportCase& c) {
  const std::string &m = f[1], &n = f[2], &k = f[3], &batch = f[4], &type = f[7];
  std::string text =
      concat(batch, "x", m, "x", n, "x", k, " a=", operand_text(f[5], f[8]), " b=", operand_text(f[6], f[9]), " d=");
  if (c.has("bsd"))
    text += concat(type, ":strides(", n, ",1,", c.at("bsd"), ")");
  else if (c.has("ldd"))
    text += concat(type, ":row:ld=", c.at("ldd"));
  else
    text += operand_text(type, c.at("layout_d"));
  if (c.has("bsc")) text += concat(" c=", type, ":strides(", n, ",1,", c.at("bsc"), ")");
  if (c.has("layout_c")) text += concat(" c=", operand_text(type, c.at("layout_c")));
  if (c.at("c") == "bias_n") text += concat(" c=", type, ":strides(0,1)");
  text += concat(" alpha=", f[10], " beta=", f[11]);
  if (!f[12].empty()) text += concat(" epilogue=", f[12]);
  return text;
}

using Rule = std::function<double(int64_t i, int64_t j, int64_t t)>;

double number(std::string_view text) {
  const auto value = parse_number(text);
  GS_ASSERT(value, "numbers of the file are numbers");
  return *value;
}

// What `text` says about a matrix of so many columns; `plain` where it says nothing.
Rule rule_of(const std::string& text, int64_t columns, Rule plain) {
  const auto rest = [&](size_t from) { return std::string_view(text).substr(from); };
  if (text.starts_with("const:")) return [v = number(rest(6))](int64_t, int64_t, int64_t) { return v; };
  if (text == "lin") return [columns](int64_t i, int64_t j, int64_t) { return double(i * columns + j); };
  if (text == "eye") return [](int64_t i, int64_t j, int64_t) { return double(i == j); };
  if (text.starts_with("list:")) {
    std::vector<double> values;
    for (const std::string_view word : split_words(rest(5))) values.push_back(number(word));
    return [values, columns](int64_t i, int64_t j, int64_t) { return values.at(size_t(i * columns + j)); };
  }
  if (text.starts_with("normal:") || text.starts_with("normal_rows:")) {
    const bool rows = text.starts_with("normal_rows:");
    const auto seed = uint64_t(number(rest(text.find(':') + 1)));
    // Called in order of rows and columns: one generator for all, or a new one for each row.
    return [rows, seed, random = Random(seed)](int64_t i, int64_t j, int64_t) mutable {
      if (rows && j == 0) random = Random(seed + uint64_t(i));
      return random.normal();
    };
  }
  GS_ASSERT(text.empty() || text == "pat" || text == "bias_n" || text.starts_with("same_memory_as_"),
            "data rules of the file are known");
  return plain;
}

void fill(const MatrixSpec& s, const void* memory, int64_t batch, int64_t rows, int64_t columns, const Rule& rule) {
  for (int64_t t = 0; t < (s.batch_stride == 0 ? std::min<int64_t>(batch, 1) : batch); ++t)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        store_element(s.type, const_cast<void*>(memory), t * s.batch_stride + i * s.row_stride + j * s.column_stride,
                      rule(i, j, t));
}

double bias_n(int64_t j) { return double(j % 4 - 1); }

void fill_input(const ReportCase& c, const GemmProblem& p, const InputSpec& input, const void* memory) {
  for (int64_t at = 0; at < elements_of(input, p); ++at) {
    double value = input.index == InputIndex::row ? double(at % 3 + 1) : bias_n(at);
    if (input.index == InputIndex::full) value = double((at / p.n % p.m + 2 * (at % p.n) + at / (p.m * p.n)) % 5 - 2);
    if (input.index == InputIndex::column && c.has("bias_n")) value = number(c.at("bias_n"));
    if (input.index == InputIndex::scalar && c.has(input.name)) value = number(c.at(input.name));
    store_element(input.type, const_cast<void*>(memory), at, value);
  }
}

// The part after "refuse|" or "refuse:memory|" or "error|".
std::string claim_of(const ReportCase& c) {
  const size_t bar = c.expected.find('|');
  return bar == std::string::npos ? c.expected : c.expected.substr(bar + 1);
}

double element(const MatrixSpec& s, const void* memory, int64_t t, int64_t i, int64_t j) {
  return load_element(s.type, memory, t * s.batch_stride + i * s.row_stride + j * s.column_stride);
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

}  // namespace

std::vector<ReportCase> read_report_cases(std::string_view csv) {
  std::vector<ReportCase> cases;
  const std::vector<std::string_view> lines = split(csv, '\n');
  GS_ASSERT(lines.front() == kHeader, "the columns are those that are read here");
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> f = fields_of(lines[i]);
    GS_ASSERT(f.size() == 15, "every row has all columns");
    ReportCase c;
    c.id = f[0];
    c.special = specials_of(f[13]);
    c.expected = f[14];
    c.may_refuse = c.expected.starts_with("refuse");
    c.may_be_error = c.expected.starts_with("error");
    c.text = problem_text(f, c);
    cases.push_back(std::move(c));
  }
  return cases;
}

void fill_report_operands(const ReportCase& c, const GemmProblem& p, GemmArguments& args) {
  const bool full8 = c.at("fill") == "full8";
  const Rule all8 = [](int64_t i, int64_t j, int64_t) { return double((37 * i + 91 * j) % 256 - 128); };
  const Rule a = [](int64_t i, int64_t k, int64_t t) { return double((3 * i + 5 * k + t) % 7 - 3); };
  const Rule b = [](int64_t k, int64_t j, int64_t t) { return double((2 * k + 7 * j + t) % 5 - 2); };
  const Rule cc = [](int64_t i, int64_t j, int64_t t) { return double((i + 2 * j + t) % 5 - 2); };
  const Rule vector = [](int64_t, int64_t j, int64_t) { return bias_n(j); };
  fill(p.a, args.a, p.batch, p.m, p.k, rule_of(c.at("a"), p.k, full8 ? all8 : a));
  fill(p.b, args.b, p.batch, p.k, p.n, rule_of(c.at("b"), p.n, full8 ? all8 : b));
  if (p.reads_c()) fill(p.c, args.c, p.batch, p.m, p.n, rule_of(c.at("c"), p.n, c.at("c") == "bias_n" ? vector : cc));
  for (size_t i = 0; i < p.inputs.size(); ++i) fill_input(c, p, p.inputs[i], args.inputs[i]);
  if (c.at("a") == "same_memory_as_b") args.a = args.b;
  if (c.at("d") == "same_memory_as_a") args.d = const_cast<void*>(args.a);
}

ReportAnswer expected_answer(const ReportCase& c, const GemmProblem& p, const GemmArguments& args) {
  ReportAnswer answer;
  const Reference reference(p, args);
  double sum = 0, first = 0, last = 0;
  for (int64_t t = 0; t < p.batch; ++t) {
    constexpr int64_t kRows = 64;
    for (int64_t row = 0; row < p.m; row += kRows) {
      const int64_t rows = std::min(kRows, p.m - row);
      const std::vector<DotProduct> dots = reference.dots(t, row, rows);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          const DotProduct& dot = dots[size_t(i * p.n + j)];
          const double value = reference.value(t, row + i, j, dot);
          sum += dot.sum;
          if (answer.d.empty()) first = value;
          last = value;
          answer.d.push_back(round_to(p.d.type, value));
        }
    }
  }
  const std::string claim = claim_of(c);
  if (!claim.starts_with("exact; psum=")) return answer;
  const std::string found = concat("exact; psum=", sum, " d_first=", first, " d_last=", last);
  if (found != claim) answer.failure = concat("the reference gives \"", found, "\", expected \"", claim, "\"");
  return answer;
}

std::string judge(const ReportCase& c, const GemmProblem& p, const ReportAnswer& answer, const GemmArguments& args) {
  const std::string claim = claim_of(c);
  std::vector<double> list;
  if (claim.starts_with("list:"))
    for (const std::string_view word : split_words(std::string_view(claim).substr(5))) list.push_back(number(word));
  size_t at = 0;
  for (int64_t t = 0; t < p.batch; ++t)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j, ++at) {
        const double got = element(p.d, args.d, t, i, j);
        double wanted = answer.d.at(at);
        if (claim.starts_with("all=")) wanted = number(std::string_view(claim).substr(4));
        if (!list.empty()) wanted = list.at(at);
        if (claim == "d=a") wanted = element(p.a, args.a, t, i, j);
        if (claim == "d=c") wanted = element(p.c, args.c, t, i, j);
        if (claim == "exact; symmetric" && !same(got, element(p.d, args.d, t, j, i)))
          return concat("D[", i, ",", j, "] is not D[", j, ",", i, "]");
        if (claim.starts_with("finite; all<=0; abs<1e-30")) {
          if (got <= 0 && std::abs(got) < 1e-30) continue;
          return concat("D[", i, ",", j, "] is ", got, ", not a tiny negative number or 0");
        }
        if (!same(got, wanted)) return concat("D[", t, ",", i, ",", j, "] is ", got, ", not ", wanted);
      }
  return {};
}

}  // namespace gemmsmith
