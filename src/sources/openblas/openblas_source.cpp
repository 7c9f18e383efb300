#include "sources/openblas/openblas_source.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sources/epilogue_pass.h"
#include "sources/openblas/library.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

using openblas::kPlain;
using openblas::kRowMajor;
using openblas::kTransposed;
using openblas::Library;

constexpr std::string_view kPassSuffix = " + epilogue pass";

// A matrix as CBLAS sees it in row-major order: transposed or not, with a leading dimension.
struct Operand {
  openblas::CblasTranspose transpose = kPlain;
  int64_t leading = 1;
};

// The leading dimension of a rows x columns matrix whose rows are contiguous; nothing if it is not of that form.
// Strides along an extent of 1 mean nothing and may be anything.
std::optional<int64_t> leading_dimension(int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns) {
  if (columns > 1 && column_stride != 1) return std::nullopt;
  const int64_t least = std::max<int64_t>(columns, 1);
  if (rows <= 1) return least;
  return row_stride >= least ? std::optional(row_stride) : std::nullopt;
}

std::optional<Operand> operand_of(const MatrixSpec& s, int64_t rows, int64_t columns) {
  if (const auto leading = leading_dimension(s.row_stride, s.column_stride, rows, columns))
    return Operand{kPlain, *leading};
  if (const auto leading = leading_dimension(s.column_stride, s.row_stride, columns, rows))
    return Operand{kTransposed, *leading};
  return std::nullopt;
}

// The problem with a row-major D. A column-major D is D^T = B^T A^T with rows and columns exchanged everywhere.
struct View {
  int64_t m, n, k;
  MatrixSpec a, b, d;
  bool swapped;  // `a` is the problem's B
};
MatrixSpec transposed(MatrixSpec s) {
  std::swap(s.row_stride, s.column_stride);
  return s;
}
View view_of(const GemmProblem& p) {
  if (leading_dimension(p.d.row_stride, p.d.column_stride, p.m, p.n)) return {p.m, p.n, p.k, p.a, p.b, p.d, false};
  return {p.n, p.m, p.k, transposed(p.b), transposed(p.a), transposed(p.d), true};
}

// The increment of a vector of `length` elements; nothing if it is not positive: BLAS counts negative ones from the
// other end.
std::optional<int64_t> increment_of(int64_t stride, int64_t length) {
  if (length <= 1) return 1;
  return stride >= 1 ? std::optional(stride) : std::nullopt;
}

// D = A x for a D of one column.
struct GemvView {
  Operand a;
  int64_t x_increment, d_increment;
};
std::optional<GemvView> gemv_of(const GemmProblem& p, View& view) {
  if (p.n == 1)
    view = {p.m, p.n, p.k, p.a, p.b, p.d, false};
  else if (p.m == 1)
    view = {p.n, p.m, p.k, transposed(p.b), transposed(p.a), transposed(p.d), true};
  else
    return std::nullopt;
  const auto a = operand_of(view.a, view.m, view.k);
  const auto x = increment_of(view.b.row_stride, view.k), d = increment_of(view.d.row_stride, view.m);
  if (!a || !x || !d) return std::nullopt;
  return GemvView{*a, *x, *d};
}

std::string describe(const char* name, const MatrixSpec& s, int64_t rows, int64_t columns) {
  return concat(name, ": ", rows, "x", columns, " with strides(", s.row_stride, ",", s.column_stride, ")");
}

Supports fits_sgemm(const GemmProblem& p) {
  const View v = view_of(p);
  const char* const first = v.swapped ? "b" : "a";
  const char* const second = v.swapped ? "a" : "b";
  constexpr std::string_view kRule =
      "; cblas_sgemm takes one unit stride and a leading dimension of at least the other extent";
  const auto a = operand_of(v.a, v.m, v.k), b = operand_of(v.b, v.k, v.n);
  if (!a)
    return Supports::no(
        concat(describe(first, v.swapped ? p.b : p.a, v.swapped ? p.k : p.m, v.swapped ? p.n : p.k), kRule));
  if (!b)
    return Supports::no(
        concat(describe(second, v.swapped ? p.a : p.b, v.swapped ? p.m : p.k, v.swapped ? p.k : p.n), kRule));
  const auto d = leading_dimension(v.d.row_stride, v.d.column_stride, v.m, v.n);
  if (!d) return Supports::no(concat(describe("d", p.d, p.m, p.n), kRule));
  const int64_t largest = std::max({v.m, v.n, v.k, a->leading, b->leading, *d});
  if (largest > std::numeric_limits<int>::max())
    return Supports::no(
        concat("an extent or leading dimension of ", largest, " does not fit the library's 32-bit integers"));
  return {};
}

bool fits_sgemv(const GemmProblem& p) {
  View view;
  const auto gemv = gemv_of(p, view);
  return gemv && std::max({view.m, view.k, gemv->a.leading, gemv->x_increment, gemv->d_increment}) <=
                     std::numeric_limits<int>::max();
}

bool all_f32(const GemmProblem& p) {
  return p.a.type == DataType::f32 && p.b.type == DataType::f32 && p.d.type == DataType::f32 &&
         p.acc == DataType::f32 && (!p.reads_c() || p.c.type == DataType::f32);
}
bool bf16_to_f32(const GemmProblem& p) {
  return p.a.type == DataType::bf16 && p.b.type == DataType::bf16 && p.d.type == DataType::f32 &&
         p.acc == DataType::f32 && (!p.reads_c() || p.c.type == DataType::f32);
}

enum class Routine : uint8_t { sgemm, sgemv, sbgemm };
constexpr std::string_view kRoutineNames[] = {"sgemm", "sgemv", "sbgemm"};

class OpenBlasKernel final : public Kernel {
 public:
  OpenBlasKernel(std::shared_ptr<const Library> library, const GemmProblem& problem, const DeviceFacts& device,
                 Routine routine)
      : library_(std::move(library)),
        problem_(problem),
        threads_(device.threads),
        routine_(routine),
        view_(view_of(problem)),
        pass_(problem, device.threads) {
    if (routine == Routine::sgemv) gemv_ = *gemv_of(problem_, view_);
    if (routine == Routine::sgemv) return;
    a_ = *operand_of(view_.a, view_.m, view_.k);
    b_ = *operand_of(view_.b, view_.k, view_.n);
    d_leading_ = int(*leading_dimension(view_.d.row_stride, view_.d.column_stride, view_.m, view_.n));
  }

  Status run(const GemmArguments& arguments) override {
    if (problem_.batch == 0 || problem_.m == 0 || problem_.n == 0) return Done{};
    const bool product =
        problem_.k > 0 && problem_.alpha != 0;  // else the library must not see A and B: 0 * NaN is NaN in it
    if (!product) {
      set_d_from_c(problem_, arguments, problem_.beta, threads_);
    } else {
      // D starts as C; a gemv's as zeros else, because whether beta = 0 clears a NaN there depends on the version.
      if (problem_.reads_c() || routine_ == Routine::sgemv)
        set_d_from_c(problem_, arguments, problem_.reads_c() ? 1 : 0, threads_);
      library_->set_threads(threads_);
      for (int64_t t = 0; t < problem_.batch; ++t) multiply(arguments, t);
    }
    pass_.run(arguments);
    return Done{};
  }

 private:
  void multiply(const GemmArguments& arguments, int64_t t) const {
    const void* const a = view_.swapped ? arguments.b : arguments.a;
    const void* const b = view_.swapped ? arguments.a : arguments.b;
    float* const d = static_cast<float*>(arguments.d) + t * view_.d.batch_stride;
    const float alpha = float(problem_.alpha), beta = float(problem_.beta);
    const int m = int(view_.m), n = int(view_.n), k = int(view_.k);
    const auto at = [t](auto element, const void* base, const MatrixSpec& s) {
      return static_cast<const decltype(element)*>(base) + t * s.batch_stride;
    };
    switch (routine_) {
      case Routine::sgemm:
        return library_->sgemm(kRowMajor, a_.transpose, b_.transpose, m, n, k, alpha, at(float(), a, view_.a),
                               int(a_.leading), at(float(), b, view_.b), int(b_.leading), beta, d, d_leading_);
      case Routine::sbgemm:
        return library_->sbgemm(kRowMajor, a_.transpose, b_.transpose, m, n, k, alpha, at(uint16_t(), a, view_.a),
                                int(a_.leading), at(uint16_t(), b, view_.b), int(b_.leading), beta, d, d_leading_);
      case Routine::sgemv: {
        const bool plain = gemv_.a.transpose == kPlain;
        return library_->sgemv(kRowMajor, gemv_.a.transpose, plain ? m : k, plain ? k : m, alpha,
                               at(float(), a, view_.a), int(gemv_.a.leading), at(float(), b, view_.b),
                               int(gemv_.x_increment), problem_.reads_c() ? beta : 1.0f, d, int(gemv_.d_increment));
      }
    }
  }

  std::shared_ptr<const Library> library_;
  GemmProblem problem_;
  int threads_;
  Routine routine_;
  View view_;
  Operand a_, b_;
  int d_leading_ = 1;
  GemvView gemv_{};
  EpiloguePass pass_;
};

class OpenBlasSource final : public Source {
 public:
  explicit OpenBlasSource(std::shared_ptr<const Library> library) : library_(std::move(library)) {}

  std::string name() const override { return "openblas"; }
  std::string version() const override { return library_->version(); }

  Supports supports(const GemmProblem& p, const DeviceFacts&) const override {
    if (!library_->usable()) return library_->usable();
    if (all_f32(p)) return fits_sgemv(p) ? Supports{} : fits_sgemm(p);
    const std::string types = concat("a, b, c, d, acc are ", name_of(p.a.type), " ", name_of(p.b.type), " ",
                                     name_of(p.c.type), " ", name_of(p.d.type), " ", name_of(p.acc));
    if (!bf16_to_f32(p))
      return Supports::no(concat(types, "; the library has f32 (sgemm) and, in some builds, bf16 to f32 (sbgemm)"));
    if (!library_->sbgemm) return Supports::no(concat(types, "; this build (", version(), ") has no cblas_sbgemm"));
    return fits_sgemm(p);
  }

  CandidateSet candidates(const GemmProblem& p, const DeviceFacts&) const override {
    CandidateSet set;
    const std::string suffix(p.epilogue.is_accumulator() ? "" : kPassSuffix);
    const auto offer = [&](Routine routine) {
      set.kept.push_back({name(), concat(kRoutineNames[size_t(routine)], suffix), 0});
    };
    if (all_f32(p) && fits_sgemv(p)) offer(Routine::sgemv);
    if (fits_sgemm(p)) offer(all_f32(p) ? Routine::sgemm : Routine::sbgemm);
    return set;
  }

  Result<std::unique_ptr<Kernel>> build(const GemmProblem& p, const DeviceFacts& device,
                                        const Candidate& candidate) override {
    if (Supports answer = supports(p, device); !answer)
      return Error{"openblas", "cannot compute the problem", answer.reason, {}, {}};
    std::vector<std::string> known;
    for (const Candidate& offered : candidates(p, device).kept) known.push_back(offered.config);
    if (std::find(known.begin(), known.end(), candidate.config) == known.end())
      return Error{"openblas",
                   concat('"', candidate.config, '"'),
                   "is not a configuration for this problem",
                   concat("known: ", join(known, ", ")),
                   {}};
    size_t routine = 0;
    while (split_words(candidate.config).front() != kRoutineNames[routine]) ++routine;
    return std::unique_ptr<Kernel>(std::make_unique<OpenBlasKernel>(library_, p, device, Routine(routine)));
  }

 private:
  std::shared_ptr<const Library> library_;
};

}  // namespace

std::unique_ptr<Source> make_openblas_source(const DeviceFacts& device, const OpenBlasOptions& options) {
  return std::make_unique<OpenBlasSource>(Library::open(device, options));
}

}  // namespace gemmsmith
