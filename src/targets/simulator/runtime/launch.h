// Runs kernels on the simulated GPU: what a launch is, and what comes back.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gemmsmith/result.h"
#include "targets/simulator/runtime/findings.h"
#include "targets/simulator/runtime/tensor_map.h"

namespace gemmsmith::simulator {

// A lowered kernel: called once per thread with the addresses of its parameters, as cuLaunchKernel takes them. A parameter that is passed
// by value in the kernel's signature (a TensorMap) is read where its address says.
using KernelFunction = void (*)(void* const* parameters);

struct Dim3 {
  int x = 1, y = 1, z = 1;
  int count() const { return x * y * z; }
};

// Memory that the kernel may access besides shared memory, its parameters and its registers. Accesses outside are reported with the
// names of the nearest ones.
struct GlobalBuffer {
  std::string name;
  void* base = nullptr;
  int64_t bytes = 0;
  bool writable = true;
};

// A named part of every CTA's shared memory, for reports: "A stage 2", "full[1]". Regions may not overlap; gaps are allowed.
struct NamedRegion {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  std::string name;
};

enum class MmaType : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };

// The wgmma instructions of one sim_wgmma_block: for each m step and each k step one m64 x n x k (k = 32 bytes of a row), of which the
// descriptors start at the steps' byte offsets from the ones passed. Accumulators are f32; of s8 and u8, i32.
struct WgmmaBlock {
  int n = 0;  // 8 to 256 in steps of 8 (of 8, 16, 24, 32, then 16 for s8 and u8)
  MmaType type_a = MmaType::bf16, type_b = MmaType::bf16;
  bool mn_major_a = false, mn_major_b = false;  // 16-bit types only
  bool negate_a = false, negate_b = false;      // scale-a, scale-b = -1
  bool saturate = false;                        // .satfinite of integers
  bool a_in_registers = false;
  std::vector<int64_t> a_m_steps;  // bytes; with A in registers only their number counts
  std::vector<int64_t> a_k_steps;  // likewise
  std::vector<int64_t> b_k_steps;  // as many
};

enum class Schedule : uint8_t {
  late,    // asynchronous operations run when no thread can; threads in order
  eager,   // asynchronous operations run as soon as they are issued
  random,  // both in the order of `seed`
};
enum class Residency : uint8_t {
  one_cluster,  // clusters one after another, in order: the least memory, and what needs more than one at a time deadlocks
  all,          // all at once: kernels with flags or barriers between clusters
};

struct LaunchOptions {
  Schedule schedule = Schedule::late;
  uint64_t seed = 0;
  Residency residency = Residency::one_cluster;
  bool detect_races = false;
  bool count_bank_conflicts = false;    // of announced loads and stores of shared memory, ldmatrix and stmatrix
  std::optional<Dim3> timeline_of_cta;  // record its timeline
  int max_findings = 16;                // races are collected up to this; other findings end the launch
  int stack_bytes = 64 << 10;           // of a thread
};

struct Launch {
  KernelFunction kernel = nullptr;
  std::string name = "kernel";
  Dim3 grid, cluster, block;
  uint32_t shared_bytes = 0;      // static and dynamic together
  std::vector<void*> parameters;  // addresses
  int registers_per_thread =
      0;  // at launch, for setmaxnreg; 0: all that the register file has, at most 255 rounded down to 248
  bool programmatic_dependent = false;  // may start before the launch before it has completed (PDL)
  std::span<const GlobalBuffer> buffers;
  std::span<const NamedRegion> regions;
  std::span<const Site> sites;  // indexed by the site argument of every call
  std::span<const WgmmaBlock> wgmma_blocks;
};

struct Counters {
  int64_t ctas = 0, clusters = 0, waves = 0;  // a wave: as many clusters as fit on 132 SMs at one CTA each
  int64_t tiles = 0;                          // sim_mark_tile
  int64_t steps = 0;                          // resumptions of threads and asynchronous operations
  int64_t tma_read_bytes = 0;     // global -> shared, counted once per multicast; what is out of bounds is not counted
  int64_t tma_write_bytes = 0;    // shared -> global, stores and reductions
  int64_t multicast_bytes = 0;    // written to shared memory by loads, in all destinations
  int64_t global_load_bytes = 0;  // ld, cp.async, atomics
  int64_t global_store_bytes = 0;
  int64_t shared_load_bytes = 0;  // announced ld, ldmatrix; own CTA
  int64_t shared_store_bytes = 0;
  int64_t dsmem_bytes = 0;        // loads, stores and bulk copies to another CTA's shared memory
  int64_t shared_wavefronts = 0;  // with count_bank_conflicts: passes of 32 banks that the accesses need
  int64_t bank_conflicts = 0;     // of these, those beyond the least possible
  int64_t wgmma_instructions = 0, mma_instructions = 0;
  int64_t race_checks = 0;  // granules of shadow memory looked at
};

struct LaunchResult {
  std::vector<Finding> findings;  // empty: nothing wrong was seen
  Counters counters;
  std::string timeline;  // Chrome trace events (JSON) of the CTA that was asked for

  bool ok() const { return findings.empty(); }
  std::string text() const;  // of all findings, a blank line between two
};

// Owns what launches share: stacks, windows of shared memory, shadow memory. Reuse it. Not for two threads at a time; several objects may
// run on several threads as long as the windows fit below 4 GiB.
class Simulator {
 public:
  Simulator();
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The error is about the launch itself (cluster does not divide the grid, too much shared memory, no window free). What goes wrong
  // inside of the kernel is a finding.
  Result<LaunchResult> run(const Launch& launch, const LaunchOptions& options);
  // Launches of one stream, in order. Races between a launch that is programmatic_dependent and the one before it are found.
  Result<LaunchResult> run(std::span<const Launch> stream, const LaunchOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith::simulator
