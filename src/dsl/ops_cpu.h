// Operations that only CPUs have. A feature that the recording was not given is refused at the author's line.
#pragma once
#include "dsl/vec.h"

namespace gemmsmith {

// acc[i] + a[2i] * b[2i] + a[2i+1] * b[2i+1]: vdpbf16ps, which flushes subnormals (avx512_bf16). acc f32, a and b bf16
// of twice the lanes, or i32 of as many that hold pairs.
Vec dot_bf16(VecArg acc, Vec a, Vec b);
// acc[i] + sum of four a[4i+j] * b[4i+j], a unsigned bytes, b signed: vpdpbusd (avx512_vnni or avx_vnni). acc i32, a
// and b i8 of four times the lanes, or i32 that hold quads. Signed a: add 128 to it (xor 0x80) and subtract 128 *
// sum(b).
Vec dot_i8(VecArg acc, Vec a, Vec b);

}  // namespace gemmsmith
