#include "problem/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "problem/operands.h"
#include "problem/random_problem.h"
#include "support/file.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t place(const MatrixSpec& s, int64_t t, int64_t i, int64_t j) {
  return t * s.batch_stride + i * s.row_stride + j * s.column_stride;
}

// D = epilogue(alpha A B + beta C) by its definition, without a line of the reference's code.
double by_definition(const GemmProblem& p, const GemmArguments& args, int64_t t, int64_t i, int64_t j) {
  const auto at = [&](const MatrixSpec& s, const void* base, int64_t r, int64_t c) {
    return load_element(s.type, base, place(s, t, r, c));
  };
  double sum = 0;
  for (int64_t k = 0; k < p.k && p.alpha != 0; ++k) sum += at(p.a, args.a, i, k) * at(p.b, args.b, k, j);
  double x = p.alpha == 0 ? 0 : p.alpha * sum;
  if (p.beta != 0) x += p.beta * at(p.c, args.c, i, j);
  return evaluate(p.epilogue, x, [&](const std::string& name) {
    for (size_t n = 0; n < p.inputs.size(); ++n) {
      if (p.inputs[n].name != name) continue;
      const int64_t offsets[] = {0, i, j, (t * p.m + i) * p.n + j};
      return load_element(p.inputs[n].type, args.inputs[n], offsets[size_t(p.inputs[n].index)]);
    }
    return kNan;
  });
}

bool near(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-12 * (1 + std::abs(y));
}

TEST(Reference, IsTheDefinition) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const GemmProblem p = random_problem(random);
    const Operands operands = Operands::create(p, uint64_t(i)).value();
    const GemmArguments& args = operands.arguments();
    const Reference reference(p, args);
    compute_reference(p, args);
    for (int64_t t = 0; t < p.batch; ++t) {
      const std::vector<DotProduct> dots = reference.dots(t, 0, p.m);
      for (int64_t r = 0; r < p.m; ++r)
        for (int64_t c = 0; c < p.n; ++c) {
          const double expected = by_definition(p, args, t, r, c), single = reference.value(t, r, c);
          const double blocked = reference.value(t, r, c, dots[size_t(r * p.n + c)]);
          ASSERT_TRUE(near(single, expected)) << p.print();
          ASSERT_TRUE(near(blocked, expected)) << p.print();
          const double stored = load_element(p.d.type, args.d, place(p.d, t, r, c));
          ASSERT_TRUE(stored == round_to(p.d.type, blocked) || (std::isnan(stored) && std::isnan(blocked)))
              << p.print();
          const ReferenceElement element = reference.element(t, r, c, dots[size_t(r * p.n + c)]);
          ASSERT_TRUE(near(element.result.value, expected)) << p.print();
          const bool enclosed = element.result.low <= expected && expected <= element.result.high;
          ASSERT_TRUE(enclosed || std::isnan(expected)) << p.print();
        }
    }
    ASSERT_EQ(operands.damage(), std::nullopt) << p.print();
  }
}

TEST(Reference, LargeBlocksAgreeWithSingleDotProducts) {
  const GemmProblem p = GemmProblem::parse("70x300x517 b=col").value();
  const Operands operands = Operands::create(p, 3).value();
  const Reference reference(p, operands.arguments());
  const std::vector<DotProduct> dots = reference.dots(0, 0, p.m);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      const DotProduct dot = reference.dot(0, i, j);
      ASSERT_NEAR(dots[size_t(i * p.n + j)].sum, dot.sum, 1e-12 * dot.magnitude);
      ASSERT_NEAR(dots[size_t(i * p.n + j)].magnitude, dot.magnitude, 1e-12 * dot.magnitude);
    }
}

// Small matrices of f32 in row-major order.
struct Small {
  const char* problem;
  std::vector<float> a, b, c;
  std::vector<float> d;  // expected
};

TEST(Reference, KeepsTheContractForZerosNanAndInfinity) {
  const float nan = NAN, inf = INFINITY;
  const std::vector<Small> cases = {
      {"1x1x1", {1}, {1}, {nan}, {1}},  // beta = 0 does not read C
      {"1x4x4 alpha=0 beta=1",
       {nan, nan, nan, nan},
       std::vector<float>(16, 1),
       {1, 2, 3, 4},
       {1, 2, 3, 4}},  // nor alpha = 0 A and B
      {"2x2x1 beta=nan", {0, 0}, {0, 0}, {1, 1, 1, 1}, {nan, nan, nan, nan}},
      {"2x2x1 beta=inf", {0, 0}, {0, 0}, {0, 0, 0, 0}, {nan, nan, nan, nan}},
      {"3x1x3", {2, 0, 0, 0, 3, 0, 0, 0, 4}, {inf, 1, 1}, {}, {inf, nan, nan}},  // zeros are not skipped
      {"2x2x0 beta=1", {}, {}, {1, 2, 3, 4}, {1, 2, 3, 4}},
      {"2x2x0", {}, {}, {}, {0, 0, 0, 0}},
      {"1x3x1 epilogue=silu(acc)", {1}, {-1000, 0, 1000}, {}, {-0.0f, 0, 1000}},
      {"1x2x1 epilogue=relu(acc)", {1}, {nan, -1}, {}, {nan, 0}},
  };
  for (const Small& c : cases) {
    const GemmProblem p = GemmProblem::parse(c.problem).value();
    std::vector<float> d(c.d.size(), 777);
    compute_reference(p, {.a = c.a.data(), .b = c.b.data(), .c = c.c.data(), .d = d.data(), .inputs = {}});
    for (size_t i = 0; i < d.size(); ++i)
      EXPECT_TRUE(d[i] == c.d[i] || (std::isnan(d[i]) && std::isnan(c.d[i])))
          << c.problem << " element " << i << ": " << d[i];
  }
}

TEST(Reference, NothingIsReadOrWrittenForEmptyProblems) {
  for (const char* text : {"0x4x4", "4x0x4", "0x4x4x4", "0x0x0"}) {
    const GemmProblem p = GemmProblem::parse(text).value();
    compute_reference(p, {});
  }
}

TEST(Reference, IntegersAreExactAndWrap) {
  const GemmProblem p = GemmProblem::parse("1x1x200000 dtype=i8").value();
  const std::vector<int8_t> a(200000, -128);
  int32_t d = 0;
  const GemmArguments args{.a = a.data(), .b = a.data(), .c = nullptr, .d = &d, .inputs = {}};
  compute_reference(p, args);
  EXPECT_EQ(d, int32_t(uint32_t(200000ull * 16384)));
  EXPECT_EQ(Reference(p, args).dot(0, 0, 0).sum, double(d));
}

// ---- public bug reports: tests/data/report_cases.csv gives sums and corners of D that were computed elsewhere

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

std::string operand_text(const std::string& type, std::string layout) {
  if (layout.starts_with("S(")) return type + ":strides" + layout.substr(1);
  if (layout == "R") return type;
  return type + ":col" + layout.substr(1);
}

// Values of the file's data rule; t is 0 for a broadcast operand.
void fill_by_rule(const GemmProblem& p, const GemmArguments& args, bool full8) {
  const auto fill = [&](const MatrixSpec& s, const void* base, int64_t rows, int64_t columns, auto rule) {
    for (int64_t t = 0; t < (s.batch_stride == 0 ? 1 : p.batch); ++t)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t value = full8 ? (37 * i + 91 * j) % 256 - 128 : rule(i, j, t);
          store_element(s.type, const_cast<void*>(base), place(s, t, i, j), double(value));
        }
  };
  fill(p.a, args.a, p.m, p.k, [](int64_t i, int64_t k, int64_t t) { return (3 * i + 5 * k + t) % 7 - 3; });
  fill(p.b, args.b, p.k, p.n, [](int64_t k, int64_t j, int64_t t) { return (2 * k + 7 * j + t) % 5 - 2; });
  if (p.reads_c()) fill(p.c, args.c, p.m, p.n, [](int64_t i, int64_t j, int64_t t) { return (i + 2 * j + t) % 5 - 2; });
}

TEST(Reference, AgreesWithThePublicReports) {
  const std::string text = read_file(GEMMSMITH_SOURCE_DIR "/tests/data/report_cases.csv").value();
  int run = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string> f = fields_of(line);
    if (f.size() < 15) continue;
    const std::string &special = f[13], &expected = f[14];
    const size_t at = expected.find("exact; psum=");
    const bool simple = special.empty() || special == "fill=full8" || special == "bsc=0" || special == "bias=0.5";
    if (at == std::string::npos || !data_type_named(f[5]) || !simple ||
        parse_integer(f[1]).value() * parse_integer(f[3]).value() > 100000)
      continue;
    std::string form = concat(f[4], "x", f[1], "x", f[2], "x", f[3], " a=", operand_text(f[5], f[8]),
                              " b=", operand_text(f[6], f[9]), " d=", f[7], " alpha=", f[10], " beta=", f[11]);
    if (special == "bsc=0") form += concat(" c=strides(", f[2], ",1,0)");
    if (!f[12].empty()) form += concat(" epilogue=", f[12]);
    const auto parsed = GemmProblem::parse(form);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text() << " in " << form;
    const GemmProblem& p = *parsed;
    const Operands operands = Operands::create(p, 1).value();
    fill_by_rule(p, operands.arguments(), special == "fill=full8");
    if (special == "bias=0.5")
      store_element(p.inputs[0].type, const_cast<void*>(operands.arguments().inputs[0]), 0, 0.5);

    const Reference reference(p, operands.arguments());
    double sum = 0;
    for (int64_t t = 0; t < p.batch; ++t)
      for (const DotProduct& dot : reference.dots(t, 0, p.m)) sum += dot.sum;
    const std::string got = concat("exact; psum=", sum, " d_first=", reference.value(0, 0, 0),
                                   " d_last=", reference.value(p.batch - 1, p.m - 1, p.n - 1));
    EXPECT_EQ(got, expected.substr(at)) << f[0] << ": " << form;
    ++run;
  }
  EXPECT_GE(run, 15);
}

}  // namespace
}  // namespace gemmsmith
