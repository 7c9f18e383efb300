// Memory and arithmetic on vectors: the operations that every target has.
#include "dsl/ops.h"

#include <algorithm>

#include "dsl/recorder.h"
#include "dsl/vec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace gemmsmith {

using namespace mlir;

namespace {

template <class Op>
OpKey key_of(Kind kind, int lanes, int64_t attribute, std::initializer_list<Value> operands) {
  OpKey key{TypeID::get<Op>().getAsOpaquePointer(), attribute, kind, lanes, {}, {}};
  for (Value v : operands) key.operands.push_back(v.getAsOpaquePointer());
  return key;
}

std::string print_type(const Vec& v) { return std::to_string(v.lanes) + " x " + print(v.kind); }
bool is_integer(Kind kind) { return !is_float(kind) && kind != Kind::pointer; }

// bf16 is for memory and dot products.
bool computable(const char* what, const Vec& v, const Where& at) {
  if (v.kind != Kind::bf16) return true;
  op::fail(at, std::string(what) + " of bf16 vectors", "is not there: no instruction computes in bf16",
           "convert() to f32");
  return false;
}
// Reports operands of different types at the first one's line.
bool alike(const char* what, const VecArg& a, const Vec& b) {
  if (a.v.kind == b.kind && a.v.lanes == b.lanes) return true;
  op::fail(a.at, std::string(what) + " of " + print_type(a.v) + " and " + print_type(b),
           "has operands of different types", "convert() or broadcast() one of them");
  return false;
}
Vec none_like(const Vec& v) { return Vec(Scalar{v.kind, v.lanes, nullptr, 0, 0}); }

// f for floats, i for integers.
template <class F, class I>
Vec binary(const char* what, const VecArg& a, const VecArg& b) {
  if (!alike(what, a, b.v) || !computable(what, a.v, a.at)) return none_like(a.v);
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  const Value x = r.get(a.v), y = r.get(b.v);
  return Vec(is_float(a.v.kind) ? r.pure<F>(a.v.kind, a.v.lanes, x, y) : r.pure<I>(a.v.kind, a.v.lanes, x, y));
}

// Vectors of one lane are scalars in the IR; what only takes vectors gets them through these.
Value as_vector(Recording& r, const Vec& v) {
  if (v.lanes > 1) return r.get(v);
  const Value x = r.get(v);
  if (r.error) return {};
  const Type type = VectorType::get({1}, r.type_of(v.kind));
  OpKey key = key_of<vector::BroadcastOp>(v.kind, -1, 0, {x});
  return r.get(r.numbered(std::move(key), [&]() -> Value { return vector::BroadcastOp::create(r.b, r.loc, type, x); }));
}
}  // namespace

std::string print(Kind kind) {
  static const char* const names[] = {"i1",   "i8",  "i16", "i32",     "index",  "i64",  "f16",
                                      "bf16", "f32", "f64", "pointer", "shared", "e4m3", "e5m2"};
  return names[kind];
}

// Arithmetic.

Vec constant(Kind kind, int lanes, double x, Where) {
  return Vec(Scalar{kind, lanes, nullptr, is_float(kind) ? 0 : int64_t(x), is_float(kind) ? x : 0});
}
Vec zero(Kind kind, int lanes, Where at) { return constant(kind, lanes, 0, at); }
Vec like(const Vec& v, double x) { return constant(v.kind, v.lanes, x); }

Vec operator+(VecArg a, VecArg b) { return binary<arith::AddFOp, arith::AddIOp>("a sum", a, b); }
Vec operator-(VecArg a, VecArg b) { return binary<arith::SubFOp, arith::SubIOp>("a difference", a, b); }
Vec operator*(VecArg a, VecArg b) { return binary<arith::MulFOp, arith::MulIOp>("a product", a, b); }
Vec operator/(VecArg a, VecArg b) {
  if (is_float(a.v.kind)) return binary<arith::DivFOp, arith::DivSIOp>("a quotient", a, b);
  op::fail(a.at, "a quotient of " + print(a.v.kind) + " vectors", "is not there: no vector unit divides integers",
           "convert() to f32");
  return none_like(a.v);
}
Vec operator-(VecArg a) {
  if (!is_float(a.v.kind)) return VecArg(like(a.v, 0), a.at) - a;
  if (!computable("a negation", a.v, a.at)) return a.v;
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  return Vec(r.pure<arith::NegFOp>(a.v.kind, a.v.lanes, r.get(a.v)));
}
Vec min(VecArg a, VecArg b) { return binary<arith::MinimumFOp, arith::MinSIOp>("a minimum", a, b); }
Vec max(VecArg a, VecArg b) { return binary<arith::MaximumFOp, arith::MaxSIOp>("a maximum", a, b); }
Vec bitwise_xor(VecArg a, VecArg b) {
  if (is_integer(a.v.kind)) return binary<arith::AddFOp, arith::XOrIOp>("a xor", a, b);
  op::fail(a.at, "a xor of " + print(a.v.kind) + " vectors", "is of integers only", "bitcast()");
  return none_like(a.v);
}
Vec fma(VecArg a, VecArg b, VecArg c) {
  if (!alike("a product", a, b.v) || !alike("a sum", a, c.v) || !computable("a product", a.v, a.at))
    return none_like(c.v);
  if (!is_float(a.v.kind)) return VecArg(a * b, a.at) + c;
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  const Value x = r.get(a.v), y = r.get(b.v), z = r.get(c.v);
  if (a.v.lanes == 1) return Vec(r.pure<math::FmaOp>(c.v.kind, 1, x, y, z));
  return Vec(r.pure<vector::FMAOp>(c.v.kind, c.v.lanes, x, y, z));
}

Vec compare(Compare how, VecArg a, VecArg b) {
  const Vec none(Scalar{Kind::i1, a.v.lanes, nullptr, 0, 0});
  if (!alike("a comparison", a, b.v) || !computable("a comparison", a.v, a.at)) return none;
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  const Value x = r.get(a.v), y = r.get(b.v);
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OLT, F::OLE, F::OGT, F::OGE, F::OEQ, F::UNE};
  static const I integers[] = {I::slt, I::sle, I::sgt, I::sge, I::eq, I::ne};
  const size_t i = size_t(how);
  if (is_float(a.v.kind))
    return Vec(r.numbered(key_of<arith::CmpFOp>(Kind::i1, a.v.lanes, int64_t(i), {x, y}),
                          [&]() -> Value { return arith::CmpFOp::create(r.b, r.loc, floats[i], x, y); }));
  return Vec(r.numbered(key_of<arith::CmpIOp>(Kind::i1, a.v.lanes, int64_t(integers[i]), {x, y}),
                        [&]() -> Value { return arith::CmpIOp::create(r.b, r.loc, integers[i], x, y); }));
}
Vec select(VecArg mask, Vec a, Vec b) {
  if (!alike("a selection", {a, mask.at}, b)) return none_like(a);
  if (mask.v.kind != Kind::i1 || mask.v.lanes != a.lanes) {
    op::fail(mask.at, "a mask of " + print_type(mask.v), "does not select among " + print_type(a),
             "compare() makes masks");
    return none_like(a);
  }
  Recording& r = recording();
  Recording::AtLine at(r, mask.at);
  return Vec(r.pure<arith::SelectOp>(a.kind, a.lanes, r.get(mask.v), r.get(a), r.get(b)));
}

Vec math(Math function, VecArg x) {
  if (x.v.kind != Kind::f32 && x.v.kind != Kind::f64) {
    op::fail(x.at, "a function of " + print_type(x.v), "is of f32 and f64 only", "convert() to f32");
    return none_like(x.v);
  }
  Recording& r = recording();
  Recording::AtLine at(r, x.at);
  const Value v = r.get(x.v);
  const Kind k = x.v.kind;
  const int n = x.v.lanes;
  switch (function) {
    case Math::exp:
      return Vec(r.pure<math::ExpOp>(k, n, v));
    case Math::tanh:
      return Vec(r.pure<math::TanhOp>(k, n, v));
    case Math::erf:
      return Vec(r.pure<math::ErfOp>(k, n, v));
    case Math::log:
      return Vec(r.pure<math::LogOp>(k, n, v));
    case Math::sqrt:
      return Vec(r.pure<math::SqrtOp>(k, n, v));
    case Math::rsqrt:
      return Vec(r.pure<math::RsqrtOp>(k, n, v));
    case Math::abs:
      return Vec(r.pure<math::AbsFOp>(k, n, v));
    case Math::floor:
      return Vec(r.pure<math::FloorOp>(k, n, v));
  }
  return x.v;
}

// Conversions.

namespace {
// With vcvtneps2bf16, which takes subnormals for zero.
Vec truncate_to_bf16(const Vec& x) {
  Recording& r = recording();
  const Value v = r.get(x);
  static const char kTruncate = 0;
  return Vec(r.numbered({&kTruncate, 0, Kind::bf16, x.lanes, {v.getAsOpaquePointer()}, {}}, [&]() -> Value {
    Type type = r.b.getBF16Type();
    if (x.lanes > 1) type = VectorType::get({x.lanes}, type);
    return arith::BitcastOp::create(r.b, r.loc, r.type_of(Kind::bf16, x.lanes),
                                    Value(arith::TruncFOp::create(r.b, r.loc, type, v)));
  }));
}
// bf16 without vcvtneps2bf16: round the bits to nearest even; a NaN keeps its upper bits and becomes quiet.
Vec round_to_bf16(const Vec& x) {
  const int n = x.lanes;
  Recording& r = recording();
  const auto number = [&](int64_t i) { return r.constant(Kind::i32, n, i, 0); };
  const Vec bits = bitcast(x, Kind::i32);
  const Scalar upper = r.pure<arith::ShRUIOp>(Kind::i32, n, r.get(bits), number(16));
  const Scalar odd = r.pure<arith::AndIOp>(Kind::i32, n, r.get(upper), number(1));
  const Vec rounded = bits + (Vec(odd) + constant(Kind::i32, n, 0x7fff));
  const Scalar quiet = r.pure<arith::OrIOp>(Kind::i32, n, r.get(upper), number(0x40));
  const Scalar kept = r.pure<arith::ShRUIOp>(Kind::i32, n, r.get(rounded), number(16));
  const Vec is_nan = compare(Compare::not_equal, x, x);
  const Vec result = select(is_nan, Vec(quiet), Vec(kept));
  return Vec(r.pure_to<arith::TruncIOp>(Kind::bf16, n, r.get(result)));
}
// cvt.rn.bf16x2.f32, which rounds two at a time.
Vec pairs_to_bf16(const Vec& x) {
  Recording& r = recording();
  std::vector<Vec> words;
  const Vec nothing = like(extract(x, 0), 0);
  for (int i = 0; i < x.lanes; i += 2) {
    const Value low = r.get(extract(x, i)), high = r.get(i + 1 < x.lanes ? extract(x, i + 1) : nothing);
    words.push_back(Vec(r.numbered(key_of<NVVM::ConvertF32x2ToBF16x2Op>(Kind::i32, 1, 0, {low, high}), [&]() -> Value {
      const Type pair = VectorType::get({2}, r.b.getBF16Type());
      Value v = NVVM::ConvertF32x2ToBF16x2Op::create(r.b, r.loc, pair, high, low, Value(), NVVM::FPRoundingMode::RN);
      return LLVM::BitcastOp::create(r.b, r.loc, r.b.getI32Type(), v);
    })));
  }
  const Vec all = bitcast(words.size() == 1 ? words[0] : join(words), Kind::bf16);
  return all.lanes == x.lanes ? all : extract(all, 0);
}
// To the nearest integer, ties to even, saturated; NaN is 0.
Vec round_to_integer(const Vec& x, Kind to) {
  Recording& r = recording();
  const Vec even(r.pure<math::RoundEvenOp>(x.kind, x.lanes, r.get(x)));
  static const char kSaturate = 0;
  const Value v = r.get(even);
  OpKey key{&kSaturate, 0, to, x.lanes, {v.getAsOpaquePointer()}, {}};
  return Vec(r.numbered(std::move(key), [&]() -> Value {
    auto call = LLVM::CallIntrinsicOp::create(r.b, r.loc, r.type_of(to, x.lanes), r.b.getStringAttr("llvm.fptosi.sat"),
                                              ValueRange{v});
    return call.getResult(0);
  }));
}
// i32 to i8.
Vec saturate(const Vec& x, Kind to) {
  const Vec limited = min(max(x, like(x, -128)), like(x, 127));
  Recording& r = recording();
  return Vec(r.pure_to<arith::TruncIOp>(to, x.lanes, r.get(limited)));
}
}  // namespace

Vec convert(VecArg x, Kind to) {
  const Kind from = x.v.kind;
  const int n = x.v.lanes;
  if (from == to) return x.v;
  Recording& r = recording();
  Recording::AtLine at(r, x.at);
  const Scope scope("convert", x.at);
  const auto through_f32 = [&] { return convert(convert(x.v, Kind::f32), to); };
  const bool integer = from == Kind::i8 || from == Kind::i32, to_integer = to == Kind::i8 || to == Kind::i32;
  if ((integer || is_float(from)) && (to_integer || is_float(to))) {
    if (from == Kind::bf16 && to == Kind::f32) {
      const Scalar bits = r.pure_to<arith::ExtUIOp>(Kind::i32, n, r.get(x.v));
      return bitcast(Vec(r.pure<arith::ShLIOp>(Kind::i32, n, r.get(bits), r.constant(Kind::i32, n, 16, 0))), Kind::f32);
    }
    if ((from == Kind::f16 && to == Kind::f32) || (from == Kind::f32 && to == Kind::f64))
      return Vec(r.pure_to<arith::ExtFOp>(to, n, r.get(x.v)));
    if ((from == Kind::f32 && to == Kind::f16) || (from == Kind::f64 && to == Kind::f32))
      return Vec(r.pure_to<arith::TruncFOp>(to, n, r.get(x.v)));
    if (from == Kind::f32 && to == Kind::bf16 && r.gpu()) return pairs_to_bf16(x.v);
    if (from == Kind::f32 && to == Kind::bf16)
      return op::has_feature("avx512_bf16") ? truncate_to_bf16(x.v) : round_to_bf16(x.v);
    if (from == Kind::i8 && to == Kind::i32) return Vec(r.pure_to<arith::ExtSIOp>(to, n, r.get(x.v)));
    if (from == Kind::i32 && to == Kind::i8) return saturate(x.v, to);
    if (integer && (to == Kind::f32 || to == Kind::f64)) return Vec(r.pure_to<arith::SIToFPOp>(to, n, r.get(x.v)));
    if ((from == Kind::f32 || from == Kind::f64) && to_integer) return round_to_integer(x.v, to);
    return through_f32();
  }
  op::fail(x.at, "a conversion from " + print(from) + " to " + print(to), "is not there", "f64 f32 f16 bf16 i32 i8");
  return Vec(r.placeholder(to, n));
}

Vec bitcast(VecArg x, Kind to) {
  if (x.v.kind == to) return x.v;
  Recording& r = recording();
  const int bits = x.v.lanes * bytes(x.v.kind);
  const int lanes = bits / bytes(to);
  if (x.v.kind == Kind::i1 || to == Kind::i1 || to == Kind::pointer || x.v.kind == Kind::pointer ||
      bits % bytes(to) != 0) {
    op::fail(x.at, "the bits of " + print_type(x.v), "are not those of a vector of " + print(to));
    return Vec(r.placeholder(to, std::max(lanes, 1)));
  }
  Recording::AtLine at(r, x.at);
  if (r.error) return Vec(r.placeholder(to, lanes));
  const Value v = r.get(x.v);
  if (v && v.getType() == r.type_of(to, lanes)) return Vec(r.wrap(to, lanes, v));  // i16 and bf16
  if (lanes == x.v.lanes) return Vec(r.pure_to<arith::BitcastOp>(to, lanes, r.get(x.v)));
  return Vec(r.pure_to<LLVM::BitcastOp>(to, lanes, r.get(x.v)));
}

Vec part_of_lanes(VecArg x, Kind element, int part) {
  Recording& r = recording();
  const int n = x.v.lanes, bits = 8 * bytes(element);
  if (x.v.kind != Kind::i32 || bits > 16 || part < 0 || part >= 32 / bits) {
    op::fail(x.at, "part " + std::to_string(part) + " of " + print_type(x.v) + " as " + print(element), "is not there",
             "2 elements of 16 bits or 4 of 8 in lanes of i32");
    return Vec(r.placeholder(element, n));
  }
  Recording::AtLine at(r, x.at);
  const Scalar shifted =
      part ? r.pure<arith::ShRUIOp>(Kind::i32, n, r.get(x.v), r.constant(Kind::i32, n, part * bits, 0)) : Scalar(x.v);
  const Vec raw(r.pure_to<arith::TruncIOp>(bits == 8 ? Kind::i8 : Kind::i16, n, r.get(shifted)));
  return bitcast({raw, x.at}, element);
}

// Lanes.

Vec broadcast(VecArg x, int lanes) {
  if (x.v.lanes == lanes) return x.v;
  Recording& r = recording();
  if (x.v.lanes != 1 || lanes < 1) {
    op::fail(x.at, "a broadcast of " + print_type(x.v) + " to " + std::to_string(lanes) + " lanes",
             "is of one lane only", "extract()");
    return Vec(r.placeholder(x.v.kind, std::max(lanes, 1)));
  }
  if (!x.v.value) return Vec(Scalar{x.v.kind, lanes, nullptr, x.v.integer, x.v.real});
  Recording::AtLine at(r, x.at);
  return Vec(r.pure_to<vector::BroadcastOp>(x.v.kind, lanes, r.get(x.v)));
}

Vec permute(VecArg a, Vec b, const std::vector<int>& lanes) {
  Recording& r = recording();
  const int n = int(lanes.size());
  const bool inside =
      std::all_of(lanes.begin(), lanes.end(), [&](int i) { return i >= -1 && i < a.v.lanes + b.lanes; });
  if (a.v.kind != b.kind || n == 0 || !inside) {
    op::fail(a.at, "a shuffle of " + print_type(a.v) + " and " + print_type(b),
             "takes lanes of both, of one element type", "0 to " + std::to_string(a.v.lanes + b.lanes - 1));
    return Vec(r.placeholder(a.v.kind, std::max(n, 1)));
  }
  if (n == 1)
    return extract({lanes[0] < a.v.lanes ? a.v : b, a.at},
                   std::max(lanes[0] < a.v.lanes ? lanes[0] : lanes[0] - a.v.lanes, 0));
  Recording::AtLine at(r, a.at);
  const Value x = as_vector(r, a.v), y = as_vector(r, b);
  OpKey key = key_of<vector::ShuffleOp>(b.kind, n, 0, {x, y});
  key.more.assign(lanes.begin(), lanes.end());
  const std::vector<int64_t> mask = key.more;
  return Vec(r.numbered(std::move(key), [&]() -> Value { return vector::ShuffleOp::create(r.b, r.loc, x, y, mask); }));
}

Vec extract(VecArg v, int lane) {
  Recording& r = recording();
  if (lane < 0 || lane >= v.v.lanes) {
    op::fail(v.at, "lane " + std::to_string(lane), "is not one of " + print_type(v.v));
    return Vec(r.placeholder(v.v.kind, 1));
  }
  if (v.v.lanes == 1) return v.v;
  if (!v.v.value) return Vec(Scalar{v.v.kind, 1, nullptr, v.v.integer, v.v.real});
  Recording::AtLine at(r, v.at);
  const Value x = r.get(v.v);
  return Vec(r.numbered(key_of<vector::ExtractOp>(v.v.kind, 1, lane, {x}),
                        [&]() -> Value { return vector::ExtractOp::create(r.b, r.loc, x, int64_t(lane)); }));
}

Vec join(const std::vector<Vec>& lanes, Where at) {
  Recording& r = recording();
  const bool fit = !lanes.empty() && std::all_of(lanes.begin(), lanes.end(),
                                                 [&](const Vec& v) { return v.lanes == 1 && v.kind == lanes[0].kind; });
  if (!fit) {
    op::fail(at, "a join", "takes vectors of one lane and one element type");
    return Vec(r.placeholder(lanes.empty() ? Kind(Kind::f32) : lanes[0].kind, std::max(int(lanes.size()), 1)));
  }
  if (lanes.size() == 1) return lanes[0];
  Recording::AtLine line(r, at);
  OpKey key = key_of<vector::FromElementsOp>(lanes[0].kind, int(lanes.size()), 0, {});
  std::vector<Value> values;
  for (const Vec& v : lanes) {
    values.push_back(r.get(v));
    key.operands.push_back(values.back().getAsOpaquePointer());
  }
  const auto type = r.type_of(lanes[0].kind, int(lanes.size()));
  return Vec(
      r.numbered(std::move(key), [&]() -> Value { return vector::FromElementsOp::create(r.b, r.loc, type, values); }));
}

Vec reduce_add(VecArg x) {
  const int n = x.v.lanes;
  if (n & (n - 1)) {
    op::fail(x.at, "a sum of " + std::to_string(n) + " lanes", "is formed in pairs", "a power of two");
    return Vec(Scalar{x.v.kind, 1, nullptr, 0, 0});
  }
  const Scope scope("reduce_add", x.at);
  if (n == 1) return x.v;
  std::vector<int> low, high;
  for (int i = 0; i < n / 2; ++i) low.push_back(i), high.push_back(n / 2 + i);
  return reduce_add({permute({x.v, x.at}, x.v, low) + permute({x.v, x.at}, x.v, high), x.at});
}

// Memory.

Scalar op::advance(const Scalar& pointer, const Offset& offset) {
  if (offset.constant() == 0) return pointer;
  Recording& r = recording();
  if (pointer.kind == Kind::shared) {  // 32 bits are enough, and their sums are cheaper
    const Value step = offset.constant() ? r.constant(Kind::i32, 1, *offset.constant(), 0)
                                         : r.get(r.pure_to<arith::TruncIOp>(Kind::i32, 1, r.get(offset)));
    return r.pure<arith::AddIOp>(Kind::shared, 1, r.get(pointer), step);
  }
  const auto flags = LLVM::GEPNoWrapFlags::inbounds;
  const Value base = r.get(pointer);
  if (const auto n = offset.constant(); n && *n == int32_t(*n))
    return r.numbered(key_of<LLVM::GEPOp>(Kind::pointer, 1, *n, {base}), [&]() -> Value {
      return LLVM::GEPOp::create(r.b, r.loc, r.pointer, r.b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(*n)},
                                 flags);
    });
  const Value step = r.get(offset);
  return r.numbered(key_of<LLVM::GEPOp>(Kind::pointer, 1, 0, {base, step}), [&]() -> Value {
    return LLVM::GEPOp::create(r.b, r.loc, r.pointer, r.b.getI8Type(), base, ValueRange{step}, flags);
  });
}

Scalar op::mask(Int exist, int lanes) {
  Recording& r = recording();
  if (r.error) return r.placeholder(Kind::i1, lanes);
  // Signed: a tile that begins past the end has a negative number of lanes.
  Scalar n = r.pure<arith::MinSIOp>(Kind::index, 1, r.get(exist), r.constant(Kind::index, 1, lanes, 0));
  n = r.pure<arith::MaxSIOp>(Kind::index, 1, r.get(n), r.constant(Kind::index, 1, 0, 0));
  if (r.index_type == r.i64) n = r.pure_to<arith::TruncIOp>(Kind::i32, 1, r.get(n));
  const Value limit = r.get(n);
  static const char kMask = 0;
  return r.numbered({&kMask, 0, Kind::i1, lanes, {limit.getAsOpaquePointer()}, {}}, [&]() -> Value {
    const auto type = VectorType::get({lanes}, r.b.getI32Type());
    std::vector<int32_t> numbers(static_cast<size_t>(lanes));
    for (int i = 0; i < lanes; ++i) numbers[size_t(i)] = i;
    Value iota = arith::ConstantOp::create(r.b, r.loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    Value all = vector::BroadcastOp::create(r.b, r.loc, type, limit);
    return arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::slt, iota, all);
  });
}

Value Recording::pointer_value(const Scalar& p) {
  if (p.kind != Kind::shared) return get(p);
  const Value address = get(p);
  if (error) return {};
  return get(numbered(key_of<LLVM::IntToPtrOp>(Kind::pointer, 1, 3, {address}), [&]() -> Value {
    return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3), address);
  }));
}

// Loads between two stores, in one block, are the same.
Vec op::load(const Scalar& pointer, Kind kind, int lanes, const std::optional<Scalar>& mask, int alignment) {
  Recording& r = recording();
  const unsigned align = unsigned(alignment ? alignment : r.gpu() ? bytes(kind) * lanes : bytes(kind));
  const Value from = r.pointer_value(pointer);
  if (!mask)
    return Vec(r.numbered(
        key_of<LLVM::LoadOp>(kind, lanes, r.stores, {from}),
        [&]() -> Value { return LLVM::LoadOp::create(r.b, r.loc, r.type_of(kind, lanes), from, align); }, true));
  // Masked accesses are of vectors, if need be of one lane.
  const Value which = r.get(*mask);
  return Vec(r.numbered(
      key_of<LLVM::MaskedLoadOp>(kind, lanes, r.stores, {from, which}),
      [&]() -> Value {
        const auto type = VectorType::get({lanes}, r.type_of(kind));
        Value nothing = arith::ConstantOp::create(r.b, r.loc, cast<TypedAttr>(r.b.getZeroAttr(type)));
        Value v = LLVM::MaskedLoadOp::create(r.b, r.loc, type, from, which, nothing, align);
        return lanes == 1 ? Value(vector::ExtractOp::create(r.b, r.loc, v, int64_t(0))) : v;
      },
      true));
}

void op::store(const Scalar& pointer, const Vec& x, const std::optional<Scalar>& mask, int alignment) {
  Recording& r = recording();
  const unsigned align = unsigned(alignment ? alignment : r.gpu() ? bytes(x.kind) * x.lanes : bytes(x.kind));
  const Value to = r.pointer_value(pointer), v = mask ? as_vector(r, x) : r.get(x),
              which = mask ? r.get(*mask) : Value();
  if (r.error) return;
  ++r.stores;
  if (mask)
    LLVM::MaskedStoreOp::create(r.b, r.loc, v, to, which, align);
  else
    LLVM::StoreOp::create(r.b, r.loc, v, to, align);
}

void op::prefetch(const Scalar& pointer) {
  Recording& r = recording();
  const Value at = r.get(pointer);
  if (r.error) return;
  LLVM::Prefetch::create(r.b, r.loc, at, 0, 3, 1);  // to be read, to stay in all levels, data
}

Vec op::intrinsic(const char* name, Kind kind, int lanes, const std::vector<Vec>& operands) {
  Recording& r = recording();
  OpKey key{nullptr, int64_t(std::hash<std::string>()(name)), kind, lanes, {}, {}};
  std::vector<Value> values;
  for (const Vec& v : operands) {
    values.push_back(r.get(v));
    key.operands.push_back(values.back().getAsOpaquePointer());
  }
  return Vec(r.numbered(std::move(key), [&]() -> Value {
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i].kind == Kind::bf16)
        values[i] =
            arith::BitcastOp::create(r.b, r.loc, VectorType::get({operands[i].lanes}, r.b.getBF16Type()), values[i]);
    auto call = LLVM::CallIntrinsicOp::create(r.b, r.loc, r.type_of(kind, lanes), r.b.getStringAttr(name), values);
    return call.getResult(0);
  }));
}

}  // namespace gemmsmith
