#include "targets/cuda/lower_hw.h"

#include <string>

#include "ir/hw.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace gemmsmith {
namespace {

using namespace mlir;

std::string number(int64_t n) { return std::to_string(n); }

// The constraint of a register that holds a value of this type.
const char* constraint_of(Type type) {
  if (type.isF32()) return "f";
  if (type.isInteger(1)) return "b";
  if (type.isInteger(32)) return "r";
  return "l";  // i64 and pointers
}

// What an assembly block does besides computing its results. compiler attributes follow from it: see mark_assembly().
enum class Effect { none, reads, any };

// One assembly block. Operands are numbered as they are added: first all outputs, then all inputs.
class Assembly {
 public:
  explicit Assembly(Operation* op) : op_(op), b_(op) {}

  // Registers that the block both reads and writes: outputs $first ... and the same registers as inputs. All of them
  // before other operands.
  void in_out(ValueRange values) {
    outputs(values.getTypes());
    for (auto [i, value] : llvm::enumerate(values)) tied_ += number(int64_t(i)) + ",", operands_.push_back(value);
    count_ += values.size();
  }
  void outputs(TypeRange types) {
    for (Type type : types) outputs_ += "=" + std::string(constraint_of(type)) + ",", types_.push_back(type);
    count_ += types.size();
  }
  // The name of the operand in the text: "$12".
  std::string input(Value value) {
    inputs_ += std::string(constraint_of(value.getType())) + ",";
    operands_.push_back(value);
    return "$" + number(int64_t(count_++));
  }

  // Replaces the operation.
  void emit(const std::string& text, Effect effect = Effect::any) {
    std::string constraints = outputs_ + tied_ + inputs_;
    if (effect != Effect::none) constraints += "~{memory},";
    if (!constraints.empty()) constraints.pop_back();
    MLIRContext* context = op_->getContext();
    Type result;
    if (types_.size() == 1) result = types_.front();
    if (types_.size() > 1) result = LLVM::LLVMStructType::getLiteral(context, types_);
    auto block = LLVM::InlineAsmOp::create(b_, op_->getLoc(), result ? TypeRange(result) : TypeRange(), operands_, text,
                                           constraints, /*has_side_effects=*/effect == Effect::any,
                                           /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                           LLVM::AsmDialectAttr(), ArrayAttr());
    if (types_.size() == 1) op_->getResult(0).replaceAllUsesWith(block.getRes());
    for (size_t i = 0; types_.size() > 1 && i < types_.size(); ++i)
      op_->getResult(unsigned(i))
          .replaceAllUsesWith(
              LLVM::ExtractValueOp::create(b_, op_->getLoc(), block.getRes(), ArrayRef<int64_t>{int64_t(i)}));
    op_->erase();
  }

 private:
  Operation* op_;
  OpBuilder b_;
  std::string outputs_, tied_, inputs_;
  SmallVector<Value> operands_;
  SmallVector<Type> types_;
  size_t count_ = 0;
};

// "{$4,$5,$6,$7}"
std::string register_list(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i) text += (i ? ",$" : "$") + number(first + i);
  return text + "}";
}

// PTX ISA, "wgmma.mma_async": 16-bit types alone have transposes, integers neither those nor negations.
struct WgmmaForm {
  int k;
  const char* sum;
  bool negates, transposes;
};
WgmmaForm form_of(hw::MmaType type) {
  if (hw::is_integer(type)) return {32, "s32", false, false};
  const int bytes = hw::mma_bytes(type);
  return {32 / bytes, "f32", true, bytes == 2};
}

void lower(hw::WgmmaBlockOp op) {
  const int64_t registers = int64_t(op.getN()) / 2, instructions = int64_t(op.getAMnSteps().size());
  const WgmmaForm form = form_of(op.getTypeA());
  const bool from_registers = !op.getDescriptorA();

  Assembly assembly(op);
  assembly.in_out(op.getAccumulators());
  const std::string b = assembly.input(op.getDescriptorB()), accumulate = assembly.input(op.getAccumulate());
  const std::string a = from_registers ? "" : assembly.input(op.getDescriptorA());
  const int64_t first_a = 2 * int64_t(op.getAccumulators().size()) + 2;  // the operands after these
  for (Value v : op.getRegistersA()) assembly.input(v);

  const std::string name = "wgmma.mma_async.sync.aligned.m64n" + number(op.getN()) + "k" + number(form.k) + "." +
                           form.sum + "." + hw::stringifyMmaType(op.getTypeA()).str() + "." +
                           hw::stringifyMmaType(op.getTypeB()).str() + " ";
  std::string text = "{\n.reg .b64 da, db;\nwgmma.fence.sync.aligned;\n";
  // A descriptor `bytes` further on; nothing is written for the first.
  const auto advanced = [&text](const std::string& descriptor, const char* name, int64_t bytes) -> std::string {
    if (bytes == 0) return descriptor;
    text += "add.s64 " + std::string(name) + ", " + descriptor + ", " + number(bytes >> 4) + ";\n";
    return name;
  };
  for (size_t k = 0; k < op.getAKSteps().size(); ++k) {
    const std::string db = advanced(b, "db", op.getBKSteps()[k]);
    for (int64_t i = 0; i < instructions; ++i) {
      const std::string from_a = from_registers ? register_list(first_a + (int64_t(k) * instructions + i) * 4, 4)
                                                : advanced(a, "da", op.getAKSteps()[k] + op.getAMnSteps()[size_t(i)]);
      text += name + register_list(i * registers, registers) + ", " + from_a + ", " + db + ", " +
              (k == 0 ? accumulate : std::string("1"));
      if (form.negates) text += ", 1, 1";
      if (form.transposes && !from_registers) text += op.getMnMajorA() ? ", 1" : ", 0";
      if (form.transposes) text += op.getMnMajorB() ? ", 1" : ", 0";
      text += ";\n";
    }
  }
  assembly.emit(text + "wgmma.commit_group.sync.aligned;\n}");
}

void lower(hw::WgmmaWaitOp op) {
  Assembly assembly(op);
  assembly.in_out(op.getAccumulators());
  assembly.emit("wgmma.wait_group.sync.aligned " + number(op.getPending()) + ";");
}

// Labels are local to their braces.
void lower(hw::MbarrierWaitOp op) {
  Assembly assembly(op);
  const std::string barrier = assembly.input(op.getBarrier()), parity = assembly.input(op.getParity());
  const char* order = op.getScope() == hw::Scope::cluster ? ".acquire.cluster" : "";  // acquire.cta is the default
  assembly.emit(std::string("{\n.reg .pred done;\nwait:\nmbarrier.try_wait.parity") + order +
                ".shared::cta.b64 done, [" + barrier + "], " + parity + ";\n@!done bra wait;\n}");
}

// The plain form releases at .cta, whichever CTA the barrier is in; a cluster's scope costs a fence of the whole GPU.
void lower(hw::MbarrierArriveRemoteOp op) {
  Assembly assembly(op);
  const std::string barrier = assembly.input(op.getBarrier());
  const char* order = op.getScope() == hw::Scope::cluster ? ".release.cluster" : "";
  assembly.emit(std::string("mbarrier.arrive") + order + ".shared::cluster.b64 _, [" + barrier + "];");
}

void lower(hw::StoreAsyncOp op) {
  Assembly assembly(op);
  const std::string to = assembly.input(op.getDestination()), value = assembly.input(op.getValue()),
                    barrier = assembly.input(op.getBarrier());
  const Type type = op.getValue().getType();
  const char* suffix = type.isF32() ? "f32" : type.isInteger(32) ? "b32" : "b64";
  assembly.emit(std::string("st.async.shared::cluster.mbarrier::complete_tx::bytes.") + suffix + " [" + to + "], " +
                value + ", [" + barrier + "];");
}

// L1 takes the priority in the instruction, L2 through a policy (PTX ISA, "createpolicy"), which ptxas makes a constant.
void lower(hw::LoadGlobalOp op) {
  Assembly assembly(op);
  const int64_t words = int64_t(op.getWords().size());
  assembly.outputs(op.getWords().getTypes());
  const std::string address = assembly.input(op.getAddress());
  const std::string vector = words == 1 ? "" : ".v" + number(words);
  const std::string to = words == 1 ? "$0" : register_list(0, words);
  if (op.getHint() == hw::CacheHint::normal)
    return assembly.emit("ld.global.nc" + vector + ".b32 " + to + ", [" + address + "];", Effect::reads);
  const std::string hint = hw::stringifyCacheHint(op.getHint()).str();
  assembly.emit("{\n.reg .b64 policy;\ncreatepolicy.fractional.L2::" + hint + ".b64 policy, 1.0;\nld.global.nc.L1::" +
                    hint + ".L2::cache_hint" + vector + ".b32 " + to + ", [" + address + "], policy;\n}",
                Effect::reads);
}

void lower_approximate(Operation* op, const char* instruction) {
  Assembly assembly(op);
  assembly.outputs(op->getResultTypes());
  const std::string x = assembly.input(op->getOperand(0));
  assembly.emit(std::string(instruction) + ".approx.f32 $0, " + x + ";", Effect::none);
}
void lower(hw::TanhOp op) { lower_approximate(op, "tanh"); }
void lower(hw::Exp2Op op) { lower_approximate(op, "ex2"); }

struct Entry {
  StringRef name;
  void (*lower)(Operation*);
};
template <class Op>
Entry entry() {
  return {Op::getOperationName(), [](Operation* op) { lower(cast<Op>(op)); }};
}
// One line an operation.
ArrayRef<Entry> table() {
  static const Entry entries[] = {
      entry<hw::WgmmaBlockOp>(),            //
      entry<hw::WgmmaWaitOp>(),             //
      entry<hw::MbarrierWaitOp>(),          //
      entry<hw::MbarrierArriveRemoteOp>(),  //
      entry<hw::StoreAsyncOp>(),            //
      entry<hw::LoadGlobalOp>(),            //
      entry<hw::TanhOp>(),                  //
      entry<hw::Exp2Op>(),                  //
  };
  return entries;
}

}  // namespace

void lower_hw(Operation* module) {
  module->walk([](Operation* op) {
    if (!isa<hw::HwDialect>(op->getDialect())) return;
    const StringRef name = op->getName().getStringRef();
    for (const Entry& e : table())
      if (e.name == name) return e.lower(op);
  });
}

std::vector<std::string_view> lowered_hw_ops() {
  std::vector<std::string_view> names;
  for (const Entry& e : table()) names.emplace_back(e.name.data(), e.name.size());
  return names;
}

}  // namespace gemmsmith
