#include "dsl/warp.h"

#include <string>

namespace gemmsmith {

WarpSum warp_sums(const std::vector<Vec>& numbers, const Int& lane, Where at) {
  const Scope scope("warp_sums", at);
  const int count = int(numbers.size());
  if (count < 1 || count > 32) {
    op::fail(at, std::to_string(count) + " numbers", "are not 1 to 32, one for each thread of a warp");
    return {0, true, zero(Kind::f32, 1)};
  }
  int width = 1;  // of them with those that fill up a power of two
  while (width < count) width *= 2;
  std::vector<Scalar> left(numbers.begin(), numbers.end());
  while (int(left.size()) < width) left.push_back(zero(numbers[0].kind, 1));
  int apart = 16;
  for (; apart > 0 && left.size() > 1; apart /= 2) {
    const size_t half = left.size() / 2;
    const Bool upper = (lane & apart) != 0;
    for (size_t i = 0; i < half; ++i) {
      const Vec low(left[i]), high(left[i + half]);
      left[i] = select(Vec(upper), high, low) + op::shuffle_xor(select(Vec(upper), low, high), apart);
    }
    left.resize(half);
  }
  const int threads = 2 * apart;  // that hold the same number by now
  for (; apart > 0; apart /= 2) left[0] = Vec(left[0]) + op::shuffle_xor(Vec(left[0]), apart);
  const Int index = threads > 1 ? lane / threads : lane;
  const Bool first = threads > 1 ? (lane & (threads - 1)) == 0 : Bool(true);
  return {index, count == width ? first : first & (index < count), Vec(left[0])};
}

}  // namespace gemmsmith
