#include "targets/simulator/lower.h"

#include "compiler/diagnostics.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/simulator/lowering.h"

namespace gemmsmith::simulator {

using namespace mlir;

namespace {

Site site_of(Operation* op) {
  Site site;
  site.label = op->getName().getStringRef().str();
  Location loc = op->getLoc();
  if (auto name = dyn_cast<NameLoc>(loc)) {
    site.label = name.getName().str();
    loc = name.getChildLoc();
  }
  if (auto line = dyn_cast<FileLineColLoc>(loc)) {
    site.file = line.getFilename().str();
    site.line = int(line.getLine());
  }
  return site;
}

Type type_of(Lowering& l, ValueKind kind) {
  switch (kind) {
    case ValueKind::i32:
      return l.i32;
    case ValueKind::i64:
      return l.i64;
    case ValueKind::f32:
      return l.f32;
    case ValueKind::pointer:
      return l.pointer;
    case ValueKind::none:
      break;
  }
  return LLVM::LLVMVoidType::get(l.b.getContext());
}

const Entry& entry_named(const std::string& name) {
  for (const Entry& entry : entries())
    if (entry.name == name) return entry;
  GS_ASSERT(false, "the lowering calls entries of entries.def only");
  return entries().front();
}

// void entry(void* const* parameters): parameters as the driver takes them, addresses of the arguments.
void add_entry(Lowering& l, const std::vector<bool>& by_value) {
  OpBuilder b = OpBuilder::atBlockEnd(l.module.getBody());
  const Location loc = l.kernel.getLoc();
  const Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto entry = LLVM::LLVMFuncOp::create(b, loc, kEntryName, LLVM::LLVMFunctionType::get(none, {l.pointer}));
  Block* body = entry.addEntryBlock(b);
  b.setInsertionPointToEnd(body);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < l.kernel.getNumArguments(); ++i) {
    const Value slot =
        LLVM::GEPOp::create(b, loc, l.pointer, l.pointer, body->getArgument(0), ArrayRef<LLVM::GEPArg>{int32_t(i)});
    const Value place = LLVM::LoadOp::create(b, loc, l.pointer, slot);
    arguments.push_back(by_value[i] ? place
                                    : Value(LLVM::LoadOp::create(b, loc, l.kernel.getArgumentTypes()[i], place)));
  }
  LLVM::CallOp::create(b, loc, l.kernel, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}

std::vector<NamedRegion> regions_of(ModuleOp module) {
  std::vector<NamedRegion> regions;
  const auto named = module->getAttrOfType<ArrayAttr>("gs.shared");
  if (!named) return regions;
  for (Attribute attribute : named) {
    const auto region = cast<ArrayAttr>(attribute);
    regions.push_back({uint32_t(cast<IntegerAttr>(region[1]).getInt()), uint32_t(cast<IntegerAttr>(region[2]).getInt()),
                       cast<StringAttr>(region[0]).str()});
  }
  return regions;
}

}  // namespace

Lowering::Lowering(ModuleOp module, LLVM::LLVMFuncOp kernel, LoweredTables& tables)
    : module(module),
      kernel(kernel),
      tables(tables),
      b(module.getContext()),
      pointer(LLVM::LLVMPointerType::get(module.getContext())) {
  i1 = b.getI1Type(), i16 = b.getI16Type(), i32 = b.getI32Type(), i64 = b.getI64Type(), f32 = b.getF32Type();
}

void Lowering::at(Operation* next) {
  op = next;
  b.setInsertionPoint(op);
}
Value Lowering::number(int64_t n) { return LLVM::ConstantOp::create(b, loc(), b.getI32IntegerAttr(int32_t(n))); }
Value Lowering::site() {
  const Site site = site_of(op);
  const auto [found, is_new] = sites_.try_emplace(text_of(site), int(tables.sites.size()));
  if (is_new) tables.sites.push_back(site);
  return number(found->second);
}
Value Lowering::generic(Value p) {
  const auto type = cast<LLVM::LLVMPointerType>(p.getType());
  return type.getAddressSpace() ? Value(LLVM::AddrSpaceCastOp::create(b, loc(), pointer, p)) : p;
}
Value Lowering::as_i32(Value v) {
  const unsigned bits = v.getType().getIntOrFloatBitWidth();
  if (bits == 32) return v;
  return bits < 32 ? Value(LLVM::ZExtOp::create(b, loc(), i32, v)) : Value(LLVM::TruncOp::create(b, loc(), i32, v));
}

Value Lowering::call(const char* name, std::initializer_list<Value> arguments) {
  return call(name, ValueRange(SmallVector<Value>(arguments)));
}
Value Lowering::call(const char* name, ValueRange arguments) {
  SmallVector<Value> all{site()};
  llvm::append_range(all, arguments);
  const Entry& entry = entry_named(name);
  GS_ASSERT(entry.parameters.size() == all.size(), "an entry is called with its parameters");
  SmallVector<Type> types;
  for (size_t i = 0; i < all.size(); ++i) {
    types.push_back(type_of(*this, entry.parameters[i]));
    GS_ASSERT(types.back() == all[i].getType(), "an entry is called with its parameters' types");
  }
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    function = LLVM::LLVMFuncOp::create(outside, loc(), name,
                                        LLVM::LLVMFunctionType::get(type_of(*this, entry.result), types));
  }
  auto made = LLVM::CallOp::create(b, loc(), function, all);
  return made.getNumResults() ? made.getResult() : Value();
}

Value Lowering::buffer(Type element, int64_t n, int slot) {
  std::string key;
  llvm::raw_string_ostream(key) << element << "x" << n << "/" << slot;
  Value& known = buffers_[key];
  if (known) return known;
  OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  const Value count = LLVM::ConstantOp::create(entry, loc(), b.getI32IntegerAttr(int32_t(n)));
  return known = LLVM::AllocaOp::create(entry, loc(), pointer, element, count, 64);
}
Value Lowering::buffer_of(ValueRange values, int slot) {
  const Type element = values[0].getType();
  const Value to = buffer(element, int64_t(values.size()), slot);
  for (auto [i, v] : llvm::enumerate(values))
    LLVM::StoreOp::create(b, loc(), v,
                          LLVM::GEPOp::create(b, loc(), pointer, element, to, ArrayRef<LLVM::GEPArg>{int32_t(i)}));
  return to;
}
SmallVector<Value> Lowering::loaded(Value from, Type element, int64_t n) {
  SmallVector<Value> out;
  for (int32_t i = 0; i < n; ++i)
    out.push_back(LLVM::LoadOp::create(
        b, loc(), element, LLVM::GEPOp::create(b, loc(), pointer, element, from, ArrayRef<LLVM::GEPArg>{i})));
  return out;
}
Value Lowering::tuple_of(Type type, ValueRange values) {
  if (!isa<LLVM::LLVMStructType>(type)) return values[0];
  Value tuple = LLVM::UndefOp::create(b, loc(), type);
  for (auto [i, v] : llvm::enumerate(values))
    tuple = LLVM::InsertValueOp::create(b, loc(), tuple, v, ArrayRef<int64_t>{int64_t(i)});
  return tuple;
}

Result<LoweredTables> lower_to_simulator(Operation* operation) {
  auto module = cast<ModuleOp>(operation);
  LoweredTables tables;
  tables.regions = regions_of(module);
  LLVM::LLVMFuncOp kernel;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr("nvvm.kernel")) kernel = function;
  if (!kernel) return Error{"simulator", "a module without a kernel", "cannot be run", {}, {}};
  std::vector<bool> by_value;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) by_value.push_back(bool(kernel.getArgAttr(i, "llvm.byval")));
  kernel.removeArgAttrsAttr();
  for (NamedAttribute attribute : llvm::to_vector(kernel->getDiscardableAttrs()))
    kernel->removeDiscardableAttr(attribute.getName());
  kernel.setLinkage(LLVM::Linkage::Internal);

  Lowering lowering(module, kernel, tables);
  SmallVector<Operation*> ops;
  kernel.walk([&](Operation* op) { ops.push_back(op); });
  for (Operation* op : ops) {
    lowering.at(op);
    auto outcome = Lowering::Outcome::unknown;
    for (auto* lower : {lower_threads, lower_copies, lower_mma, lower_memory})
      if (outcome = lower(lowering); outcome != Lowering::Outcome::unknown) break;
    if (outcome == Lowering::Outcome::replaced) op->erase();
    if (outcome != Lowering::Outcome::unknown) continue;
    // LLVM's own intrinsics mean the same on every target; those of the GPU do not exist on the host.
    if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op);
        intrinsic && !intrinsic.getIntrin().starts_with("llvm.nvvm"))
      continue;
    if (isa_and_nonnull<NVVM::NVVMDialect, hw::HwDialect>(op->getDialect()) ||
        isa<LLVM::InlineAsmOp, LLVM::CallIntrinsicOp>(op)) {
      const std::string line = line_of(op->getLoc());
      return Error{line.empty() ? "simulator" : line,
                   "the operation " + op->getName().getStringRef().str(),
                   "is not simulated, or not in this form",
                   "give it semantics in src/targets/simulator",
                   {}};
    }
  }
  for (auto global : llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>()))
    if (global.getAddrSpace() == 3) global.erase();
  module->removeAttr("gs.shared");
  add_entry(lowering, by_value);
  return tables;
}

}  // namespace gemmsmith::simulator
