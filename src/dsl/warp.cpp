#include "dsl/warp.h"

#include <string>

namespace gemmsmith {

LaneSums lane_sums(const std::vector<Vec>& numbers, const Int& lane, int highest, int lowest, Where at) {
  const Scope scope("lane_sums", at);
  const auto is_bit = [](int n) { return n >= 1 && n <= 16 && (n & (n - 1)) == 0; };
  if (numbers.empty() || !is_bit(highest) || !is_bit(lowest) || lowest > highest) {
    op::fail(at,
             std::to_string(numbers.size()) + " numbers over lanes that differ in " + std::to_string(highest) + " to " +
                 std::to_string(lowest),
             "are nothing that the threads of a warp can add");
    return {numbers, 0, true};
  }
  size_t width = 1;
  while (width < numbers.size()) width *= 2;
  std::vector<Scalar> left(numbers.begin(), numbers.end());
  while (left.size() < width) left.push_back(zero(numbers[0].kind, 1));
  std::vector<Int> first{0};
  int same = 0;  // bits of lanes that hold the same numbers
  for (int apart = highest; apart >= lowest; apart /= 2) {
    if (left.size() == 1) {
      left[0] = Vec(left[0]) + op::shuffle_xor(Vec(left[0]), apart);
      same |= apart;
      continue;
    }
    const size_t half = left.size() / 2;
    const Bool upper = (lane & apart) != 0;
    for (size_t i = 0; i < half; ++i) {
      const Vec low(left[i]), high(left[i + half]);
      left[i] = select(Vec(upper), high, low) + op::shuffle_xor(select(Vec(upper), low, high), apart);
    }
    left.resize(half);
    first.push_back(first.back() + select(upper, int(half), 0));
  }
  std::vector<Vec> values;
  for (const Scalar& x : left) values.push_back(Vec(x));
  return {std::move(values), first.back(), same ? (lane & same) == 0 : Bool(true)};
}

}  // namespace gemmsmith
