// The tile language of Hopper GPUs: what a template for them includes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "dsl/accumulator.h"
#include "dsl/async_copy.h"
#include "dsl/gpu_output.h"
#include "dsl/pipeline.h"
#include "dsl/stream_k.h"
#include "dsl/tile_scheduler.h"
#include "dsl/warp_mma.h"

namespace gemmsmith {

// Limits of sm_90, from the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct GpuLimits {
  int64_t shared_bytes = 232448;  // of a CTA, 227 KiB
  int registers = 65536;          // of an SM, and of a CTA
  int threads = 1024;             // of a CTA
  int cluster = 8;                // CTAs that every launch can have
};

// Threads that have no roles.
struct Cta {
  int count;
  Int thread, warp, lane;
  void sync(Where at = Where::current()) const;  // all of them
};

class GpuBuilder : public KernelBuilder {
 public:
  explicit GpuBuilder(const RecordOptions& options, const GpuLimits& limits = {})
      : KernelBuilder(options), limits_(limits) {}

  Cluster cluster(int m, int n = 1, int k = 1, Where at = Where::current());

  // The tile is part of the matrix as the kernel sees it: transposed if its MatrixArg says so.
  TmaInput tma_input(const MatrixArg&, TileShape, std::optional<Multicast> = {}, const TmaOptions& = {},
                     Where at = Where::current());
  // For kernels without roles. `copy_bytes`: what every run along the contiguous mode starts at a multiple of, 4, 8 or 16,
  // or the size of an element.
  AsyncInput async_input(const MatrixArg&, TileShape, int stages, int copy_bytes, Where at = Where::current());
  // `inputs` are those of every stage.
  template <class... Input>
  Ring& ring(Arg<int> stages, const Input&... inputs) {  // the line comes with the first argument
    return add_ring(stages.v, {&inputs...}, stages.at);
  }
  Turns turns(int count, Where at = Where::current());
  ClusterBarrier cluster_barrier(const Cluster&, int consumers, Where at = Where::current());

  // `vectors`: n, and all strides of C and of full inputs, are multiples of 16 bytes of D, so that vectors never stick
  // out and are aligned.
  TmaOutput tma_output(const OutputArg&, TileShape, int consumers, int buffers, bool vectors,
                       Where at = Where::current());
  GlobalOutput global_output(const OutputArg&, bool vectors, Where at = Where::current());
  SharedTile shared_tile(TileShape, Where at = Where::current());

  // Clusters that stay, and take tile after tile.
  TileScheduler persistent_tiles(const OutputArg& d, TileShape, const MatrixArg& a, int block_k, const Cluster&,
                                 const Raster&, Where at = Where::current());
  // One cluster for each tile; they share K among them along Cluster::k.
  TileScheduler one_tile_per_cluster(const OutputArg& d, TileShape, const MatrixArg& a, int block_k, const Cluster&,
                                     Where at = Where::current());

  // CTAs that share all k-blocks of all tiles evenly. A tile is shared by `max_splits` CTAs or fewer where there are not
  // more CTAs than that times the tiles.
  StreamK stream_k(const OutputArg& d, TileShape, const MatrixArg& a, int block_k, const Raster&, int consumers,
                   int max_splits, Where at = Where::current());
  // Global memory, `bytes` for each CTA of the launch. `zeroed`: as flags want it before the first launch; the kernel has
  // to leave it so.
  Workspace workspace(int64_t bytes, bool zeroed = false, Where at = Where::current());

  void roles(const Producer&, const Consumers&, Where at = Where::current());

  // A kernel without roles: `count` threads, a multiple of 32, that all run `body` once rings and barriers are set up.
  void threads(int count, const std::function<void(const Cta&)>& body, Where at = Where::current());
  // Clusters of such a kernel: one for each tile of rows x columns of two extents, or as many as the GPU holds.
  void grid(const std::string& rows, int64_t tile_rows, const std::string& columns, int64_t tile_columns,
            bool persistent = false);

  // Shared memory, aligned for any swizzle. `name` is for reports: "a" of several parts is "a[0]", "a[1]", ...
  Int allocate(const std::string& name, int64_t bytes, int parts = 1, Where at = Where::current());
  Int allocate_barriers(const std::string& name, int count);

  // The raw level of TMA: the map of a matrix whose boxes are those of a tile's layout.
  op::TensorMapRef tensor_map(const MatrixArg&, const Layout& tile, int box_rows, int box_columns,
                              const TmaOptions& = {}, const Where& at = Where::current());

  KernelSignature finish();

 private:
  friend class Ring;
  void begin(const Where&);  // barriers and rings, before anyone uses them
  void end();
  void refuse_in_roles(const char* what, const Where&) const;  // whose barriers nobody would initialise
  Ring& add_ring(int stages, std::vector<const TmaInput*> inputs, const Where&);
  GpuLimits limits_;
  GpuLaunch launch_;
  std::vector<TensorMapSpec> maps_;
  std::vector<op::TensorMapRef> map_refs_;
  std::vector<std::unique_ptr<Ring>> rings_;
  struct Barrier {
    Int address;
    int arrivals;
  };
  std::vector<Barrier> barriers_;  // of turns and cluster barriers
  std::vector<std::pair<std::string, int>> barrier_names_;
  bool stores_in_flight_ = false, has_roles_ = false, has_cluster_ = false, has_tiles_ = false;
  int barrier_count_ = 0;
  std::optional<Int> barrier_base_;  // behind everything else: barriers need no alignment worth its bytes
};

// Records the kernel that `stage` builds, as record() does for CPUs.
Result<KernelIr> record_gpu(IrContext&, const std::string& name, const std::function<void(GpuBuilder&)>& stage,
                            const GpuLimits& = {}, Where at = Where::current());

}  // namespace gemmsmith
