// One layer of a network: D = relu(A * B + bias), in one kernel that was chosen for this size on this machine.
//   multiply [STORE]      STORE: a file that remembers what was chosen
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "gemmsmith/gemm.h"

namespace {

using namespace gemmsmith;

constexpr int64_t kM = 48, kN = 160, kK = 96;

std::vector<float> numbers(size_t count, int step) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = float(int(i * size_t(step) % 17) - 8) / 8;
  return out;
}

// Every function that can fail returns a Result: GS_TRY takes its value, or returns its error to the caller.
Result<double> largest_error(const std::string& store_path) {
  GS_TRY(const Device device, Device::open("cpu"));
  GS_TRY(Store store, Store::open(store_path));

  // b=col: B is stored n x k, as weights often are. Names in the epilogue are its inputs, [n] is one number a column.
  GS_TRY(const GemmProblem problem, GemmProblem::parse("48x160x96 dtype=f32 b=col epilogue=relu(acc + bias[n])"));

  // The choice of the store, or of a tuning that takes about as long as it may and is kept in the store.
  TuneOptions options;
  options.budget_seconds = 0.5;
  GS_TRY(Gemm gemm, Gemm::create(device, problem, options, &store));
  std::printf("%s: %s %s\n", problem.print().c_str(), gemm.source().c_str(), gemm.config().c_str());

  const std::vector<float> a = numbers(kM * kK, 5), b = numbers(kN * kK, 7), bias = numbers(kN, 3);
  std::vector<float> d(kM * kN);
  GS_CHECK(gemm.run({.a = a.data(), .b = b.data(), .d = d.data(), .inputs = {bias.data()}}));

  double worst = 0;
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      double sum = bias[j];
      for (int64_t k = 0; k < kK; ++k) sum += double(a[i * kK + k]) * double(b[j * kK + k]);
      worst = std::max(worst, std::fabs(std::max(sum, 0.0) - double(d[i * kN + j])));
    }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const Result<double> worst = largest_error(argc > 1 ? argv[1] : ":memory:");
  if (!worst.ok()) {
    std::fprintf(stderr, "%s\n", worst.error().text().c_str());
    return 1;
  }
  std::printf("largest error: %g\n", *worst);
  return *worst < 1e-4 ? 0 : 1;
}
