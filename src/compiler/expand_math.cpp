#include "compiler/expand_math.h"

#include <initializer_list>
#include <vector>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace gemmsmith {
namespace {

using mlir::Value;
using Predicate = mlir::arith::CmpFPredicate;

constexpr float kInfinity = __builtin_inff();
constexpr float kNotANumber = __builtin_nanf("");
// ln 2 = high + low; the high part has 15 bits, so that its product with an exponent is exact.
constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

// Writes arithmetic on all lanes of f32 vectors (or scalars) in front of an operation. Names are those of C's <math.h>.
class Lanes {
 public:
  explicit Lanes(mlir::Operation* op, mlir::Type like)
      : builder_(op), location_(op->getLoc()), shaped_(llvm::dyn_cast<mlir::ShapedType>(like)) {}

  Value constant(float value) { return splat(builder_.getF32FloatAttr(value)); }
  Value constant(int32_t value) { return splat(builder_.getI32IntegerAttr(value)); }
  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return make<mlir::math::FmaOp>(x, y, z); }
  Value fabs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value copysign(Value magnitude, Value sign) { return make<mlir::math::CopySignOp>(magnitude, sign); }
  Value compare(Predicate predicate, Value x, Value y) { return make<mlir::arith::CmpFOp>(predicate, x, y); }
  Value select(Value condition, Value x, Value y) { return make<mlir::arith::SelectOp>(condition, x, y); }
  // min(x, limit) and max(x, limit) that keep a NaN of x: one instruction each in this order of operands.
  Value at_most(Value x, Value limit) { return select(compare(Predicate::OGT, x, limit), limit, x); }
  Value at_least(Value x, Value limit) { return select(compare(Predicate::OLT, x, limit), limit, x); }

  Value iadd(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value isub(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value bit_and(Value x, int32_t y) { return make<mlir::arith::AndIOp>(x, constant(y)); }
  Value bit_or(Value x, int32_t y) { return make<mlir::arith::OrIOp>(x, constant(y)); }
  Value shift_left(Value x, int bits) { return make<mlir::arith::ShLIOp>(x, constant(int32_t(bits))); }
  Value shift_right(Value x, int bits) { return make<mlir::arith::ShRUIOp>(x, constant(int32_t(bits))); }
  Value shift_right_signed(Value x, int bits) { return make<mlir::arith::ShRSIOp>(x, constant(int32_t(bits))); }
  Value to_float(Value x) { return make<mlir::arith::SIToFPOp>(of(builder_.getF32Type()), x); }
  Value narrow(Value x) { return make<mlir::arith::TruncIOp>(of(builder_.getI16Type()), x); }
  Value widen(Value x) { return make<mlir::arith::ExtUIOp>(of(builder_.getI32Type()), x); }
  Value bits_as_i16(Value x) { return make<mlir::arith::BitcastOp>(of(builder_.getI16Type()), x); }
  Value bits_as_i32(Value x) { return make<mlir::arith::BitcastOp>(of(builder_.getI32Type()), x); }
  Value bits_as_f32(Value x) { return make<mlir::arith::BitcastOp>(of(builder_.getF32Type()), x); }
  Value bits_as_bf16(Value x) { return make<mlir::arith::BitcastOp>(of(builder_.getBF16Type()), x); }

  // Horner's rule; the coefficient of the highest power comes first.
  Value polynomial(Value x, std::initializer_list<float> coefficients) {
    Value sum;
    for (float c : coefficients) sum = sum ? fma(sum, x, constant(c)) : constant(c);
    return sum;
  }

 private:
  template <class Op, class... Arguments>
  Value make(Arguments... arguments) {
    return Op::create(builder_, location_, arguments...);
  }
  mlir::Type of(mlir::Type element) { return shaped_ ? mlir::Type(shaped_.clone(element)) : element; }
  Value splat(mlir::TypedAttr value) {
    if (shaped_) value = mlir::DenseElementsAttr::get(shaped_.clone(value.getType()), mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(builder_, location_, value);
  }

  mlir::OpBuilder builder_;
  mlir::Location location_;
  mlir::ShapedType shaped_;
};

// The coefficients below are minimax fits (Remez) of the quotients named, each rounded to f32 before the next was
// fitted.

// e^x for -150 ln 2 < x < 129 ln 2. x = n ln 2 + r with |r| <= ln 2 / 2, e^r = 1 + r + r^2 P(r); then times 2^n in two
// factors, so that results that are denormal or overflow are rounded once and come out of the multiplication by
// themselves.
Value exp_in_range(Lanes& f, Value x) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. NaN goes through it and never meets a
  // conversion to an integer, which would be undefined for it.
  const Value magic = f.constant(0x1.8p23f);
  const Value shifted = f.fma(x, f.constant(0x1.715476p0f), magic);
  const Value n = f.sub(shifted, magic);
  Value r = f.fma(n, f.constant(-kLn2High), x);
  r = f.fma(n, f.constant(-kLn2Low), r);
  const Value p = f.polynomial(r, {0x1.6ac71p-10f, 0x1.123dep-7f, 0x1.555858p-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f});
  const Value e = f.add(f.fma(f.mul(r, r), p, r), f.constant(1.0f));

  const Value exponent = f.isub(f.bits_as_i32(shifted), f.constant(int32_t(0x4b400000)));
  const Value half = f.shift_right_signed(exponent, 1);
  auto power_of_two = [&](Value k) { return f.bits_as_f32(f.shift_left(f.iadd(k, f.constant(127)), 23)); };
  return f.mul(f.mul(e, power_of_two(half)), power_of_two(f.isub(exponent, half)));
}

Value expand_exp(Lanes& f, Value x) {
  // e^-104 is less than half of the least denormal, e^89 more than the greatest float.
  return exp_in_range(f, f.at_least(f.at_most(x, f.constant(89.0f)), f.constant(-104.0f)));
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = g + g^2 P(g) with g = m - 1.
Value expand_log(Lanes& f, Value x) {
  const Value tiny = f.compare(Predicate::OLT, x, f.constant(0x1p-126f));
  const Value normal = f.select(tiny, f.mul(x, f.constant(0x1p23f)), x);
  const Value bits = f.bits_as_i32(normal);
  const Value e = f.shift_right_signed(f.isub(bits, f.constant(int32_t(0x3f3504f3))), 23);  // of sqrt(1/2)
  const Value m = f.bits_as_f32(f.isub(bits, f.shift_left(e, 23)));
  const Value exponent = f.add(f.to_float(e), f.select(tiny, f.constant(-23.0f), f.constant(0.0f)));

  const Value g = f.sub(m, f.constant(1.0f));
  const Value p = f.polynomial(g, {-0x1.38a74ap-4f, 0x1.08b4f2p-3f, -0x1.0f2f98p-3f, 0x1.2254bap-3f, -0x1.5424f2p-3f,
                                   0x1.99a544p-3f, -0x1.000438p-2f, 0x1.55554ep-2f, -0x1.fffff8p-2f});
  const Value log_m = f.fma(f.mul(g, g), p, f.fma(exponent, f.constant(kLn2Low), g));
  const Value finite = f.fma(exponent, f.constant(kLn2High), log_m);

  const Value positive = f.select(f.compare(Predicate::OLT, x, f.constant(kInfinity)), finite, x);  // infinity and NaN
  const Value signed_domain =
      f.select(f.compare(Predicate::OLT, x, f.constant(0.0f)), f.constant(kNotANumber), positive);
  return f.select(f.compare(Predicate::OEQ, x, f.constant(0.0f)), f.constant(-kInfinity), signed_domain);
}

// With a = |x|: near 0, a + a s P(s) with s = a^2; elsewhere 1 - 2 / (e^2a + 1), where nothing cancels. Then the sign
// of x.
Value expand_tanh(Lanes& f, Value x) {
  const Value a = f.fabs(x);
  const Value s = f.mul(a, a);
  const Value p = f.polynomial(s, {-0x1.750ce4p-8f, 0x1.51f8cep-6f, -0x1.b835a4p-5f, 0x1.1106f6p-3f, -0x1.555532p-2f});
  const Value small = f.fma(f.mul(a, s), p, a);

  const Value limited = f.at_most(a, f.constant(10.0f));  // tanh 10 is 1 in f32
  const Value e = exp_in_range(f, f.add(limited, limited));
  const Value large = f.sub(f.constant(1.0f), f.div(f.constant(2.0f), f.add(e, f.constant(1.0f))));
  return f.copysign(f.select(f.compare(Predicate::OLT, a, f.constant(0.625f)), small, large), x);
}

// With a = |x|: near 0, a + a P(s) with s = a^2; elsewhere 1 - e^-Q(a), where Q fits -log(1 - erf). Then the sign of x.
Value expand_erf(Lanes& f, Value x) {
  const Value a = f.fabs(x);
  const Value s = f.mul(a, a);
  const Value p = f.polynomial(s, {0x1.4f8e58p-14f, -0x1.a6126ep-11f, 0x1.544aa8p-8f, -0x1.b8012p-6f, 0x1.ce2d64p-4f,
                                   -0x1.81274p-2f, 0x1.06eba8p-3f});
  const Value small = f.fma(a, p, a);

  const Value limited = f.at_most(a, f.constant(4.0f));  // erf 4 is 1 in f32
  const Value q = f.polynomial(limited, {0x1.96a7b4p-13f, -0x1.8c4228p-9f, 0x1.6ada5cp-6f, -0x1.a904fep-4f,
                                         -0x1.4655d6p-1f, -0x1.20a7dcp+0f, -0x1.d4b8bep-13f});
  const Value large = f.sub(f.constant(1.0f), exp_in_range(f, q));
  return f.copysign(f.select(f.compare(Predicate::OLT, a, f.constant(0.9375f)), small, large), x);
}

Value expand_to_bf16(Lanes& f, Value x) {
  const Value bits = f.bits_as_i32(x);
  const Value high = f.shift_right(bits, 16);
  const Value tie_to_even = f.iadd(f.bit_and(high, 1), f.constant(int32_t(0x7fff)));
  const Value rounded =
      f.shift_right(f.iadd(bits, tie_to_even), 16);  // a carry may run into the exponent, up to infinity
  const Value quiet = f.bit_or(high, 0x40);
  return f.bits_as_bf16(f.narrow(f.select(f.compare(Predicate::UNO, x, x), quiet, rounded)));
}

Value expand_from_bf16(Lanes& f, Value x) { return f.bits_as_f32(f.shift_left(f.widen(f.bits_as_i16(x)), 16)); }

Value expand(mlir::Operation* op) {
  const Value x = op->getOperand(0);
  Lanes lanes(op, x.getType());
  return llvm::TypeSwitch<mlir::Operation*, Value>(op)
      .Case([&](mlir::math::ExpOp) { return expand_exp(lanes, x); })
      .Case([&](mlir::math::LogOp) { return expand_log(lanes, x); })
      .Case([&](mlir::math::TanhOp) { return expand_tanh(lanes, x); })
      .Case([&](mlir::math::ErfOp) { return expand_erf(lanes, x); })
      .Case([&](mlir::arith::TruncFOp) { return expand_to_bf16(lanes, x); })
      .Case([&](mlir::arith::ExtFOp) { return expand_from_bf16(lanes, x); });
}

bool is_expanded(mlir::Operation* op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1) return false;
  const mlir::Type from = mlir::getElementTypeOrSelf(op->getOperand(0)),
                   to = mlir::getElementTypeOrSelf(op->getResult(0));
  if (llvm::isa<mlir::arith::TruncFOp>(op)) return from.isF32() && to.isBF16();
  if (llvm::isa<mlir::arith::ExtFOp>(op)) return from.isBF16() && to.isF32();
  return from.isF32() && llvm::isa<mlir::math::ExpOp, mlir::math::LogOp, mlir::math::TanhOp, mlir::math::ErfOp>(op);
}

}  // namespace

LeftToLower expand_math(mlir::Operation* module) {
  LeftToLower left;
  std::vector<mlir::Operation*> found;
  module->walk([&](mlir::Operation* op) {
    if (is_expanded(op)) found.push_back(op);
    left.math |= llvm::isa<mlir::math::MathDialect>(op->getDialect());  // an expanded one leaves multiply-adds behind
    left.divisions |= llvm::isa<mlir::arith::FloorDivSIOp, mlir::arith::CeilDivSIOp, mlir::arith::CeilDivUIOp>(op);
  });
  for (mlir::Operation* op : found) {
    op->getResult(0).replaceAllUsesWith(expand(op));
    op->erase();
  }
  return left;
}

}  // namespace gemmsmith
