// exp, tanh and erf in f32 without branches or calls, so that loops over them become vector code. They keep to the
// errors that functions() grants: a few units in the last place, overflow to infinity, underflow to 0, NaN stays NaN.
//
// The polynomials are weighted least-squares fits over Chebyshev nodes, reweighted towards equal errors (Lawson's
// method).
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace gemmsmith::vector_math {

// exp(x) = 2^n * exp(r) with n = round(x / ln 2), |r| <= ln(2) / 2. 2^n is applied in two factors because n reaches
// -150 and 128.
[[gnu::always_inline]] inline float exp(float x) {
  float clamped = x < -104.0f ? -104.0f : x;  // in this form NaN stays
  clamped = clamped > 89.0f ? 89.0f : clamped;
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float shifted = clamped * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;  // ln 2 in two parts: the first product is exact
  float p = 1.39504744e-3f;
  p = p * r + 8.36888906e-3f;
  p = p * r + 4.16662060e-2f;
  p = p * r + 1.66665188e-1f;
  p = p * r + 5.00000010e-1f;
  p = (p * r) * r + r + 1.0f;
  const int32_t exponent = int32_t(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kMagic));
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>((uint32_t(half) + 127u) << 23);
  const float second = std::bit_cast<float>((uint32_t(exponent) - uint32_t(half) + 127u) << 23);
  return p * first * second;
}

// An odd polynomial near 0, where 1 - 2 / (exp(2x) + 1) would cancel; that formula elsewhere.
[[gnu::always_inline]] inline float tanh(float x) {
  const float magnitude = std::fabs(x), z = x * x;
  float p = -5.60385221e-3f;
  p = p * z + 2.05516560e-2f;
  p = p * z - 5.37140847e-2f;
  p = p * z + 1.33311525e-1f;
  p = p * z - 3.33332721e-1f;
  const float near_zero = (p * z) * x + x;
  const float far = std::copysign(1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f), x);
  return magnitude < 0.625f ? near_zero : far;
}

// An odd polynomial up to 1; beyond it 1 - exp(-x^2) q(t) with t = 1 / (1 + x / 2), the form of Abramowitz and
// Stegun 7.1.26.
[[gnu::always_inline]] inline float erf(float x) {
  const float magnitude = std::fabs(x), z = x * x;
  float p = 7.88909873e-5f;
  p = p * z - 8.02083505e-4f;
  p = p * z + 5.18953464e-3f;
  p = p * z - 2.68544442e-2f;
  p = p * z + 1.12836002e-1f;
  p = p * z - 3.76126271e-1f;
  p = p * z + 1.12837917f;
  const float near_zero = p * x;
  const float t = 1.0f / (1.0f + 0.5f * magnitude);
  float q = 9.53111575e-2f;
  q = q * t - 3.86667170e-1f;
  q = q * t + 4.37170057e-1f;
  q = q * t - 2.27100114e-4f;
  q = q * t + 2.97510299e-1f;
  q = q * t + 2.74198509e-1f;
  q = q * t + 2.82613892e-1f;
  const float far = std::copysign(1.0f - exp(-z) * (q * t), x);
  return magnitude < 1.0f ? near_zero : far;
}

}  // namespace gemmsmith::vector_math
