#include "dsl/hopper.h"

#include <algorithm>
#include <limits>

namespace gemmsmith {
namespace {

constexpr int64_t kSharedAlignment = 1024;  // of the widest swizzle
constexpr int kWarpgroup = 128;

std::optional<TmaType> tma_type(Kind kind) {
  switch (kind) {
    case Kind::f16:
      return TmaType::f16;
    case Kind::bf16:
      return TmaType::bf16;
    case Kind::f32:
      return TmaType::f32;
    case Kind::i32:
      return TmaType::i32;
    case Kind::i8:
    case Kind::e4m3:
    case Kind::e5m2:
      return TmaType::u8;
    default:
      return {};
  }
}

}  // namespace

// Clusters and shared memory.

Cluster GpuBuilder::cluster(int m, int n, int k, Where at) {
  const Scope scope("cluster", at);
  const Axis one{1, 0, 1};
  if (m < 1 || n < 1 || k < 1 || m * n * k > limits_.cluster) {
    op::fail(at, "a cluster of " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " CTAs",
             "is not one of 1 to " + std::to_string(limits_.cluster) + " CTAs, what every launch can have on sm_90");
    return {one, one, one};
  }
  if (has_cluster_) op::fail(at, "a second cluster", "is not there: a launch has one", "the first one");
  has_cluster_ = true;
  launch_.cluster = m * n * k;
  const Int rank = launch_.cluster > 1 ? op::cluster_rank() : Int(0);
  const Int rank_m = n * k > 1 ? rank % m : rank, rank_n = k > 1 ? rank / m % n : rank / m, rank_k = rank / (m * n);
  const auto axis = [](int size, const Int& rank, int stride, const Int& others) {
    int base = 0;
    for (int i = 0; i < size; ++i) base |= 1 << i * stride;
    return Axis{size, size > 1 ? rank : Int(0), Int(base) << others};
  };
  const Int at_m = m > 1 ? rank_m : Int(0), at_n = n > 1 ? rank_n * m : Int(0),
            at_k = k > 1 ? rank_k * (m * n) : Int(0);
  return {axis(m, rank_m, 1, at_n + at_k), axis(n, rank_n, m, at_m + at_k), axis(k, rank_k, m * n, at_m + at_n)};
}

Int GpuBuilder::allocate(const std::string& name, int64_t bytes, int parts, Where at) {
  const Scope scope("allocate", at);
  const int64_t begin = (launch_.shared_bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  launch_.shared_bytes = begin + bytes;
  if (launch_.shared_bytes > limits_.shared_bytes)
    op::fail(at,
             std::to_string(launch_.shared_bytes) + " bytes of shared memory, with " + std::to_string(bytes) + " for " +
                 name,
             "do not fit the " + std::to_string(limits_.shared_bytes) + " bytes of a CTA on sm_90",
             "fewer stages or a smaller tile");
  for (int i = 0; i < parts; ++i)
    op::name_shared(parts == 1 ? name : name + "[" + std::to_string(i) + "]", begin + i * (bytes / parts),
                    bytes / parts);
  return op::shared_base() + begin;
}

void GpuBuilder::refuse_in_roles(const char* what, const Where& at) const {
  if (has_roles_)
    op::fail(at, what,
             "cannot be made inside of a role: nobody initialises its barriers, which is done before roles begin",
             "in front of k.roles()");
}

Int GpuBuilder::allocate_barriers(const std::string& name, int count) {
  if (!barrier_base_) barrier_base_.emplace(op::late_int());
  const Int at = op::shared_base() + *barrier_base_ + 8 * barrier_count_;
  barrier_count_ += count;
  barrier_names_.emplace_back(name, count);
  return at;
}

// TMA.

op::TensorMapRef GpuBuilder::tensor_map(const MatrixArg& m, const Layout& tile, int box_rows, int box_columns,
                                        const TmaOptions& options, const Where& at) {
  const auto type = tma_type(m.type);
  if (!type || m.major == Major::none) {
    op::fail(at, "operand \"" + m.name + "\" of " + print(Kind(m.type)),
             type ? "has no contiguous mode, which TMA needs" : "is of a type that TMA does not have");
    return {};
  }
  if (m.transposed) std::swap(box_rows, box_columns);
  maps_.push_back({m.name, m.rows, m.columns, m.batched, m.major == Major::column, *type, box_rows, box_columns,
                   tile.swizzle.bits ? tile.swizzle.width_bytes() : 0, options.l2_promotion_bytes});
  map_refs_.push_back(op::tensor_map_argument());
  return map_refs_.back();
}

TmaInput GpuBuilder::tma_input(const MatrixArg& arg, TileShape shape, std::optional<Multicast> along,
                               const TmaOptions& options, Where at) {
  const Scope scope("tma_input", at);
  TmaInput in;
  in.name_ = arg.name;
  in.element_ = options.element.value_or(arg.type);
  if (bytes(in.element_) != bytes(Kind(arg.type)))
    op::fail(at, "\"" + arg.name + "\" of " + print(Kind(arg.type)),
             "is not made of elements of the size of " + print(in.element_));
  in.batched_ = arg.batched;
  const bool by_rows = (arg.major == Major::column) != arg.transposed;  // of the kernel's matrix
  in.layout_ = swizzled_tile(shape.rows, shape.columns, bytes(in.element_), by_rows ? Major::column : Major::row,
                             options.max_swizzle_bytes);
  in.rows_loaded_ = options.rows_loaded ? options.rows_loaded : shape.rows;
  in.multicast_ = along ? along->axis.size : 1;
  matrix(arg, at);  // the map's numbers are arguments, though no thread reads them
  if (in.rows_loaded_ % in.multicast_ != 0) {
    op::fail(at, std::to_string(in.rows_loaded_) + " rows of \"" + arg.name + "\"",
             "cannot be shared among " + std::to_string(in.multicast_) + " CTAs");
    return in;
  }
  const int slice_rows = in.rows_loaded_ / in.multicast_;
  auto boxes = tma_boxes(in.layout_, slice_rows);
  auto slices = divide(in.layout_.modes[0], slice_rows);
  if (!boxes.ok() || !slices.ok()) {
    op::fail(
        at,
        (boxes.ok() ? std::move(slices).error() : std::move(boxes).error()).note("of operand \"" + arg.name + "\""));
    return in;
  }
  in.boxes_ = *boxes;
  in.slices_ = slices->tiles;
  if (in.multicast_ > 1) in.slice_.emplace(along->axis.rank), in.mask_.emplace(along->axis.mask);
  in.map_ = tensor_map(arg, in.layout_, in.boxes_.rows, in.boxes_.columns, options, at);
  return in;
}

// Barriers.

Ring& GpuBuilder::add_ring(int stages, std::vector<const TmaInput*> inputs, const Where& at) {
  const Scope scope("ring", at);
  refuse_in_roles("a ring", at);
  if (stages < 1 || stages > 64) op::fail(at, std::to_string(stages) + " stages", "are not between 1 and 64", "3 to 8");
  rings_.push_back(std::unique_ptr<Ring>(new Ring(*this, std::clamp(stages, 1, 64), std::move(inputs), at)));
  return *rings_.back();
}

Turns GpuBuilder::turns(int count, Where at) {
  const Scope scope("turns", at);
  refuse_in_roles("turns", at);
  const Int first = allocate_barriers("turn", count);
  for (int i = 0; i < count; ++i) barriers_.push_back({first + 8 * i, kWarpgroup});
  return {first, count};
}

ClusterBarrier GpuBuilder::cluster_barrier(const Cluster& cluster, int consumers, Where at) {
  const Scope scope("cluster_barrier", at);
  refuse_in_roles("a cluster barrier", at);
  const Int barrier = allocate_barriers("cluster", 1);
  barriers_.push_back({barrier, kWarpgroup * consumers * cluster.size()});
  return {barrier, cluster.size(), consumers};
}

// Tiles.

TileScheduler GpuBuilder::persistent_tiles(const OutputArg& d, TileShape shape, const MatrixArg& a, int block_k,
                                           const Cluster& cluster, const Raster& raster, Where at) {
  const Scope scope("tile_scheduler", at);
  if (has_tiles_)
    op::fail(at, "a second tile scheduler", "is not there: the grid of a launch follows from one", "the first one");
  has_tiles_ = true;
  launch_.rows = d.d.transposed ? d.d.columns : d.d.rows;
  launch_.columns = d.d.transposed ? d.d.rows : d.d.columns;
  launch_.tile_rows = shape.rows * cluster.m.size;
  launch_.tile_columns = shape.columns * cluster.n.size;
  launch_.persistent = true;
  const Int rows = extent(launch_.rows), columns = extent(launch_.columns),
            k = extent(a.transposed ? a.rows : a.columns);
  const Int tiles_m = ceil_div(rows, launch_.tile_rows), tiles_n = ceil_div(columns, launch_.tile_columns);
  const Int in_batch = tiles_m * tiles_n;
  const Int total = d.d.batched ? in_batch * extent("batch") : in_batch;
  // The same number of blocks for every CTA of a cluster: those past K load as zeros. At least one, so that every tile
  // has a sum: where K is 0 it lies beyond every matrix, at a coordinate that no extent reaches.
  const int split = cluster.k.size;
  const Int blocks = max(ceil_div(k, block_k * split), 1) * split;
  const Int beyond = select(k == 0, std::numeric_limits<int32_t>::max() / (2 * block_k), 0);
  return {cluster,
          raster,
          d.d.batched,
          {tiles_m, tiles_n, blocks, beyond, total},
          op::block_id() / cluster.size(),
          op::grid_size() / cluster.size()};
}

TileScheduler GpuBuilder::one_tile_per_cluster(const OutputArg& d, TileShape shape, const MatrixArg& a, int block_k,
                                               const Cluster& cluster, Where at) {
  const TileScheduler tiles = persistent_tiles(d, shape, a, block_k, cluster, {Raster::Kind::grouped_rows, 8}, at);
  launch_.persistent = false;
  return tiles;
}

// Roles.

void GpuBuilder::roles(const Producer& producer, const Consumers& consumers, Where at) {
  const int threads = kWarpgroup * (1 + consumers.count);
  if (has_roles_)
    op::fail(at, "a second k.roles()", "is not there: a thread has one role", "both bodies in the first one");
  launch_.threads = threads;
  has_roles_ = true;
  const int budget = kWarpgroup * (producer.budget.count + consumers.count * consumers.budget.count);
  for (int count : {producer.budget.count, consumers.budget.count})
    if (count < 24 || count > 256 || count % 8 != 0)
      op::fail(at, "registers(" + std::to_string(count) + ")",
               "is not a multiple of 8 from 24 to 256, as setmaxnreg wants");
  if (threads > limits_.threads || budget > limits_.registers)
    op::fail(at, std::to_string(threads) + " threads with " + std::to_string(budget) + " registers",
             "do not fit a CTA of " + std::to_string(limits_.threads) + " threads and " +
                 std::to_string(limits_.registers) + " registers on sm_90",
             "fewer consumers or smaller budgets");
  // The roles' own operations keep the lines of their bodies; only what surrounds them is recorded as this call's.
  const auto glue = [at](auto f) {
    const Scope scope("roles", at);
    return f();
  };
  const Int thread = glue(op::thread_id), warp = glue(op::warp_id), group = glue([&] { return warp / 4; });
  glue([&] { begin(at); });
  op::isolated(
      glue([&] { return group == 0; }),
      [&] {
        glue([&] { op::set_max_registers(producer.budget.count, false); });
        when({glue([&] { return warp == 0; }), at}, [&] { op::isolated(glue(op::elect_one), producer.body); });
      },
      [&] {
        glue([&] { op::set_max_registers(consumers.budget.count, true); });
        const Int index = glue([&] { return group - 1; });
        const Consumer self{consumers.count, index, glue([&] { return thread & (kWarpgroup - 1); }), consumers.count,
                            index};
        consumers.body(self);
        if (stores_in_flight_) glue([&] { when(self.thread == 0, [] { op::bulk_wait(0, false); }); });
      });
  glue([&] { end(); });
}

void Cta::sync(Where at) const {
  const Scope scope("sync", at);
  op::block_barrier();
}

void GpuBuilder::threads(int count, const std::function<void(const Cta&)>& body, Where at) {
  launch_.threads = count;
  if (has_roles_)
    op::fail(at, "a second k.threads()", "is not there: a thread has one role", "both bodies in the first one");
  has_roles_ = true;
  if (count < 32 || count > limits_.threads || count % 32 != 0)
    op::fail(at, std::to_string(count) + " threads",
             "are not whole warps of a CTA, 32 to " + std::to_string(limits_.threads) + " on sm_90");
  const auto glue = [at](auto f) {
    const Scope scope("threads", at);
    return f();
  };
  const Int thread = glue(op::thread_id);
  const Cta self{count, thread, glue(op::warp_id), glue([&] { return thread & 31; })};
  glue([&] { begin(at); });
  body(self);
  if (stores_in_flight_) glue([&] { when(thread == 0, [] { op::bulk_wait(0, false); }); });
  glue([&] { end(); });
}

void GpuBuilder::grid(const std::string& rows, int64_t tile_rows, const std::string& columns, int64_t tile_columns,
                      bool persistent) {
  extent(rows);
  extent(columns);
  launch_.rows = rows;
  launch_.columns = columns;
  launch_.tile_rows = tile_rows;
  launch_.tile_columns = tile_columns;
  launch_.persistent = persistent;
}

void GpuBuilder::begin(const Where&) {
  when(op::thread_id() == 0, [&] {
    for (const op::TensorMapRef& map : map_refs_) op::prefetch(map);
    for (const auto& ring : rings_) ring->init();
    for (const Barrier& barrier : barriers_) op::mbarrier_init(barrier.address, barrier.arrivals);
    op::fence_mbarrier_init();
  });
  if (launch_.cluster == 1) return op::block_barrier();
  op::cluster_arrive(true);
  op::cluster_wait(true);
}

// No CTA leaves while others may still reach into its shared memory.
void GpuBuilder::end() {
  if (launch_.cluster == 1) return;
  op::cluster_arrive(false);
  op::cluster_wait(false);
}

KernelSignature GpuBuilder::finish() {
  KernelSignature signature = KernelBuilder::finish();
  if (barrier_base_) {
    const int64_t base = (launch_.shared_bytes + 7) / 8 * 8;
    op::set_late_int(*barrier_base_, base);
    int64_t at = base;
    for (const auto& [name, count] : barrier_names_)
      for (int i = 0; i < count; ++i, at += 8)
        op::name_shared(count == 1 ? name : name + "[" + std::to_string(i) + "]", at, 8);
    launch_.shared_bytes = at;
  }
  for (const auto& ring : rings_) ring->check_use();
  for (const auto& ring : rings_)
    op::set_late_int(ring->empty_arrivals_, int64_t(std::max(ring->readers_, 1)) * ring->arrivals_);
  signature.gpu = launch_;
  signature.tensor_maps = maps_;
  return signature;
}

Result<KernelIr> record_gpu(IrContext& context, const std::string& name, const std::function<void(GpuBuilder&)>& stage,
                            const GpuLimits& limits, Where at) {
  const auto wrong = [&](const std::string& given, const std::string& limit, const std::string& remedy) {
    return Error{std::string(at.file_name()) + ":" + std::to_string(at.line()), given, limit, remedy, {}};
  };
  if (op::is_recording())
    return wrong("recording \"" + name + "\"", "began while another is in progress on this thread",
                 "one after the other");
  RecordOptions options;
  options.vector_bytes = 16;
  options.index_bits = 32;
  options.machine = Machine::gpu;
  Recorder recorder(context, name, options, at);
  GpuBuilder builder(options, limits);
  stage(builder);
  const KernelSignature signature = builder.finish();
  if (!op::failed() && signature.gpu.threads == 0)
    op::fail(at, "kernel " + name, "has no threads: it gave out no roles", "k.roles(...)");
  if (!op::failed() && signature.gpu.shared_bytes > limits.shared_bytes)
    op::fail(at, std::to_string(signature.gpu.shared_bytes) + " bytes of shared memory, barriers included",
             "do not fit the " + std::to_string(limits.shared_bytes) + " bytes of a CTA on sm_90",
             "fewer stages or a smaller tile");
  auto kernel = recorder.finish(signature);
  if (!kernel.ok()) return std::move(kernel).error().note("while staging " + name);
  return kernel;
}

}  // namespace gemmsmith
