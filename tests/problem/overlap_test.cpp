#include "problem/overlap.h"

#include <gtest/gtest.h>

#include <set>

#include "problem/random_problem.h"

namespace gemmsmith {
namespace {

constexpr int64_t kBytes = 1 << 14;

std::set<int64_t> bytes_of_matrix(const MatrixSpec& s, int64_t rows, int64_t columns, int64_t batch, int64_t origin) {
  std::set<int64_t> bytes;
  for (int64_t t = 0; t < batch; ++t)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t byte = 0; byte < bytes_of(s.type); ++byte)
          bytes.insert(origin + (t * s.batch_stride + i * s.row_stride + j * s.column_stride) * bytes_of(s.type) +
                       byte);
  return bytes;
}

bool meet(const std::set<int64_t>& x, const std::set<int64_t>& y) {
  return std::any_of(x.begin(), x.end(), [&](int64_t byte) { return y.contains(byte); });
}

// Operands of random problems at random places of one memory, against every byte of them.
TEST(Overlap, IsWhatTheBytesSay) {
  Random random(11);
  int overlapping = 0, interleaved = 0;
  for (int round = 0; round < 10000; ++round) {
    const GemmProblem p = random_problem(random, 5);
    if (!p.validate().ok()) continue;
    const int64_t reach = int64_t(1) << random.between(3, 12);
    const auto place = [&] { return kBytes + 8 * random.between(0, reach / 8); };
    const int64_t a = place(), b = place(), c = place(), d = place();
    GemmArguments args;
    const auto pointer = [](int64_t at) { return reinterpret_cast<void*>(at); };
    args.a = pointer(a);
    args.b = pointer(b);
    args.c = pointer(c);
    args.d = pointer(d);
    std::vector<int64_t> inputs;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      inputs.push_back(place());
      args.inputs.push_back(pointer(inputs.back()));
    }
    const std::set<int64_t> written = bytes_of_matrix(p.d, p.m, p.n, p.batch, d);
    std::string expected;
    bool ranges_meet = false;
    const auto hold = [&](const std::string& name, const std::set<int64_t>& read) {
      if (read.empty() || written.empty()) return;
      ranges_meet |= *read.begin() <= *written.rbegin() && *written.begin() <= *read.rbegin();
      if (expected.empty() && meet(read, written)) expected = name;
    };
    if (p.alpha != 0 && p.k > 0) hold("a", bytes_of_matrix(p.a, p.m, p.k, p.batch, a));
    if (p.alpha != 0 && p.k > 0) hold("b", bytes_of_matrix(p.b, p.k, p.n, p.batch, b));
    if (p.reads_c()) hold("c", bytes_of_matrix(p.c, p.m, p.n, p.batch, c));
    for (size_t i = 0; i < inputs.size(); ++i)
      hold(p.inputs[i].name,
           bytes_of_matrix({p.inputs[i].type, 0, 1, 0}, 1, elements_of(p.inputs[i], p), 1, inputs[i]));

    const Status status = OverlapCheck(p).check(args);
    overlapping += !expected.empty();
    interleaved += expected.empty() && ranges_meet;
    ASSERT_EQ(status.ok() ? "" : status.error().text(),
              expected.empty() ? ""
                               : "gemm: d shares memory with " + expected +
                                     ", which is read while d is written; give d memory of its own")
        << p.print();
  }
  EXPECT_GT(overlapping, 300);
  EXPECT_GT(interleaved, 20) << "ranges that meet without an element in common";
}

TEST(Overlap, ColumnsOfOneMatrixBesideEachOther) {
  std::vector<float> memory(64 * 1000);
  const GemmProblem p = GemmProblem::parse("64x500x500 a=f32:row:ld=1000 d=f32:row:ld=1000").value();
  std::vector<float> b(500 * 500);
  const OverlapCheck check(p);
  EXPECT_TRUE(check.check({.a = memory.data(), .b = b.data(), .d = memory.data() + 500}).ok());
  EXPECT_FALSE(check.check({.a = memory.data(), .b = b.data(), .d = memory.data() + 499}).ok());
}

}  // namespace
}  // namespace gemmsmith
