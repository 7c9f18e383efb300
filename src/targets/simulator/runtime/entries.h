// What lowered kernels call: the functions of entries.def, as declarations and as a table. The lowering makes its declarations from the
// table's types, the JIT binds the table's addresses; so a call with wrong types cannot be made.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gemmsmith::simulator {

enum class SpecialRegister : int32_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  dynamic_smem_size,
};
enum class MemoryOrder : int32_t { relaxed, acquire, release, acq_rel, seq_cst };
enum class MemoryScope : int32_t { cta, cluster, gpu, system };
enum class ProxySpace : int32_t { all, shared, global };
enum class ShuffleMode : int32_t { idx, up, down, bfly };
enum class VoteMode : int32_t { all, any, uni, ballot, count };
enum class AtomicOp : int32_t { add, min, max, inc, dec, and_, or_, xor_, exch, cas };
enum class AtomicType : int32_t { u32, s32, u64, s64, f16, bf16, f16x2, bf16x2, f32, f64 };
enum class PackedType : int32_t { bf16x2, f16x2, e4m3x2, e5m2x2 };
enum class MathFunction : int32_t { tanh, ex2, lg2, rcp, rsqrt, sqrt, sin, cos };
// Accumulators f32, of s8 and u8 i32. Both operands have the type of the name.
enum class MmaShape : int32_t {
  m16n8k8_f16,
  m16n8k16_f16,
  m16n8k8_bf16,
  m16n8k16_bf16,
  m16n8k4_tf32,
  m16n8k8_tf32,
  m16n8k16_s8,
  m16n8k32_s8,
  m16n8k16_u8,
  m16n8k32_u8,
  m16n8k32_e4m3,
  m16n8k32_e5m2,
};

enum class ValueKind : uint8_t { none, i32, i64, f32, pointer };
struct Entry {
  std::string_view name;
  void* address;
  ValueKind result;
  std::vector<ValueKind> parameters;
};
const std::vector<Entry>& entries();  // in the order of entries.def

}  // namespace gemmsmith::simulator

extern "C" {
#define SIM_ENTRY(result, name, parameters) result name parameters;
#include "targets/simulator/runtime/entries.def"
#undef SIM_ENTRY
}
