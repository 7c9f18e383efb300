// Strides so large that offsets need more than 32 bits: memory that is reserved, and given only where it is touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "api/state.h"
#include "problem/compare.h"
#include "problem/spec.h"
#include "support/half.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// Of one matrix of a problem; element (0,0) is where its negative strides leave off.
class SparseMatrix {
 public:
  SparseMatrix(const MatrixOperand& o, int64_t batch) : element_(bytes_of(o.spec->type)) {
    const ElementSpan span = span_of(o, batch);
    low_ = span.low;
    bytes_ = size_t(span.elements() * element_);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~SparseMatrix() {
    if (ok()) munmap(memory_, bytes_);
  }
  SparseMatrix(const SparseMatrix&) = delete;
  bool ok() const { return memory_ != MAP_FAILED; }
  void* origin() const { return static_cast<char*>(memory_) - low_ * element_; }

 private:
  int64_t element_, low_ = 0;
  size_t bytes_ = 0;
  void* memory_ = MAP_FAILED;
};

void fill(const MatrixOperand& o, int64_t batch, void* origin, uint64_t seed) {
  Random random(seed);
  for (int64_t t = 0; t < batch; ++t)
    for (int64_t i = 0; i < o.rows; ++i)
      for (int64_t j = 0; j < o.columns; ++j)
        store_element(o.spec->type, origin,
                      t * o.spec->batch_stride + i * o.spec->row_stride + j * o.spec->column_stride,
                      double(random.between(-8, 8)));
}

class FarOffsets : public testing::TestWithParam<const char*> {};

// 2^31 = 2147483648 elements. Each problem has one operand, or all, beyond it: in bytes, in elements, in rows, in members.
INSTANTIATE_TEST_SUITE_P(
    Problems, FarOffsets,
    testing::Values("5x33x7 a=f32:ld=1073741824",                                // bytes beyond 2^32
                    "5x33x7 b=f32:ld=2147483659", "5x33x7 d=f32:ld=2147483659",  // elements beyond 2^31
                    "5x33x7 beta=1 c=f32:ld=2147483659",                         //
                    "5x33x7 a=f32:ld=3000000000 b=f32:col:ld=3000000000 d=f32:ld=3000000000",
                    "1x33x7 dtype=bf16 b=bf16:col:ld=4294967299",  // one row: the GEMV
                    "9x40x17 dtype=bf16 a=bf16:col:ld=2147483659 d=bf16:col:ld=2147483659",
                    "9x40x17 dtype=i8 a=i8:ld=4294967299 b=i8:col:ld=4294967299",
                    "3x8x5 a=f32:strides(-2147483659,1) b=f32:strides(-2147483659,1) d=f32:strides(-2147483659,1)",
                    "3x6x5 a=f32:strides(1,2147483659) b=f32:strides(1,2147483659) d=f32:strides(1,2147483659)",
                    "batch=3 m=4 n=20 k=6 a=f32:strides(6,1,2147483659) b=f32:strides(20,1,2147483659) "
                    "d=f32:strides(20,1,2147483659)"));

TEST_P(FarOffsets, AreRightOrRefused) {
  const auto device = Device::open("cpu", {.threads = 2, .measure_peaks = false, .kernel_cache = {}, .warn = {}});
  if (!device.ok()) GTEST_SKIP() << "skipped: " << device.error().text();
  const GemmProblem p = GemmProblem::parse(GetParam()).value();
  const SparseMatrix a(operand_a(p), p.batch), b(operand_b(p), p.batch), c(operand_c(p), p.batch),
      d(operand_d(p), p.batch);
  for (const SparseMatrix* matrix : {&a, &b, &c, &d})
    if (!matrix->ok()) GTEST_SKIP() << "skipped: this system gives no address space that it has no memory for";
  fill(operand_a(p), p.batch, a.origin(), 1);
  fill(operand_b(p), p.batch, b.origin(), 2);
  if (p.reads_c()) fill(operand_c(p), p.batch, c.origin(), 3);
  GemmArguments args;
  args.a = a.origin();
  args.b = b.origin();
  args.c = p.reads_c() ? c.origin() : nullptr;
  args.d = d.origin();
  const Check check(p, args);
  int kernels = 0;
  for (Source* source : select_sources(*device->state(), {}).value()) {
    if (const Supports answer = source->supports(p, device->facts()); !answer) {
      EXPECT_FALSE(answer.reason.empty());
      continue;
    }
    std::vector<Candidate> kept = source->candidates(p, device->facts()).kept;
    for (size_t i = 0; i < std::min<size_t>(3, kept.size()); ++i) {
      auto kernel = source->build(p, device->facts(), kept[i * kept.size() / std::min<size_t>(3, kept.size())]);
      ASSERT_TRUE(kernel.ok()) << kernel.error().text();
      for (int64_t t = 0; t < p.batch; ++t)
        for (int64_t row = 0; row < p.m; ++row)
          for (int64_t column = 0; column < p.n; ++column)
            store_element(p.d.type, d.origin(),
                          t * p.d.batch_stride + row * p.d.row_stride + column * p.d.column_stride, -99);
      ASSERT_TRUE((*kernel)->run(args).ok());
      const Accuracy accuracy = check.compare(args.d);
      EXPECT_TRUE(accuracy.passed) << source->name() << " " << kept[i].config << ": " << accuracy.failure;
      ++kernels;
    }
  }
  EXPECT_GE(kernels, 2) << "native and the reference have 64-bit offsets";
}

}  // namespace
}  // namespace gemmsmith
