// A small, fast, seedable generator, the same on every machine (the standard library's distributions are not).
#pragma once
#include <cmath>
#include <cstdint>

namespace gemmsmith {

// xoshiro256** 1.0, seeded by splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound) without bias; bound > 0. Lemire, "Fast random integer generation in an interval", 2019.
  uint64_t below(uint64_t bound) {
    for (;;) {
      const Product product = Product(next()) * bound;
      if (uint64_t(product) >= (0 - bound) % bound) return uint64_t(product >> 64);
    }
  }

  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(below(uint64_t(high - low) + 1));
  }  // both included
  double uniform() { return double(next() >> 11) * 0x1p-53; }  // in [0, 1)

  // Mean 0, variance 1: the polar method (Marsaglia and Bray, 1964), without keeping its second value.
  double normal() {
    for (;;) {
      const double x = 2 * uniform() - 1, y = 2 * uniform() - 1, s = x * x + y * y;
      if (s < 1 && s > 0) return x * std::sqrt(-2 * std::log(s) / s);
    }
  }

 private:
  __extension__ using Product = unsigned __int128;
  static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  static uint64_t split_mix(uint64_t& seed) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_[4];
};

}  // namespace gemmsmith
