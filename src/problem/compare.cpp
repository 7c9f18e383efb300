#include "problem/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "support/half.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double load_d(const GemmProblem& p, const void* d, int64_t batch, int64_t row, int64_t column) {
  return load_element(p.d.type, d, batch * p.d.batch_stride + row * p.d.row_stride + column * p.d.column_stride);
}

std::string place(const GemmProblem& p, int64_t batch, int64_t row, int64_t column) {
  return concat("D[", row, ",", column, "]", p.batch > 1 ? concat(" of batch ", batch) : std::string());
}

}  // namespace

namespace {

double output_elements(const GemmProblem& p) { return double(p.batch) * double(p.m) * double(p.n); }

bool compares_all(const GemmProblem& p, const CheckOptions& options) {
  // An element without products costs about as much as 16 of them.
  return output_elements(p) * double(std::max<int64_t>(p.k, 16)) <= options.all_up_to_products &&
         output_elements(p) <= double(options.max_elements);
}

constexpr int64_t kBytesOfElement = 96;  // of Expected, and what a vector keeps free

}  // namespace

int64_t check_bytes(const GemmProblem& p, const CheckOptions& options) {
  const double elements = compares_all(p, options) ? output_elements(p) : double(options.max_samples);
  return int64_t(std::min(elements, output_elements(p))) * kBytesOfElement;
}

Check::Check(const GemmProblem& p, const GemmArguments& args, const CheckOptions& options)
    : p_(p), reference_(p, args) {
  static_assert(sizeof(Expected) <= kBytesOfElement);
  if (output_elements(p) == 0) return;
  all_ = compares_all(p, options);
  if (all_)
    expect_all();
  else
    expect_samples(options);
}

Check::Expected Check::expect(int64_t batch, int64_t row, int64_t column, const DotProduct& dot) const {
  Expected e{batch, row, column, reference_.element(batch, row, column, dot), 0, 0};
  const Enclosure& result = e.reference.result;
  e.low = round_to(p_.d.type, result.low);
  e.high = round_to(p_.d.type, result.high);
  // Hardware that flushes subnormals while it converts to D is right.
  const double normal = std::numeric_limits<float>::min();
  if (is_float(p_.d.type) && p_.d.type != DataType::f16) {
    if (e.low > 0 && e.low < normal) e.low = 0;
    if (e.high < 0 && e.high > -normal) e.high = 0;
  }
  return e;
}

void Check::expect_all() {
  constexpr int64_t kRows = 64;
  expected_.reserve(size_t(p_.batch * p_.m * p_.n));
  for (int64_t t = 0; t < p_.batch; ++t)
    for (int64_t first = 0; first < p_.m; first += kRows) {
      const int64_t rows = std::min(kRows, p_.m - first);
      const std::vector<DotProduct> dots = reference_.dots(t, first, rows);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < p_.n; ++j) expected_.push_back(expect(t, first + i, j, dots[size_t(i * p_.n + j)]));
    }
}

// The corners of the first and last member, places in the last row and the last column, where tails are handled, and
// the rest anywhere.
void Check::expect_samples(const CheckOptions& options) {
  const double by_cost = options.sample_products / double(std::max<int64_t>(p_.k, 16));
  const int64_t count =
      std::clamp(int64_t(by_cost), options.min_samples, std::max(options.min_samples, options.max_samples));
  std::set<std::tuple<int64_t, int64_t, int64_t>> places;
  for (const int64_t t : {int64_t(0), p_.batch - 1})
    for (const int64_t i : {int64_t(0), p_.m - 1})
      for (const int64_t j : {int64_t(0), p_.n - 1}) places.emplace(t, i, j);
  Random random(options.seed);
  const auto any = [&](int64_t extent) { return int64_t(random.below(uint64_t(extent))); };
  for (int64_t s = 0; s < count; ++s) {
    const int64_t t = any(p_.batch), i = any(p_.m), j = any(p_.n);
    places.emplace(t, s % 8 == 0 ? p_.m - 1 : i, s % 8 == 1 ? p_.n - 1 : j);
  }
  for (const auto& [t, i, j] : places) expected_.push_back(expect(t, i, j, reference_.dot(t, i, j)));
}

void Check::compare_element(const Expected& e, double d, Accuracy& accuracy) const {
  const Enclosure& result = e.reference.result;
  const double reference = is_float(p_.d.type) ? result.value : round_to(p_.d.type, result.value);
  const bool integer = !is_float(p_.d.type);
  ++accuracy.compared;
  bool right = false;
  double ratio = 0;
  if (std::isnan(d)) {
    right = std::isnan(reference) || result.may_be_nan;
  } else if (std::isnan(reference)) {
    right = false;
  } else {
    right =
        (e.low <= d && d <= e.high) || d == round_to(p_.d.type, reference) || (integer && result.may_be_nan && d == 0);
    const double distance = std::abs(d - reference);
    if (std::isfinite(distance)) {
      const double tolerance = d >= reference ? e.high - reference : reference - e.low;
      const double scale = e.reference.scale > 0 && std::isfinite(e.reference.scale) ? e.reference.scale : 1;
      ratio = distance == 0 ? 0 : tolerance > 0 ? distance / tolerance : kInfinity;
      accuracy.max_abs = std::max(accuracy.max_abs, distance);
      accuracy.max_rel = std::max(accuracy.max_rel, distance / scale);
      if (ratio >= accuracy.worst && std::isfinite(tolerance)) {
        accuracy.worst = ratio;
        accuracy.allowed_rel = tolerance / scale;
      }
    }
  }
  if (right || !accuracy.failure.empty()) return;
  accuracy.failure = concat(place(p_, e.batch, e.row, e.column), " is ", d, ", reference ", reference);
  if (!std::isnan(reference)) accuracy.failure += concat(", allowed from ", e.low, " to ", e.high);
}

void Check::look_for_nan(const void* d, Accuracy& accuracy) const {
  if (!is_float(p_.d.type)) return;
  int64_t looked_at = 0;
  constexpr int64_t kMost = 1000;  // NaN in the operands may give many that are right
  for (int64_t t = 0; t < p_.batch; ++t)
    for (int64_t i = 0; i < p_.m; ++i)
      for (int64_t j = 0; j < p_.n; ++j) {
        const double value = load_d(p_, d, t, i, j);
        if (!std::isnan(value)) continue;
        compare_element(expect(t, i, j, reference_.dot(t, i, j)), value, accuracy);
        if (!accuracy.failure.empty() || ++looked_at == kMost) return;
      }
}

Accuracy Check::compare(const void* d) const {
  Accuracy accuracy;
  for (const Expected& e : expected_) compare_element(e, load_d(p_, d, e.batch, e.row, e.column), accuracy);
  if (!all_ && accuracy.failure.empty()) look_for_nan(d, accuracy);
  accuracy.passed = accuracy.failure.empty();
  return accuracy;
}

}  // namespace gemmsmith
