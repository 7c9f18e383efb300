// The raw level of a GPU: one function per hardware operation, on staged values. Addresses in shared memory are Ints,
// bytes in the window of the CTA. The language of hopper.h is written on top of this; a kernel that needs what it does not
// offer uses these. Semantics: PTX ISA 8.6 for sm_90a.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/hopper_layout.h"
#include "dsl/ops.h"
#include "dsl/vec.h"

namespace gemmsmith {

enum class MemoryScope : uint8_t { cta, cluster, gpu };
enum class CacheHint : uint8_t { normal, evict_first, evict_last };

namespace op {

struct TensorMapRef {
  Scalar pointer;
};
struct Descriptor {  // of a wgmma operand in shared memory: 64 bits
  Scalar value;
};
struct Remote {  // an address in the shared memory of any CTA of the cluster
  Scalar pointer;
};

// Parameters. Maps come first, then words, whatever the order of the calls.
TensorMapRef tensor_map_argument();

// Where a thread is.
Int thread_id();
Int warp_id();  // the same in all threads of a warp, and known to be
Int block_id();
Int grid_size();
Int cluster_rank();
Bool elect_one();  // true in one thread of the warp; all 32 have to get here

// Shared memory. Allocations come before late numbers: late_int() is patched when everything has been allocated.
Int shared_base();
Int late_int();
void set_late_int(const Int&, int64_t n);
Scalar shared_pointer(const Int& address);  // for op::load, op::store and op::advance
inline Int as_int(const Scalar& shared) { return Int(Scalar{Kind::index, 1, shared.value, shared.integer, 0}); }
// A name for a region of shared memory, for the simulator's reports and nothing else.
void name_shared(const std::string& name, int64_t begin, int64_t bytes);

Vec shuffle_xor(const Vec& one_lane, int lanes);  // of 32 bits, that of the thread whose lane differs by these bits

void set_max_registers(int registers, bool increase);  // of the calling warpgroup; a multiple of 8, 24 to 256
void block_barrier();
void named_barrier(const Int& id, int threads);
void warp_barrier();
void cluster_arrive(bool aligned);  // release.cluster
void cluster_wait(bool aligned);    // acquire.cluster

void mbarrier_init(const Int& barrier, const Int& arrivals);
void fence_mbarrier_init();
void mbarrier_expect_bytes(const Int& barrier, int64_t bytes);  // and arrives
void mbarrier_arrive(const Int& barrier);
void mbarrier_arrive_remote(const Remote& barrier, MemoryScope);
void mbarrier_wait(const Int& barrier, const Int& parity, MemoryScope = MemoryScope::cta);
Remote map_to_rank(const Int& address, const Int& rank);  // mapa: rank below the cluster's size
Remote advance(const Remote&, const Int& bytes);
void store_async(const Remote& to, const Vec& value, const Remote& barrier);  // 4 or 8 bytes

// TMA. Coordinates in elements, contiguous mode first.
void prefetch(const TensorMapRef&);
void tma_load(const Int& to, const TensorMapRef&, const std::vector<Int>& coordinate, const Int& barrier,
              const std::optional<Int>& multicast_mask);
void tma_store(const TensorMapRef&, const Int& from, const std::vector<Int>& coordinate);
enum class TmaReduction : uint8_t { add, min, max };
void tma_reduce(TmaReduction, const TensorMapRef&, const Int& from, const std::vector<Int>& coordinate);
void bulk_load(const Int& to, const Scalar& from, const Int& bytes, const Int& barrier);  // 16-byte aligned
void bulk_store(const Scalar& to, const Int& from, const Int& bytes);
void bulk_commit();
void bulk_wait(int pending, bool read_only);  // read_only: the sources may be written again
void fence_async_shared();                    // fence.proxy.async.shared::cta
void fence_async();                           // fence.proxy.async, of global memory too

// cp.async: for what TMA's alignment rules exclude. 4, 8 or 16 bytes, of which `valid` are read and the rest zero.
void copy_async(const Int& to, const Scalar& from, int bytes, const Int& valid);
void copy_async_arrive(
    const Int& barrier);  // when this thread's copies so far are done; counts as one expected arrival
void copy_async_commit();
void copy_async_wait(int pending);

// Tensor cores.
Descriptor descriptor(const Int& address, uint64_t rest);
Descriptor advance(const Descriptor&, const Int& index, int64_t bytes);  // index * bytes further
struct MmaTypes {
  Kind a, b;
};
Kind accumulator_of(Kind operand);  // f32, or i32 for i8
// `sums` has n/2 registers for each instruction along m. A from shared memory or, four i32 for each step along k and
// instruction along m, from registers.
std::vector<Scalar> wgmma_block(const std::vector<Scalar>& sums, const std::optional<Descriptor>& a,
                                const std::vector<Scalar>& registers_a, const Descriptor& b, const Bool& accumulate,
                                int n, MmaTypes, const WgmmaOperand& layout_a, const WgmmaOperand& layout_b);
void wgmma_wait(int pending);
std::vector<Scalar> wgmma_wait_all(const std::vector<Scalar>& sums);
// mma.sync.m16n8k(32 bytes): c += a * b, four sums, four registers of A, two of B.
std::vector<Scalar> mma_sync(const std::vector<Scalar>& c, const std::vector<Scalar>& a, const std::vector<Scalar>& b,
                             Kind operand);
// One to four 8x8 matrices of 16-bit elements; every thread gives the address of a row.
std::vector<Scalar> load_matrix(const Int& address, int count, bool transposed);
void store_matrix(const Int& address, const std::vector<Scalar>& packed, bool transposed);

// Memory.
Vec load_global(const Scalar& pointer, Kind, int lanes, CacheHint);  // 4, 8 or 16 bytes that the kernel does not write
Vec load_if(const Bool& inside, const Scalar& pointer, Kind, int lanes);  // zero where not inside
Vec load_cluster(const Remote& from, Kind, int lanes);
void store_cluster(const Remote& to, const Vec&);
// Flags and sums between CTAs of a launch.
Int load_acquire(const Scalar& pointer);                  // u32, gpu scope
void wait_flag(const Scalar& pointer, const Int& value);  // polls until it is; acquires at gpu scope
void store_relaxed(const Scalar& pointer, const Int&);
void store_release(const Scalar& pointer, const Int&);
Int add_release(const Scalar& pointer, const Int&);           // what was there before
void reduce_add(const Scalar& pointer, const Vec& one_lane);  // f32, relaxed

// Programmatic dependent launch: the next kernel of the stream may start, and this one waits for those before it.
void launch_dependents();
void wait_for_dependencies();

Vec tanh_approximate(const Vec&);  // f32
Vec exp2_approximate(const Vec&);
std::vector<Scalar> undefined(Kind, int n);

// The loop body or branch that is being recorded: equal in two places if both run exactly as often as each other.
const void* current_block();
// Runs `body` recording in front of the outermost loop of its role: what it makes is invariant there.
void hoist(const std::function<void()>& body);
// A branch whose assignments stay inside it: a role is a thread of control of its own.
void isolated(const Bool& condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});

}  // namespace op
}  // namespace gemmsmith
