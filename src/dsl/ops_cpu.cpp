#include "dsl/ops_cpu.h"

#include <string>

#include "dsl/ops.h"

namespace gemmsmith {

namespace {
// A dot product of `group` narrow elements to each lane of the sum.
Vec dot(const char* what, const std::string& intrinsic, Kind sum, Kind element, int group, const VecArg& acc,
        const Vec& a, const Vec& b) {
  const int lanes = acc.v.lanes;
  const Scope scope("dot", acc.at);
  const auto narrow = [&](const Vec& v) { return v.kind == element ? v : bitcast({v, acc.at}, element); };
  const auto fits = [&](const Vec& v) {
    return (v.kind == element && v.lanes == group * lanes) || (v.kind == Kind::i32 && v.lanes == lanes);
  };
  const int bits = lanes * 32;
  if (acc.v.kind != sum || !fits(a) || !fits(b) || (bits != 128 && bits != 256 && bits != 512)) {
    op::fail(acc.at,
             std::string(what) + " of " + std::to_string(a.lanes) + " x " + print(a.kind) + " and " +
                 std::to_string(b.lanes) + " x " + print(b.kind) + " to " + std::to_string(lanes) + " x " +
                 print(acc.v.kind),
             "has no instruction",
             std::to_string(group) + " " + print(element) + " for each of 4, 8 or 16 " + print(sum));
    return acc.v;
  }
  return op::intrinsic((intrinsic + std::to_string(bits)).c_str(), sum, lanes, {acc.v, narrow(a), narrow(b)});
}
}  // namespace

Vec dot_bf16(VecArg acc, Vec a, Vec b) {
  if (!op::has_feature("avx512_bf16")) {
    op::fail(acc.at, "dot_bf16", "needs avx512_bf16, which this CPU does not have", "widen to f32 while packing");
    return acc.v;
  }
  return dot("dot_bf16", "llvm.x86.avx512bf16.dpbf16ps.", Kind::f32, Kind::bf16, 2, acc, a, b);
}

Vec dot_i8(VecArg acc, Vec a, Vec b) {
  if (!op::has_feature("avx512_vnni") && !(op::has_feature("avx_vnni") && acc.v.lanes <= 8)) {
    op::fail(acc.at, "dot_i8 of " + std::to_string(acc.v.lanes) + " lanes",
             "needs avx512_vnni (or, up to 8 lanes, avx_vnni), which this CPU does not have",
             "widen to i32 while packing");
    return acc.v;
  }
  return dot("dot_i8", "llvm.x86.avx512.vpdpbusd.", Kind::i32, Kind::i8, 4, acc, a, b);
}

}  // namespace gemmsmith
