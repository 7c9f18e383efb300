// The recording itself, and arithmetic on Int, Offset and Bool.
#include "dsl/recorder.h"

#include <algorithm>
#include <cstring>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gemmsmith {

using namespace mlir;

namespace {
thread_local Recording* current = nullptr;  // staged operators have no parameter that could carry it

std::string line_of(const Where& at) { return std::string(at.file_name()) + ":" + std::to_string(at.line()); }

std::optional<int> log2_of(std::optional<int64_t> n) {
  if (!n || *n <= 0 || (*n & (*n - 1))) return {};
  return __builtin_ctzll(uint64_t(*n));
}
bool is(const Scalar& x, int64_t n) { return x.constant() == n; }

int16_t bf16_bits(double x) {
  llvm::APFloat value(x);
  bool inexact = false;
  value.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return int16_t(value.bitcastToAPInt().getZExtValue());
}
}  // namespace

Recording& recording() {
  GS_ASSERT(current, "staged values are recorded inside record() only");
  return *current;
}
bool has_recording() { return current != nullptr; }

size_t OpKeyHash::operator()(const OpKey& key) const {
  size_t h = std::hash<const void*>()(key.operation) ^ size_t(key.attribute) * 0x9e3779b97f4a7c15u;
  const auto mix = [&](size_t x) { h = (h ^ x) * 0x100000001b3u + (h >> 29); };
  mix(size_t(key.kind) * 64 + size_t(key.lanes));
  for (const void* operand : key.operands) mix(size_t(operand) >> 3);
  for (int64_t n : key.more) mix(size_t(n));
  return h;
}

Recording::Recording(MLIRContext* context, const std::string& name, const RecordOptions& options, const Where& at)
    : b(context), options(options), where(at), loc(location(at)) {
  i64 = b.getI64Type();
  index_type = b.getIntegerType(unsigned(options.index_bits));
  pointer = LLVM::LLVMPointerType::get(context, gpu() ? 1 : 0);
  module = ModuleOp::create(loc);
  b.setInsertionPointToStart(module.getBody());
  auto none = LLVM::LLVMVoidType::get(context);
  const SmallVector<Type> parameters(gpu() ? 0 : 1, pointer);
  function = LLVM::LLVMFuncOp::create(b, loc, name, LLVM::LLVMFunctionType::get(none, parameters));
  Block* entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
  open.push_back({entry, 0, {}, {}});
}

Recording::~Recording() {
  // Operations of detached blocks use values of each other and of the module: cut all uses before anything is freed.
  for (Block* block : detached) block->dropAllReferences();
  for (Block* block : detached) delete block;
  if (module) module.erase();
}

void Recording::fail(const Where& at, Error e) {
  if (error) return;
  e.where = line_of(scopes ? where : at);
  error = std::move(e);
}

Location Recording::location(const Where& at) {
  return FileLineColLoc::get(b.getContext(), at.file_name(), at.line(), at.column());
}

Type Recording::type_of(Kind kind, int lanes) {
  Type t;
  switch (kind) {
    case Kind::i1:
      t = b.getI1Type();
      break;
    case Kind::i8:
    case Kind::e4m3:
    case Kind::e5m2:
      t = b.getI8Type();
      break;
    case Kind::i16:
      t = b.getI16Type();
      break;
    case Kind::i32:
    case Kind::shared:
      t = b.getI32Type();
      break;
    case Kind::index:
      t = index_type;
      break;
    case Kind::i64:
      t = i64;
      break;
    case Kind::f16:
      t = b.getF16Type();
      break;
    case Kind::bf16:
      t = b.getI16Type();
      break;  // recorder.h says why
    case Kind::f32:
      t = b.getF32Type();
      break;
    case Kind::f64:
      t = b.getF64Type();
      break;
    case Kind::pointer:
      return pointer;
  }
  return lanes > 1 ? Type(VectorType::get({lanes}, t)) : t;
}

LLVM::LLVMFuncOp Recording::declare(const char* name, ArrayRef<Type> parameters) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name)) return known;
  OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(outside, loc, name,
                                  LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), parameters));
}

Block* Recording::open_block(bool function) {
  Block* block = new Block;
  detached.push_back(block);
  open.push_back({block, function ? open.size() : open.back().function, {}, {}});
  b.setInsertionPointToEnd(block);
  return block;
}

void Recording::close_block() {
  open.pop_back();
  b.setInsertionPointToEnd(open.back().block);
}

void Recording::attach(Block* block, Region& region) {
  std::erase(detached, block);
  region.push_back(block);
}

void Recording::discard(Block* block) {
  std::erase(detached, block);
  delete block;
}

Value Recording::get(const Scalar& x) {
  if (error) return {};
  if (!x.value) return constant(x.kind, x.lanes, x.integer, x.real);
  Value v = Value::getFromOpaquePointer(x.value);
  Block* home = v.getParentBlock();
  for (const OpenBlock& o : open)
    if (o.block == home) return v;
  fail(where, {"",
               "a value made inside a loop or branch",
               "is used after that has ended",
               "a Var carries values out of loops and branches",
               {}});
  return {};
}

// Constants are unique in their function and stand at its entry.
Value Recording::constant(Kind kind, int lanes, int64_t integer, double real) {
  if (error) return {};
  if (kind == Kind::index && index_type == i64) kind = Kind::i64;
  OpenBlock& entry = open[open.back().function];
  int64_t bits = 0;
  static_assert(sizeof bits == sizeof real);
  if (kind == Kind::bf16) integer = bf16_bits(real), kind = Kind::i16;
  if (is_float(kind)) std::memcpy(&bits, &real, sizeof bits);
  Value& v = entry.constants[{{int(kind), lanes}, {is_float(kind) ? 0 : integer, bits}}];
  if (v) return v;
  OpBuilder at(b.getContext());
  at.setInsertionPointToStart(entry.block);
  const Type type = type_of(kind, lanes);
  TypedAttr element = is_float(kind) ? TypedAttr(b.getFloatAttr(getElementTypeOrSelf(type), real))
                                     : TypedAttr(b.getIntegerAttr(getElementTypeOrSelf(type), integer));
  if (auto vector = dyn_cast<VectorType>(type)) element = DenseElementsAttr::get(vector, Attribute(element));
  return v = arith::ConstantOp::create(at, loc, element);
}

Scalar Recording::numbered(OpKey key, llvm::function_ref<Value()> create, bool this_block_only) {
  const Kind kind = key.kind;
  const int lanes = key.lanes;
  if (error) return placeholder(kind, lanes);
  for (size_t i = open.size(); i-- > 0;) {
    if (auto found = open[i].values.find(key); found != open[i].values.end()) return wrap(kind, lanes, found->second);
    if (this_block_only) break;
  }
  Value v = create();
  open.back().values.emplace(std::move(key), v);
  return wrap(kind, lanes, v);
}

Recorder::Recorder(IrContext& context, const std::string& name, const RecordOptions& options, Where at) {
  GS_ASSERT(!current, "one recording at a time per thread");
  current = recording_ = new Recording(&context.mlir(), name, options, at);
}
Recorder::~Recorder() {
  current = nullptr;
  delete recording_;
}
namespace {
// Of a GPU's entry point: its parameters are known only now.
void set_kernel_attributes(Recording& r, const KernelSignature& signature) {
  Builder& b = r.b;
  r.function.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), llvm::to_vector(r.function.getBody().front().getArgumentTypes())));
  r.function->setAttr("nvvm.kernel", b.getUnitAttr());
  r.function->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({signature.gpu.threads, 1, 1}));
  r.function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));  // else ptxas may ignore setmaxnreg (C7508)
  if (signature.gpu.cluster > 1)
    r.function->setAttr("nvvm.cluster_dim", b.getDenseI32ArrayAttr({signature.gpu.cluster, 1, 1}));
  for (unsigned i = 0; i < unsigned(r.tensor_maps); ++i) {
    r.function.setArgAttr(i, "llvm.byval", TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    r.function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(64));
    r.function.setArgAttr(i, "nvvm.grid_constant", b.getUnitAttr());
  }
}
}  // namespace

Result<KernelIr> Recorder::finish(KernelSignature signature) {
  Recording& r = *recording_;
  if (r.error) return *r.error;
  GS_ASSERT(r.open.size() == 1 && r.detached.empty(), "every loop and branch has been closed");
  LLVM::ReturnOp::create(r.b, r.loc, ValueRange{});
  if (r.gpu()) set_kernel_attributes(r, signature);
  const std::string name = r.function.getName().str();
  void* module = r.module.getOperation();
  r.module = {};
  return KernelIr(module, name, std::move(signature));
}

void op::fail(const Where& at, std::string given, std::string limit, std::string remedy) {
  recording().fail(at, {"", std::move(given), std::move(limit), std::move(remedy), {}});
}
void op::fail(const Where& at, Error error) {
  if (!error.where.empty()) error.notes.push_back("in " + error.where);
  recording().fail(at, std::move(error));
}
bool op::is_recording() { return has_recording(); }
bool op::failed() { return has_recording() && current->error; }
const RecordOptions& op::options() { return recording().options; }
bool op::checks_bounds() { return has_recording() && current->options.check_bounds && !current->error; }
bool op::has_feature(const std::string& name) {
  const auto& features = recording().options.features;
  return std::find(features.begin(), features.end(), name) != features.end();
}

Scope::Scope(const char* name, Where at) : outermost_(current && current->scopes == 0) {
  if (!current) return;  // tensors of known numbers work without a recording
  if (current->scopes++ > 0) return;
  current->where = at;
  current->loc = NameLoc::get(current->b.getStringAttr(name), current->location(at));
}
Scope::~Scope() {
  if (current) --current->scopes;
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.value || b.value) return a.value == b.value;
  return a.kind == b.kind && a.lanes == b.lanes && a.integer == b.integer &&
         (a.real == b.real || (a.real != a.real && b.real != b.real));
}

// Arithmetic that folds.

namespace {
template <class Op, class Fold>
Int binary(const IntArg& a, const IntArg& b, Fold fold) {
  if (auto x = a.v.constant(), y = b.v.constant(); x && y) return Int(int64_t(fold(uint64_t(*x), uint64_t(*y))));
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  return Int(r.pure<Op>(Kind::index, 1, r.get(a.v), r.get(b.v)));
}
Bool compare(arith::CmpIPredicate p, const IntArg& a, const IntArg& b, bool equal, bool (*fold)(uint64_t, uint64_t)) {
  if (auto x = a.v.constant(), y = b.v.constant(); x && y) return Bool(fold(uint64_t(*x), uint64_t(*y)));
  if (same(a.v, b.v)) return Bool(equal);
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  Value x = r.get(a.v), y = r.get(b.v);
  OpKey key{TypeID::get<arith::CmpIOp>().getAsOpaquePointer(), int64_t(p), Kind::i1, 1,
            {x.getAsOpaquePointer(), y.getAsOpaquePointer()},  {}};
  return Bool(r.numbered(std::move(key), [&]() -> Value { return arith::CmpIOp::create(r.b, r.loc, p, x, y); }));
}
bool divides_by_zero(const IntArg& a, const IntArg& b, const char* what) {
  if (!is(b.v, 0)) return false;
  op::fail(a.at, what, "by 0 is not a number");
  return true;
}
}  // namespace

Int operator+(IntArg a, IntArg b) {
  if (is(a.v, 0)) return b.v;
  if (is(b.v, 0)) return a.v;
  return binary<arith::AddIOp>(a, b, [](uint64_t x, uint64_t y) { return x + y; });
}
Int operator-(IntArg a, IntArg b) {
  if (is(b.v, 0)) return a.v;
  if (same(a.v, b.v)) return 0;
  return binary<arith::SubIOp>(a, b, [](uint64_t x, uint64_t y) { return x - y; });
}
Int operator*(IntArg a, IntArg b) {
  if (is(a.v, 0) || is(b.v, 0)) return 0;
  if (is(a.v, 1)) return b.v;
  if (is(b.v, 1)) return a.v;
  return binary<arith::MulIOp>(a, b, [](uint64_t x, uint64_t y) { return x * y; });
}
Int operator/(IntArg a, IntArg b) {
  if (divides_by_zero(a, b, "a division")) return 0;
  if (auto n = log2_of(b.v.constant()); n && a.v.value) return IntArg(a.v, a.at) >> IntArg(*n, a.at);
  return binary<arith::DivUIOp>(a, b, [](uint64_t x, uint64_t y) { return x / y; });
}
Int operator%(IntArg a, IntArg b) {
  if (divides_by_zero(a, b, "a remainder of a division")) return 0;
  if (log2_of(b.v.constant()) && a.v.value) return a & IntArg(*b.v.constant() - 1, a.at);
  return binary<arith::RemUIOp>(a, b, [](uint64_t x, uint64_t y) { return x % y; });
}
Int operator&(IntArg a, IntArg b) {
  if (is(a.v, 0) || is(b.v, 0)) return 0;
  return binary<arith::AndIOp>(a, b, [](uint64_t x, uint64_t y) { return x & y; });
}
Int operator^(IntArg a, IntArg b) {
  if (is(b.v, 0)) return a.v;
  return binary<arith::XOrIOp>(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
}
Int operator<<(IntArg a, IntArg n) {
  if (is(n.v, 0)) return a.v;
  return binary<arith::ShLIOp>(a, n, [](uint64_t x, uint64_t y) { return y < 64 ? x << y : 0; });
}
Int operator>>(IntArg a, IntArg n) {
  if (is(n.v, 0)) return a.v;
  return binary<arith::ShRUIOp>(a, n, [](uint64_t x, uint64_t y) { return y < 64 ? x >> y : 0; });
}
Bool operator==(IntArg a, IntArg b) {
  return compare(arith::CmpIPredicate::eq, a, b, true, [](uint64_t x, uint64_t y) { return x == y; });
}
Bool operator!=(IntArg a, IntArg b) {
  return compare(arith::CmpIPredicate::ne, a, b, false, [](uint64_t x, uint64_t y) { return x != y; });
}
Bool operator<(IntArg a, IntArg b) {
  if (is(b.v, 0)) return false;
  return compare(arith::CmpIPredicate::ult, a, b, false, [](uint64_t x, uint64_t y) { return x < y; });
}
Bool operator<=(IntArg a, IntArg b) {
  if (is(a.v, 0)) return true;
  return compare(arith::CmpIPredicate::ule, a, b, true, [](uint64_t x, uint64_t y) { return x <= y; });
}
Bool operator>(IntArg a, IntArg b) { return IntArg(b.v, a.at) < IntArg(a.v, a.at); }
Bool operator>=(IntArg a, IntArg b) { return IntArg(b.v, a.at) <= IntArg(a.v, a.at); }

Bool operator&(BoolArg a, BoolArg b) {
  if (auto x = a.v.constant()) return *x ? b.v : Bool(false);
  if (auto y = b.v.constant()) return *y ? a.v : Bool(false);
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  return Bool(r.pure<arith::AndIOp>(Kind::i1, 1, r.get(a.v), r.get(b.v)));
}
Bool operator|(BoolArg a, BoolArg b) {
  if (auto x = a.v.constant()) return *x ? Bool(true) : b.v;
  if (auto y = b.v.constant()) return *y ? Bool(true) : a.v;
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  return Bool(r.pure<arith::OrIOp>(Kind::i1, 1, r.get(a.v), r.get(b.v)));
}
Bool operator!(BoolArg a) {
  if (auto x = a.v.constant()) return Bool(!*x);
  Recording& r = recording();
  Recording::AtLine at(r, a.at);
  return Bool(r.pure<arith::XOrIOp>(Kind::i1, 1, r.get(a.v), r.constant(Kind::i1, 1, 1, 0)));
}
Int select(BoolArg c, Int a, Int b) {
  if (same(a, b)) return a;
  if (auto x = c.v.constant()) return *x ? a : b;
  Recording& r = recording();
  Recording::AtLine at(r, c.at);
  return Int(r.pure<arith::SelectOp>(Kind::index, 1, r.get(c.v), r.get(a), r.get(b)));
}
Int min(IntArg a, IntArg b) { return select({a < b, a.at}, a.v, b.v); }
Int max(IntArg a, IntArg b) { return select({a < b, a.at}, b.v, a.v); }
Int ceil_div(IntArg a, IntArg b) {
  if (is(b.v, 1)) return a.v;
  return IntArg(a + IntArg(b - IntArg(1, a.at), a.at), a.at) / b;
}
Int round_up(IntArg a, IntArg b) { return IntArg(ceil_div(a, b), a.at) * b; }

Offset::Offset(Int n) : Scalar{Kind::i64, 1, n.value, n.integer, 0} {
  if (!value) return;
  Recording& r = recording();
  if (r.index_type != r.i64) value = r.pure_to<arith::ExtUIOp>(Kind::i64, 1, r.get(n)).value;
}
Offset add(Offset a, Offset b) {
  if (auto x = a.constant(), y = b.constant(); x && y) return *x + *y;
  if (a.constant() == 0) return b;
  if (b.constant() == 0) return a;
  Recording& r = recording();
  return Offset(r.pure<arith::AddIOp>(Kind::i64, 1, r.get(a), r.get(b)));
}
Offset multiply(Offset a, Offset b) {
  if (auto x = a.constant(), y = b.constant(); x && y) return *x * *y;
  if (a.constant() == 0 || b.constant() == 0) return 0;
  if (a.constant() == 1) return b;
  if (b.constant() == 1) return a;
  Recording& r = recording();
  return Offset(r.pure<arith::MulIOp>(Kind::i64, 1, r.get(a), r.get(b)));
}
Offset swizzled(Offset n, int64_t mask) {
  if (auto x = n.constant()) return *x ^ ((*x >> 3) & mask);
  if (!mask) return n;
  Recording& r = recording();
  const Scalar shifted = r.pure<arith::ShRUIOp>(Kind::i64, 1, r.get(n), r.constant(Kind::i64, 1, 3, 0));
  const Scalar bits = r.pure<arith::AndIOp>(Kind::i64, 1, r.get(shifted), r.constant(Kind::i64, 1, mask, 0));
  return Offset(r.pure<arith::XOrIOp>(Kind::i64, 1, r.get(n), r.get(bits)));
}

// Arguments and checks.

namespace {
// Arguments are loaded at the entry of the kernel, in order, whatever is being recorded where one is first asked for.
Value argument(Recording& r, Type type) {
  if (r.gpu()) return r.open.front().block->addArgument(type, r.loc);
  OpBuilder at(r.b.getContext());
  Block* entry = r.open.front().block;
  if (r.last_argument)
    at.setInsertionPointAfter(r.last_argument);
  else
    at.setInsertionPointToStart(entry);
  Value slot = LLVM::GEPOp::create(at, r.loc, r.pointer, r.i64, Value(entry->getArgument(0)),
                                   ArrayRef<LLVM::GEPArg>{int32_t(r.arguments++)});
  Value v = LLVM::LoadOp::create(at, r.loc, type, slot);
  r.last_argument = v.getDefiningOp();
  return v;
}
// An operation on an argument, next to it.
template <class Op>
Value convert_argument(Recording& r, Type type, Value v) {
  OpBuilder at(r.b.getContext());
  if (Operation* made_by = v.getDefiningOp())
    at.setInsertionPointAfter(made_by);
  else
    at.setInsertionPointToStart(r.open.front().block);
  Value converted = Op::create(at, r.loc, type, v);
  r.last_argument = converted.getDefiningOp();
  return converted;
}
}  // namespace

Scalar op::pointer_argument() {
  Recording& r = recording();
  if (r.error) return r.placeholder(Kind::pointer, 1);
  return r.wrap(Kind::pointer, 1, argument(r, r.pointer));
}
Int op::int_argument() {
  Recording& r = recording();
  if (r.error) return 1;
  Value v = argument(r, r.i64);
  if (r.index_type != r.i64) v = convert_argument<arith::TruncIOp>(r, r.index_type, v);
  return Int(r.wrap(Kind::index, 1, v));
}
Offset op::offset_argument() {
  Recording& r = recording();
  if (r.error) return 1;
  return Offset(r.wrap(Kind::i64, 1, argument(r, r.i64)));
}
Vec op::scalar_argument() {
  Recording& r = recording();
  if (r.error) return Vec(r.placeholder(Kind::f32, 1));
  return Vec(
      r.wrap(Kind::f32, 1, convert_argument<arith::TruncFOp>(r, r.b.getF32Type(), argument(r, r.b.getF64Type()))));
}

Offset op::late_offset() {
  Recording& r = recording();
  if (r.error) return 1;
  OpBuilder at(r.b.getContext());  // not one of the unique constants: it changes
  at.setInsertionPointToStart(r.open[r.open.back().function].block);
  Value v = arith::ConstantOp::create(at, r.loc, r.b.getI64IntegerAttr(0));
  return Offset(r.wrap(Kind::i64, 1, v));
}
void op::set_late_offset(const Offset& n, int64_t value) {
  Recording& r = recording();
  if (r.error) return;
  Value::getFromOpaquePointer(n.value).getDefiningOp<arith::ConstantOp>().setValueAttr(r.b.getI64IntegerAttr(value));
}

void op::check(const Bool& inside, const std::string& given, const std::string& limit, const Where& at) {
  if (auto known = inside.constant()) {
    if (!*known) fail(at, given, limit);
    return;
  }
  Recording& r = recording();
  if (!r.options.check_bounds || r.error) return;
  Value condition = r.get(inside);
  if (r.error) return;
  static const char kCheck = 0;  // its address names the operation
  r.numbered({&kCheck, 0, Kind::i1, 1, {condition.getAsOpaquePointer()}, {}}, [&]() -> Value {
    auto trap = r.declare("gs_bounds_trap", {r.i64});
    const Scalar outside = !BoolArg(inside, at);
    const Value line = r.constant(Kind::i64, 1, int64_t(r.where.line()), 0);
    auto branch = scf::IfOp::create(r.b, r.loc, r.get(outside), false);
    OpBuilder then = branch.getThenBodyBuilder();
    LLVM::CallOp::create(then, r.loc, trap, ValueRange{line});
    return condition;
  });
}

}  // namespace gemmsmith
