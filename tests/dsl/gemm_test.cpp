// The packed GEMM of gemm.cpp against float64, on sizes around every edge, between guard pages, with out-of-bounds
// checks recorded.
#include "dsl/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "dsl/jit.h"
#include "dsl/memory.h"

namespace gemmsmith::test {
namespace {

struct Case {
  std::string name;
  GemmConfig config = {};
  DataType input = DataType::f32, output = DataType::f32, acc = DataType::f32;
  Major a = Major::row, b = Major::column, d = Major::row, c = Major::row;  // b as n x k: column is a row-major k x n
  bool batched = false;
  std::string epilogue = {};
  std::vector<InputArg> inputs = {};
  double alpha = 1, beta = 0;
  std::function<double(double acc, const std::function<double(const std::string&)>& input)> expected = {};
  std::vector<std::string> needs = {};  // features
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

std::vector<Case> cases() {
  const auto i8 = DataType::i8, i32 = DataType::i32, bf16 = DataType::bf16, f16 = DataType::f16, f32 = DataType::f32;
  std::vector<Case> out = {
      {.name = "f32"},
      {.name = "f32_a_column_b_row", .a = Major::column, .b = Major::row},
      {.name = "f32_wide_panel", .config = {.mr = 14, .nr = 48, .mc = 28, .nc = 96, .kc = 20}, .b = Major::row},
      {.name = "f32_strided_everything", .a = Major::none, .b = Major::none, .d = Major::none},
      {.name = "f32_d_column", .d = Major::column},
      {.name = "f32_batched", .b = Major::row, .batched = true},
      {.name = "bf16_to_f32", .input = bf16, .output = f32, .b = Major::row},
      {.name = "bf16_to_bf16",
       .config = {.mr = 4, .nr = 16, .mc = 8, .nc = 32, .kc = 32},
       .input = bf16,
       .output = bf16,
       .a = Major::column},
      {.name = "f16_to_f16", .input = f16, .output = f16, .b = Major::row},
      {.name = "i8_to_i32_widened", .input = i8, .output = i32, .acc = i32, .b = Major::row},
      {.name = "bf16_dot_pairs", .config = {.inner = Inner::dot_pairs}, .input = bf16, .needs = {"avx512_bf16"}},
      {.name = "bf16_dot_pairs_b_row",
       .config = {.mr = 14, .mc = 28, .inner = Inner::dot_pairs},
       .input = bf16,
       .a = Major::column,
       .b = Major::row,
       .needs = {"avx512_bf16"}},
      {.name = "i8_dot_quads",
       .config = {.inner = Inner::dot_quads},
       .input = i8,
       .output = i32,
       .acc = i32,
       .needs = {"avx512_vnni"}},
      {.name = "i8_dot_quads_b_row",
       .config = {.mr = 3, .nr = 16, .mc = 9, .inner = Inner::dot_quads},
       .input = i8,
       .output = i32,
       .acc = i32,
       .a = Major::column,
       .b = Major::row,
       .needs = {"avx512_vnni"}},
      {.name = "i8_dot_quads_strided",
       .config = {.inner = Inner::dot_quads},
       .input = i8,
       .output = i32,
       .acc = i32,
       .a = Major::none,
       .b = Major::none,
       .needs = {"avx512_vnni"}},
  };
  out.push_back(
      {.name = "alpha_beta_c", .c = Major::column, .alpha = 0.5, .beta = 2, .expected = [](double acc, const auto& in) {
         return 0.5 * acc + 2 * in("c");
       }});
  out.push_back({.name = "all_inputs",
                 .output = bf16,
                 .batched = true,
                 .epilogue = "max(acc * scale + row[m], column[n]) - full[m,n]",
                 .inputs = {{"full", InputIndex::full, bf16},
                            {"row", InputIndex::row, f32},
                            {"column", InputIndex::column, f16},
                            {"scale", InputIndex::scalar, f32}},
                 .expected = [](double acc, const auto& in) {
                   return std::max(acc * in("scale") + in("row"), in("column")) - in("full");
                 }});
  out.push_back({.name = "where_and_casts",
                 .epilogue = "where(acc > row[m], i8(acc * 3), -acc)",
                 .inputs = {{"row", InputIndex::row, f32}},
                 .expected = [](double acc, const auto& in) {
                   return acc > in("row") ? std::clamp(std::nearbyint(acc * 3), -128.0, 127.0) : -acc;
                 }});
  out.push_back({.name = "i8_relu_to_i8",
                 .input = i8,
                 .output = i8,
                 .acc = i32,
                 .epilogue = "max(acc, 0)",
                 .expected = [](double acc, const auto&) { return std::clamp(std::max(acc, 0.0), -128.0, 127.0); }});
  out.push_back(
      {.name = "i8_to_i8_saturates", .input = i8, .output = i8, .acc = i32, .expected = [](double acc, const auto&) {
         return std::clamp(acc, -128.0, 127.0);
       }});
  return out;
}

// What kernels are recorded and compiled for: this CPU, Ints as on a GPU, and a CPU of 2013.
struct Machine {
  std::string name, llvm_features;  // empty: this CPU
  RecordOptions options;
};
std::vector<Machine> machines() {
  return {
      {"this CPU",
       "",
       {.vector_bytes = host_vector_bytes(), .index_bits = 64, .features = host_features(), .check_bounds = true}},
      {"this CPU, 32-bit Ints",
       "",
       {.vector_bytes = host_vector_bytes(), .index_bits = 32, .features = host_features(), .check_bounds = true}},
      {"AVX2", "+avx2,+fma,+f16c", {.vector_bytes = 32, .index_bits = 64, .features = {"avx2"}, .check_bounds = true}}};
}
bool has(const std::vector<std::string>& features, const std::string& name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

class Gemm : public testing::TestWithParam<Case> {};

TEST_P(Gemm, AgreesWithFloat64) {
  const Case& c = GetParam();
  GemmClass p;
  p.a = {"a", "m", "k", c.a, c.input, c.batched};
  p.b = {"b", "n", "k", c.b, c.input, false};
  p.out.d = {"d", "m", "n", c.d, c.output, c.batched};
  p.out.c = {"c", "m", "n", c.c, DataType::f32, c.batched};
  p.out.acc = c.acc;
  p.out.alpha = c.alpha != 1, p.out.beta = c.beta != 0;
  p.out.inputs = c.inputs;
  if (!c.epilogue.empty()) p.out.epilogue = Expr::parse(c.epilogue).value();

  std::mt19937 random(7);
  const auto small = [&](Matrix& m) {
    for (int64_t t = 0; t < m.batch; ++t)
      for (int64_t i = 0; i < m.rows; ++i)
        for (int64_t j = 0; j < m.columns; ++j) {
          const int x = int(random() % 17) - 8;
          m.set(t, i, j,
                m.type == DataType::i8 ? x * 16 - (x > 0) : x / 8.0);  // exact in every type; i8 reaches its ends
        }
  };
  int machines_used = 0, shape = 0;
  for (const Machine& machine : machines()) {
    if (!std::all_of(c.needs.begin(), c.needs.end(),
                     [&](const std::string& need) { return has(machine.options.features, need); }))
      continue;
    ++machines_used;
    IrContext context;
    auto kernel = record(context, "gemm", machine.options, [&](KernelBuilder& k) { gemm_packed(k, c.config, p); });
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    Jit jit(machine.llvm_features);
    ASSERT_EQ(jit.load(*kernel), "");
    const int64_t batch = c.batched ? 3 : 1;
    for (int64_t m : {1, 5, 12, 13})
      for (int64_t n : {1, 16, 31, 64, 70})
        for (int64_t k : {0, 1, 2, 3, 17, 48, 64, 99}) {
          if (++shape % 2 == 0 && machines_used > 1) continue;
          Matrix a(c.input, m, k, c.a, 3, batch), b(c.input, n, k, c.b, 1), d(c.output, m, n, c.d, 5, batch),
              cc(DataType::f32, m, n, c.c, 2, batch);
          small(a), small(b), small(cc);
          Binding binding{
              .pointers = {{"a", a.data()}, {"b", b.data()}, {"d", d.data()}, {"c", cc.data()}},
              .row_strides = {{"a", a.row_stride}, {"b", b.row_stride}, {"d", d.row_stride}, {"c", cc.row_stride}},
              .column_strides = {{"a", a.column_stride},
                                 {"b", b.column_stride},
                                 {"d", d.column_stride},
                                 {"c", cc.column_stride}},
              .batch_strides = {{"a", a.batch_stride}, {"d", d.batch_stride}, {"c", cc.batch_stride}},
              .extents = {{"m", m}, {"n", n}, {"k", k}, {"batch", batch}},
              .scalars = {{"alpha", c.alpha}, {"beta", c.beta}},
              .cores = 1 + shape % 3};
          std::vector<std::unique_ptr<Matrix>> inputs;
          for (const InputArg& i : c.inputs) {
            const bool rows = i.index == InputIndex::row || i.index == InputIndex::full,
                       columns = i.index == InputIndex::column || i.index == InputIndex::full;
            const int64_t copies = i.index == InputIndex::full ? batch : 1;
            inputs.push_back(std::make_unique<Matrix>(i.type, rows ? m * copies : 1, columns ? n : 1, Major::row, 0));
            small(*inputs.back());
            binding.pointers[i.name] = inputs.back()->data();
          }
          jit.run(kernel->signature(), binding);

          ASSERT_TRUE(jit.trapped_lines().empty())
              << "out of bounds at gemm.cpp:" << jit.trapped_lines()[0] << ", m " << m << " n " << n << " k " << k;
          ASSERT_TRUE(d.gaps_untouched()) << "m " << m << " n " << n << " k " << k;
          for (int64_t t = 0; t < batch; ++t)
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (int64_t x = 0; x < k; ++x) sum += a.get(t, i, x) * b.get(0, j, x);
                const auto input = [&](const std::string& name) {
                  if (name == "c") return cc.get(t, i, j);
                  for (size_t q = 0; q < inputs.size(); ++q)
                    if (c.inputs[q].name == name) {
                      const InputIndex index = c.inputs[q].index;
                      if (index == InputIndex::full) return inputs[q]->get(0, t * m + i, j);
                      return inputs[q]->get(0, index == InputIndex::row ? i : 0, index == InputIndex::column ? j : 0);
                    }
                  return 0.0;
                };
                const double expected = c.expected ? c.expected(sum, input) : sum, got = d.get(t, i, j);
                const double unit = c.output == DataType::bf16  ? 1.0 / 256
                                    : c.output == DataType::f16 ? 1.0 / 2048
                                    : c.output == DataType::f32 ? 1e-6
                                                                : 0;
                ASSERT_LE(std::fabs(got - expected), unit * std::fabs(expected))
                    << "m " << m << " n " << n << " k " << k << " at (" << t << "," << i << "," << j << "), "
                    << machine.name << ", expected " << expected;
              }
        }
  }
  if (machines_used == 0) GTEST_SKIP() << "this CPU has no " << c.needs[0];
}

INSTANTIATE_TEST_SUITE_P(Dsl, Gemm, testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gemmsmith::test
