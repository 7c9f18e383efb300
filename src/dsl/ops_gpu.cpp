// Operations of a GPU: threads, barriers, copies. ops_mma.cpp has the tensor cores.
#include "dsl/ops_gpu.h"

#include "dsl/recorder.h"
#include "ir/hw.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gemmsmith::op {

using namespace mlir;

namespace {

Type pointer_type(Recording& r, unsigned space) { return LLVM::LLVMPointerType::get(r.b.getContext(), space); }
Value number(Recording& r, int64_t n) { return r.constant(Kind::i32, 1, n, 0); }
Value shared(Recording& r, const Int& address) {
  return r.pointer_value({Kind::shared, 1, address.value, address.integer, 0});
}

template <class Op, class... A>
OpKey key_of(Kind kind, int64_t attribute, A... operands) {
  return {TypeID::get<Op>().getAsOpaquePointer(), attribute, kind, 1, {operands.getAsOpaquePointer()...}, {}};
}

// An operation without a result whose operands have been made; nothing after a mistake.
template <class Op, class... A>
void make(Recording& r, A&&... arguments) {
  if (!r.error) Op::create(r.b, r.loc, std::forward<A>(arguments)...);
}

template <class Op>
Int special_register() {
  Recording& r = recording();
  return Int(r.numbered({TypeID::get<Op>().getAsOpaquePointer(), 0, Kind::index, 1, {}, {}},
                        [&]() -> Value { return Op::create(r.b, r.loc, r.index_type); }));
}

hw::ScopeAttr scope_attribute(Recording& r, MemoryScope scope) {
  return hw::ScopeAttr::get(r.b.getContext(), static_cast<hw::Scope>(scope));
}

SmallVector<Value> values(Recording& r, const std::vector<Int>& in) {
  SmallVector<Value> out;
  for (const Int& x : in) out.push_back(r.get(x));
  return out;
}

}  // namespace

TensorMapRef tensor_map_argument() {
  Recording& r = recording();
  if (r.error) return {r.placeholder(Kind::pointer, 1)};
  const auto place = unsigned(r.tensor_maps++);
  return {r.wrap(Kind::pointer, 1, r.open.front().block->insertArgument(place, pointer_type(r, 0), r.loc))};
}

Int thread_id() { return special_register<NVVM::ThreadIdXOp>(); }
Int block_id() { return special_register<NVVM::BlockIdXOp>(); }
Int grid_size() { return special_register<NVVM::GridDimXOp>(); }
Int cluster_rank() { return special_register<NVVM::ClusterId>(); }

// A shuffle makes it known to be uniform: ptxas then keeps what depends on it in uniform registers.
Int warp_id() {
  Recording& r = recording();
  const Value id = r.get(thread_id() >> 5), zero = number(r, 0), all = number(r, -1), last = number(r, 31);
  return Int(r.numbered(key_of<NVVM::ShflOp>(Kind::index, 0, id), [&]() -> Value {
    return NVVM::ShflOp::create(r.b, r.loc, r.index_type, all, id, zero, last, NVVM::ShflKind::idx, UnitAttr());
  }));
}

Bool elect_one() {
  Recording& r = recording();
  if (r.error) return true;
  return Bool(r.wrap(Kind::i1, 1, NVVM::ElectSyncOp::create(r.b, r.loc, r.b.getI1Type(), Value())));
}

Vec shuffle_xor(const Vec& x, int lanes) {
  Recording& r = recording();
  if (x.lanes != 1 || bytes(x.kind) != 4 || lanes < 1 || lanes > 31)
    fail(r.where, "a shuffle of " + std::to_string(x.lanes) + " x " + print(x.kind),
         "is of 32 bits, between lanes 1 to 31 apart");
  const Value word = r.get(bitcast(x, Kind::i32)), all = number(r, -1), apart = number(r, lanes), last = number(r, 31);
  if (r.error) return x;
  const Value other =
      NVVM::ShflOp::create(r.b, r.loc, r.b.getI32Type(), all, word, apart, last, NVVM::ShflKind::bfly, UnitAttr());
  return bitcast(Vec(r.wrap(Kind::i32, 1, other)), x.kind);
}

// Shared memory.

Int shared_base() {
  Recording& r = recording();
  static const char kBase = 0;
  if (r.error) return 0;
  OpBuilder::InsertionGuard guard(r.b);
  // At the entry, whoever asks first: everything that is shared counts from here.
  auto& entry = r.open.front();
  OpKey key{&kBase, 0, Kind::index, 1, {}, {}};
  if (auto found = entry.values.find(key); found != entry.values.end())
    return Int(r.wrap(Kind::index, 1, found->second));
  r.b.setInsertionPointToStart(r.module.getBody());
  const Type bytes = LLVM::LLVMArrayType::get(r.b.getI8Type(), 0);
  auto memory = LLVM::GlobalOp::create(r.b, r.loc, bytes, /*isConstant=*/false, LLVM::Linkage::External, "gs_shared",
                                       Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  r.b.setInsertionPointToStart(entry.block);
  const Value address = LLVM::AddressOfOp::create(r.b, r.loc, memory).getResult();
  const Value base = LLVM::PtrToIntOp::create(r.b, r.loc, r.b.getI32Type(), address);
  entry.values.emplace(std::move(key), base);
  return Int(r.wrap(Kind::index, 1, base));
}

Int late_int() {
  Recording& r = recording();
  if (r.error) return 1;
  OpBuilder at(r.b.getContext());  // not one of the unique constants: it changes
  at.setInsertionPointToStart(r.open.front().block);
  return Int(r.wrap(Kind::index, 1, arith::ConstantOp::create(at, r.loc, r.b.getI32IntegerAttr(0))));
}
void set_late_int(const Int& n, int64_t value) {
  Recording& r = recording();
  if (r.error) return;
  Value::getFromOpaquePointer(n.value).getDefiningOp<arith::ConstantOp>().setValueAttr(
      r.b.getI32IntegerAttr(int32_t(value)));
}
Scalar shared_pointer(const Int& address) { return {Kind::shared, 1, address.value, address.integer, 0}; }

void name_shared(const std::string& name, int64_t begin, int64_t bytes) {
  Recording& r = recording();
  if (r.error) return;
  Builder& b = r.b;
  SmallVector<Attribute> regions;
  if (auto before = r.module->getAttrOfType<ArrayAttr>("gs.shared")) llvm::append_range(regions, before);
  regions.push_back(b.getArrayAttr({b.getStringAttr(name), b.getI64IntegerAttr(begin), b.getI64IntegerAttr(bytes)}));
  r.module->setAttr("gs.shared", b.getArrayAttr(regions));
}

// Threads meet.

void set_max_registers(int registers, bool increase) {
  Recording& r = recording();
  make<NVVM::SetMaxRegisterOp>(r, uint32_t(registers),
                               increase ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease);
}
void block_barrier() {
  Recording& r = recording();
  make<NVVM::BarrierOp>(r);
  ++r.stores;
}
void named_barrier(const Int& id, int threads) {
  Recording& r = recording();
  const Value which = r.get(id), count = number(r, threads);
  make<NVVM::BarrierOp>(r, Type(), which, count, NVVM::BarrierReductionAttr(), Value());
  ++r.stores;
}
void warp_barrier() {
  Recording& r = recording();
  const Value all = number(r, -1);
  make<NVVM::SyncWarpOp>(r, all);
  ++r.stores;
}
void cluster_arrive(bool aligned) {
  Recording& r = recording();
  make<NVVM::ClusterArriveOp>(r, aligned ? r.b.getUnitAttr() : UnitAttr());
}
void cluster_wait(bool aligned) {
  Recording& r = recording();
  make<NVVM::ClusterWaitOp>(r, aligned ? r.b.getUnitAttr() : UnitAttr());
  ++r.stores;
}

// mbarriers.

void mbarrier_init(const Int& barrier, const Int& arrivals) {
  Recording& r = recording();
  const Value at = shared(r, barrier), count = r.get(arrivals);
  make<NVVM::MBarrierInitOp>(r, at, count, Value());
}
void fence_mbarrier_init() { make<NVVM::FenceMbarrierInitOp>(recording()); }
void mbarrier_expect_bytes(const Int& barrier, int64_t bytes) {
  Recording& r = recording();
  const Value at = shared(r, barrier), count = number(r, bytes);
  make<NVVM::MBarrierArriveExpectTxOp>(r, Type(), at, count, NVVM::MemScopeKind::CTA, false, Value());
}
void mbarrier_arrive(const Int& barrier) {
  Recording& r = recording();
  const Value at = shared(r, barrier);
  make<NVVM::MBarrierArriveOp>(r, r.i64, at, Value());
}
void mbarrier_arrive_remote(const Remote& barrier, MemoryScope scope) {
  Recording& r = recording();
  const Value at = r.get(barrier.pointer);
  make<hw::MbarrierArriveRemoteOp>(r, at, scope_attribute(r, scope));
}
void mbarrier_wait(const Int& barrier, const Int& parity, MemoryScope scope) {
  Recording& r = recording();
  const Value at = shared(r, barrier), which = r.get(parity);
  make<hw::MbarrierWaitOp>(r, at, which, scope_attribute(r, scope));
  ++r.stores;
}
Remote map_to_rank(const Int& address, const Int& rank) {
  Recording& r = recording();
  const Value at = shared(r, address), which = r.get(rank);
  return {r.numbered(key_of<NVVM::MapaOp>(Kind::pointer, 0, at, which),
                     [&]() -> Value { return NVVM::MapaOp::create(r.b, r.loc, pointer_type(r, 7), at, which); })};
}
Remote advance(const Remote& remote, const Int& bytes) {
  Recording& r = recording();
  if (bytes.constant() == 0) return remote;
  const Value from = r.get(remote.pointer), step = r.get(bytes);
  return {r.numbered(key_of<LLVM::GEPOp>(Kind::pointer, 7, from, step), [&]() -> Value {
    return LLVM::GEPOp::create(r.b, r.loc, pointer_type(r, 7), r.b.getI8Type(), from, ArrayRef<LLVM::GEPArg>{step});
  })};
}
void store_async(const Remote& to, const Vec& value, const Remote& barrier) {
  Recording& r = recording();
  const Value at = r.get(to.pointer), v = r.get(value), counts = r.get(barrier.pointer);
  make<hw::StoreAsyncOp>(r, v, at, counts);
}

// TMA.

void prefetch(const TensorMapRef& map) {
  Recording& r = recording();
  const Value at = r.get(map.pointer);
  make<NVVM::PrefetchOp>(r, NVVM::PrefetchCacheLevelAttr(), NVVM::CacheEvictionPriorityAttr(), at, Value(),
                         r.b.getUnitAttr());
}
void tma_load(const Int& to, const TensorMapRef& map, const std::vector<Int>& coordinate, const Int& barrier,
              const std::optional<Int>& multicast_mask) {
  Recording& r = recording();
  Value mask;
  if (multicast_mask) {
    const auto known = multicast_mask->constant();
    mask = known ? r.constant(Kind::i16, 1, *known, 0)
                 : r.get(r.pure_to<arith::TruncIOp>(Kind::i16, 1, r.get(*multicast_mask)));
  }
  const Value here = shared(r, to), from = r.get(map.pointer), counts = shared(r, barrier);
  const SmallVector<Value> at = values(r, coordinate);
  if (r.error) return;
  const Value there = LLVM::AddrSpaceCastOp::create(r.b, r.loc, pointer_type(r, 7), here);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(r.b, r.loc, there, from, at, counts, ValueRange{}, mask,
                                                         Value(), NVVM::TMALoadMode::TILE, false,
                                                         NVVM::CTAGroupKindAttr(), Value());
}
void tma_store(const TensorMapRef& map, const Int& from, const std::vector<Int>& coordinate) {
  Recording& r = recording();
  const Value to = r.get(map.pointer), here = shared(r, from);
  const SmallVector<Value> at = values(r, coordinate);
  make<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(r, to, here, ValueRange(at), Value(), NVVM::TMAStoreMode::TILE,
                                                   Value());
}
void tma_reduce(TmaReduction how, const TensorMapRef& map, const Int& from, const std::vector<Int>& coordinate) {
  Recording& r = recording();
  const Value to = r.get(map.pointer), here = shared(r, from);
  const SmallVector<Value> at = values(r, coordinate);
  static const NVVM::TMAReduxKind kinds[] = {NVVM::TMAReduxKind::ADD, NVVM::TMAReduxKind::MIN, NVVM::TMAReduxKind::MAX};
  make<NVVM::CpAsyncBulkTensorReduceOp>(r, to, here, kinds[size_t(how)], NVVM::TMAStoreMode::TILE, ValueRange(at),
                                        Value());
}
void bulk_load(const Int& to, const Scalar& from, const Int& bytes, const Int& barrier) {
  Recording& r = recording();
  const Value here = shared(r, to), there = r.get(from), size = r.get(bytes), counts = shared(r, barrier);
  if (r.error) return;
  const Value cluster = LLVM::AddrSpaceCastOp::create(r.b, r.loc, pointer_type(r, 7), here);
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(r.b, r.loc, cluster, there, counts, size, Value(), Value());
}
void bulk_store(const Scalar& to, const Int& from, const Int& bytes) {
  Recording& r = recording();
  const Value there = r.get(to), here = shared(r, from), size = r.get(bytes);
  make<NVVM::CpAsyncBulkSharedCTAToGlobalOp>(r, there, here, size, Value(), Value());
}
void bulk_commit() { make<NVVM::CpAsyncBulkCommitGroupOp>(recording()); }
void bulk_wait(int pending, bool read_only) {
  Recording& r = recording();
  make<NVVM::CpAsyncBulkWaitGroupOp>(r, uint32_t(pending), read_only ? r.b.getUnitAttr() : UnitAttr());
  ++r.stores;
}
void fence_async_shared() {
  Recording& r = recording();
  make<NVVM::FenceProxyOp>(r, NVVM::ProxyKind::async_shared,
                           NVVM::SharedSpaceAttr::get(r.b.getContext(), NVVM::SharedSpace::shared_cta));
}

void fence_async() {
  Recording& r = recording();
  make<NVVM::FenceProxyOp>(r, NVVM::ProxyKind::async, NVVM::SharedSpaceAttr());
}

// cp.async.

void copy_async(const Int& to, const Scalar& from, int size, const Int& valid) {
  Recording& r = recording();
  const Value here = shared(r, to), there = r.get(from);
  const Value some = valid.constant() == size ? Value() : r.get(valid);
  const auto cached = size == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  make<NVVM::CpAsyncOp>(r, here, there, uint32_t(size), cached, some);
}
void copy_async_arrive(const Int& barrier) {
  Recording& r = recording();
  const Value at = shared(r, barrier);
  make<NVVM::CpAsyncMBarrierArriveOp>(r, at, /*noinc=*/true);
}
void copy_async_commit() { make<NVVM::CpAsyncCommitGroupOp>(recording()); }
void copy_async_wait(int pending) {
  Recording& r = recording();
  make<NVVM::CpAsyncWaitGroupOp>(r, uint32_t(pending));
  ++r.stores;
}

// Memory.

Vec load_global(const Scalar& pointer, Kind kind, int lanes, CacheHint hint) {
  Recording& r = recording();
  const int words = lanes * bytes(kind) / 4;
  if (lanes * bytes(kind) % 4 != 0 || (words != 1 && words != 2 && words != 4)) {
    fail(r.where, "a load of " + std::to_string(lanes * bytes(kind)) + " bytes", "is not one of 4, 8 or 16");
    return Vec(r.placeholder(kind, lanes));
  }
  const Value from = r.get(pointer);
  if (r.error) return Vec(r.placeholder(kind, lanes));
  const SmallVector<Type> types(static_cast<size_t>(words), r.b.getI32Type());
  auto load = hw::LoadGlobalOp::create(r.b, r.loc, types, from,
                                       hw::CacheHintAttr::get(r.b.getContext(), static_cast<hw::CacheHint>(hint)));
  std::vector<Vec> loaded;
  for (Value v : load.getWords()) loaded.push_back(Vec(r.wrap(Kind::i32, 1, v)));
  return bitcast(join(loaded), kind);
}

Vec load_if(const Bool& inside, const Scalar& pointer, Kind kind, int lanes) {
  const Vec nothing(Scalar{kind, lanes, nullptr, 0, 0});
  Var<Vec> loaded(nothing);
  when(inside, [&] { loaded = load(pointer, kind, lanes, {}); });
  return loaded;
}
Vec load_cluster(const Remote& from, Kind kind, int lanes) {
  Recording& r = recording();
  const Value at = r.get(from.pointer);
  if (r.error) return Vec(r.placeholder(kind, lanes));
  const unsigned alignment = unsigned(lanes * bytes(kind));
  return Vec(r.wrap(kind, lanes, LLVM::LoadOp::create(r.b, r.loc, r.type_of(kind, lanes), at, alignment)));
}
void store_cluster(const Remote& to, const Vec& v) {
  Recording& r = recording();
  const Value at = r.get(to.pointer), x = r.get(v);
  make<LLVM::StoreOp>(r, x, at, unsigned(v.lanes * bytes(v.kind)));
  ++r.stores;
}

namespace {
constexpr const char* kDevice = "device";  // LLVM's name of the gpu scope
}
Int load_acquire(const Scalar& pointer) {
  Recording& r = recording();
  const Value from = r.get(pointer);
  if (r.error) return 0;
  ++r.stores;
  return Int(r.wrap(Kind::index, 1,
                    LLVM::LoadOp::create(r.b, r.loc, r.b.getI32Type(), from, 4, false, false, false, false,
                                         LLVM::AtomicOrdering::acquire, kDevice)));
}
void wait_flag(const Scalar& pointer, const Int& value) {
  Recording& r = recording();
  const Value flag = r.get(pointer), v = r.get(value);
  make<hw::FlagWaitOp>(r, flag, v, scope_attribute(r, MemoryScope::gpu));
  ++r.stores;
}
void store_relaxed(const Scalar& pointer, const Int& n) {
  Recording& r = recording();
  const Value to = r.get(pointer), v = r.get(n);
  make<LLVM::StoreOp>(r, v, to, 4u, false, false, false, LLVM::AtomicOrdering::monotonic, kDevice);
  ++r.stores;
}
void store_release(const Scalar& pointer, const Int& n) {
  Recording& r = recording();
  const Value to = r.get(pointer), v = r.get(n);
  make<LLVM::StoreOp>(r, v, to, 4u, false, false, false, LLVM::AtomicOrdering::release, kDevice);
}
Int add_release(const Scalar& pointer, const Int& n) {
  Recording& r = recording();
  const Value to = r.get(pointer), v = r.get(n);
  if (r.error) return 0;
  ++r.stores;
  return Int(r.wrap(
      Kind::index, 1,
      LLVM::AtomicRMWOp::create(r.b, r.loc, LLVM::AtomicBinOp::add, to, v, LLVM::AtomicOrdering::acq_rel, kDevice, 4)));
}
void reduce_add(const Scalar& pointer, const Vec& x) {
  Recording& r = recording();
  const Value to = r.get(pointer), v = r.get(x);
  make<LLVM::AtomicRMWOp>(r, LLVM::AtomicBinOp::fadd, to, v, LLVM::AtomicOrdering::monotonic, kDevice, 4u);
  ++r.stores;
}

// Programmatic dependent launch.

void launch_dependents() { make<NVVM::GriddepcontrolOp>(recording(), NVVM::GridDepActionKind::launch_dependents); }
void wait_for_dependencies() {
  Recording& r = recording();
  make<NVVM::GriddepcontrolOp>(r, NVVM::GridDepActionKind::wait);
  ++r.stores;
}

// Where recording goes on.

const void* current_block() { return recording().open.back().block; }

void hoist(const std::function<void()>& body) {
  Recording& r = recording();
  if (r.error) return body();
  const size_t role = r.roles.empty() ? 0 : r.roles.back();
  std::vector<Recording::OpenBlock> inner;
  for (size_t i = role + 1; i < r.open.size(); ++i) inner.push_back(std::move(r.open[i]));
  r.open.resize(role + 1);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToEnd(r.open.back().block);
  body();
  if (!r.error) GS_ASSERT(r.open.size() == role + 1, "what is hoisted closes its loops and branches");
  for (auto& block : inner) r.open.push_back(std::move(block));
}

void isolated(const Bool& condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  Recording& r = recording();
  if (auto known = condition.constant(); known && !r.error) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  if (r.error) {
    then();
    if (otherwise) otherwise();
    return;
  }
  r.branch(condition, then, otherwise, /*isolated=*/true);
}

}  // namespace gemmsmith::op
