// Tensor cores and what feeds their registers.
#include "dsl/ops_gpu.h"
#include "dsl/recorder.h"
#include "ir/hw.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace gemmsmith::op {

using namespace mlir;

namespace {

SmallVector<Value> values(Recording& r, const std::vector<Scalar>& in) {
  SmallVector<Value> out;
  for (const Scalar& x : in) out.push_back(r.get(x));
  return out;
}
std::vector<Scalar> scalars(Recording& r, Kind kind, ValueRange in) {
  std::vector<Scalar> out;
  for (Value v : in) out.push_back(r.wrap(kind, 1, v));
  return out;
}
std::vector<Scalar> placeholders(Recording& r, Kind kind, size_t n) {
  return std::vector<Scalar>(n, r.placeholder(kind, 1));
}

std::optional<hw::MmaType> mma_type(Kind kind) {
  switch (kind) {
    case Kind::f16:
      return hw::MmaType::f16;
    case Kind::bf16:
      return hw::MmaType::bf16;
    case Kind::f32:
      return hw::MmaType::tf32;
    case Kind::e4m3:
      return hw::MmaType::e4m3;
    case Kind::e5m2:
      return hw::MmaType::e5m2;
    case Kind::i8:
      return hw::MmaType::s8;
    default:
      return {};
  }
}

// The fields of a struct of i32 or f32.
std::vector<Scalar> fields(Recording& r, Kind kind, Value tuple, size_t n) {
  std::vector<Scalar> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(r.wrap(kind, 1, LLVM::ExtractValueOp::create(r.b, r.loc, tuple, ArrayRef<int64_t>{int64_t(i)})));
  return out;
}
NVVM::LdStMatrixShapeAttr eight_by_eight(Recording& r) {
  return NVVM::LdStMatrixShapeAttr::get(r.b.getContext(), 8, 8);
}

}  // namespace

Descriptor descriptor(const Int& address, uint64_t rest) {
  Recording& r = recording();
  const Value start = r.get(r.pure_to<arith::ExtUIOp>(Kind::i64, 1, r.get((address & 0x3FFFF) >> 4)));
  return {r.pure<arith::OrIOp>(Kind::i64, 1, start, r.constant(Kind::i64, 1, int64_t(rest), 0))};
}
Descriptor advance(const Descriptor& d, const Int& index, int64_t bytes) {
  if (index.constant() == 0) return d;
  Recording& r = recording();
  const Offset steps = multiply(Offset(index), Offset(bytes >> 4));
  return {r.pure<arith::AddIOp>(Kind::i64, 1, r.get(d.value), r.get(steps))};
}

Kind accumulator_of(Kind operand) { return operand == Kind::i8 ? Kind::i32 : Kind::f32; }

std::vector<Scalar> wgmma_block(const std::vector<Scalar>& sums, const std::optional<Descriptor>& a,
                                const std::vector<Scalar>& registers_a, const Descriptor& b, const Bool& accumulate,
                                int n, MmaTypes types, const WgmmaOperand& layout_a, const WgmmaOperand& layout_b) {
  Recording& r = recording();
  const Kind sum = accumulator_of(types.a);
  const auto type_a = mma_type(types.a), type_b = mma_type(types.b);
  if (!type_a || !type_b)
    fail(r.where, "a product of " + print(types.a) + " and " + print(types.b), "is not one of wgmma",
         "f16, bf16, f32 (as tf32), e4m3, e5m2, i8");
  const SmallVector<Value> in = values(r, sums), registers = values(r, registers_a);
  const Value from_a = a ? r.get(a->value) : Value(), from_b = r.get(b.value), add = r.get(accumulate);
  if (r.error) return placeholders(r, sum, sums.size());
  MLIRContext* context = r.b.getContext();
  auto block =
      hw::WgmmaBlockOp::create(r.b, r.loc, SmallVector<Type>(sums.size(), r.type_of(sum)), in, from_a, registers,
                               from_b, add, r.b.getI32IntegerAttr(n), hw::MmaTypeAttr::get(context, *type_a),
                               hw::MmaTypeAttr::get(context, *type_b), r.b.getBoolAttr(layout_a.mn_major),
                               r.b.getBoolAttr(layout_b.mn_major), r.b.getDenseI64ArrayAttr(layout_a.mn_steps),
                               r.b.getDenseI64ArrayAttr(layout_a.k_steps), r.b.getDenseI64ArrayAttr(layout_b.k_steps));
  return scalars(r, sum, block.getResults());
}

void wgmma_wait(int pending) {
  Recording& r = recording();
  if (r.error) return;
  hw::WgmmaWaitOp::create(r.b, r.loc, TypeRange{}, ValueRange{}, uint32_t(pending));
}
std::vector<Scalar> wgmma_wait_all(const std::vector<Scalar>& sums) {
  Recording& r = recording();
  const SmallVector<Value> in = values(r, sums);
  if (r.error || sums.empty()) return sums;
  auto wait = hw::WgmmaWaitOp::create(r.b, r.loc, SmallVector<Type>(sums.size(), r.type_of(sums[0])), in, 0u);
  return scalars(r, sums[0].kind, wait.getResults());
}

std::vector<Scalar> mma_sync(const std::vector<Scalar>& c, const std::vector<Scalar>& a, const std::vector<Scalar>& b,
                             Kind operand) {
  Recording& r = recording();
  const Kind sum = accumulator_of(operand);
  const SmallVector<Value> sums = values(r, c), left = values(r, a), right = values(r, b);
  std::optional<NVVM::MMATypes> type;
  if (operand == Kind::bf16) type = NVVM::MMATypes::bf16;
  if (operand == Kind::f32) type = NVVM::MMATypes::tf32;
  if (operand == Kind::i8) type = NVVM::MMATypes::s8;
  if (operand == Kind::f16) type = NVVM::MMATypes::f16;
  if (!type || c.size() != 4 || a.size() != 4 || b.size() != 2)
    fail(r.where,
         "mma.sync of " + print(operand) + " with " + std::to_string(c.size()) + ", " + std::to_string(a.size()) +
             " and " + std::to_string(b.size()) + " registers",
         "is not m16n8 with 4, 4 and 2", "f16, bf16, f32 (as tf32), i8");
  if (r.error) return placeholders(r, sum, 4);
  Builder& builder = r.b;
  MLIRContext* context = builder.getContext();
  SmallVector<Value> operands_a(left), operands_b(right);
  if (operand == Kind::f16) {  // upstream wants vectors of halves for this type alone
    const Type pair = VectorType::get({2}, builder.getF16Type());
    for (auto* list : {&operands_a, &operands_b})
      for (Value& v : *list) v = LLVM::BitcastOp::create(r.b, r.loc, pair, v);
  }
  const int64_t k = 32 / bytes(operand);
  const Type tuple = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, r.type_of(sum)));
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (operand == Kind::i8) overflow = NVVM::MMAIntOverflow::wrapped;
  std::optional<std::array<NVVM::MMATypes, 2>> names;
  if (operand != Kind::f16) names = {*type, *type};
  const std::array<NVVM::MMALayout, 2> layouts{NVVM::MMALayout::row, NVVM::MMALayout::col};
  const Value result = NVVM::MmaOp::create(r.b, r.loc, tuple, operands_a, operands_b, sums, ArrayRef<int64_t>{16, 8, k},
                                           std::nullopt, overflow, names, layouts);
  return fields(r, sum, result, 4);
}

std::vector<Scalar> load_matrix(const Int& address, int count, bool transposed) {
  Recording& r = recording();
  const Value at = r.pointer_value(shared_pointer(address));
  if (r.error) return placeholders(r, Kind::i32, size_t(count));
  const Type word = r.b.getI32Type();
  const Type type =
      count == 1 ? word
                 : Type(LLVM::LLVMStructType::getLiteral(r.b.getContext(), SmallVector<Type>(size_t(count), word)));
  const auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  const Value v = NVVM::LdMatrixOp::create(r.b, r.loc, type, at, uint32_t(count), layout, eight_by_eight(r),
                                           NVVM::LdStMatrixEltType::B16);
  return count == 1 ? scalars(r, Kind::i32, v) : fields(r, Kind::i32, v, size_t(count));
}
void store_matrix(const Int& address, const std::vector<Scalar>& packed, bool transposed) {
  Recording& r = recording();
  const Value at = r.pointer_value(shared_pointer(address));
  const SmallVector<Value> in = values(r, packed);
  if (r.error) return;
  ++r.stores;
  NVVM::StMatrixOp::create(r.b, r.loc, at, in, transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                           eight_by_eight(r), NVVM::LdStMatrixEltType::B16);
}

std::vector<Scalar> undefined(Kind kind, int n) {
  Recording& r = recording();
  if (r.error) return placeholders(r, kind, size_t(n));
  OpBuilder at(r.b.getContext());
  at.setInsertionPointToStart(r.open.front().block);
  const Value v = LLVM::UndefOp::create(at, r.loc, r.type_of(kind));
  return std::vector<Scalar>(size_t(n), r.wrap(kind, 1, v));
}

namespace {
template <class Op>
Vec approximate(const char* what, const Vec& x) {
  Recording& r = recording();
  if (x.kind != Kind::f32) fail(r.where, std::string(what) + " of " + print(x.kind), "is of f32 only", "convert()");
  std::vector<Vec> lanes;
  for (int i = 0; i < x.lanes; ++i) lanes.push_back(Vec(r.pure_to<Op>(Kind::f32, 1, r.get(extract(x, i)))));
  return join(lanes);
}
}  // namespace
Vec tanh_approximate(const Vec& x) { return approximate<hw::TanhOp>("tanh", x); }
Vec exp2_approximate(const Vec& x) { return approximate<hw::Exp2Op>("exp2", x); }

}  // namespace gemmsmith::op
