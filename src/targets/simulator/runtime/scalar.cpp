// Special registers, time, conversions, functions.
#include <cmath>

#include "support/half.h"
#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/engine.h"

using namespace gemmsmith;
using namespace gemmsmith::simulator;

namespace {

constexpr int kSms = 132;

int special(Engine& e, SpecialRegister which) {
  const Thread& t = e.current();
  const Launch& l = e.launch();
  const Cta& cta = *t.cta;
  const int i = int(t.index), rank = cta.rank;
  switch (which) {
    case SpecialRegister::tid_x:
      return i % l.block.x;
    case SpecialRegister::tid_y:
      return i / l.block.x % l.block.y;
    case SpecialRegister::tid_z:
      return i / l.block.x / l.block.y;
    case SpecialRegister::ntid_x:
      return l.block.x;
    case SpecialRegister::ntid_y:
      return l.block.y;
    case SpecialRegister::ntid_z:
      return l.block.z;
    case SpecialRegister::ctaid_x:
      return cta.position[0];
    case SpecialRegister::ctaid_y:
      return cta.position[1];
    case SpecialRegister::ctaid_z:
      return cta.position[2];
    case SpecialRegister::nctaid_x:
      return l.grid.x;
    case SpecialRegister::nctaid_y:
      return l.grid.y;
    case SpecialRegister::nctaid_z:
      return l.grid.z;
    case SpecialRegister::laneid:
      return t.lane();
    case SpecialRegister::warpid:
      return t.warp();
    case SpecialRegister::nwarpid:
      return int(cta.warps.size());
    case SpecialRegister::smid:
      return int(cta.number % kSms);
    case SpecialRegister::nsmid:
      return kSms;
    case SpecialRegister::clusterid_x:
      return cta.position[0] / l.cluster.x;
    case SpecialRegister::clusterid_y:
      return cta.position[1] / l.cluster.y;
    case SpecialRegister::clusterid_z:
      return cta.position[2] / l.cluster.z;
    case SpecialRegister::nclusterid_x:
      return l.grid.x / l.cluster.x;
    case SpecialRegister::nclusterid_y:
      return l.grid.y / l.cluster.y;
    case SpecialRegister::nclusterid_z:
      return l.grid.z / l.cluster.z;
    case SpecialRegister::cluster_ctaid_x:
      return rank % l.cluster.x;
    case SpecialRegister::cluster_ctaid_y:
      return rank / l.cluster.x % l.cluster.y;
    case SpecialRegister::cluster_ctaid_z:
      return rank / l.cluster.x / l.cluster.y;
    case SpecialRegister::cluster_nctaid_x:
      return l.cluster.x;
    case SpecialRegister::cluster_nctaid_y:
      return l.cluster.y;
    case SpecialRegister::cluster_nctaid_z:
      return l.cluster.z;
    case SpecialRegister::cluster_ctarank:
      return rank;
    case SpecialRegister::cluster_nctarank:
      return l.cluster.count();
    case SpecialRegister::dynamic_smem_size:
      return int(l.shared_bytes);
  }
  return 0;
}

}  // namespace

int32_t sim_special_register(int32_t, int32_t which) { return special(running(), SpecialRegister(which)); }

int64_t sim_clock(int32_t) { return running().counters().steps; }

void sim_nanosleep(int32_t site, int32_t) { running().spin(site, "nanosleep"); }

void sim_trap(int32_t site) { running().fail(FindingKind::trap, "the kernel has stopped itself", site, "trap"); }

void sim_mark_tile(int32_t, int32_t tile) {
  Engine& e = running();
  Thread& thread = e.current();
  if (!thread.cta->tiles.insert(tile).second) return;
  ++e.counters().tiles;
  if (Timeline* timeline = e.timeline_of(*thread.cta))
    timeline->mark(thread.index, e.counters().steps, concat("tile ", tile));
}

int32_t sim_convert_pack(int32_t, int32_t type, float high, float low) {
  const auto pack = [&](auto convert, int bits) { return int32_t(uint32_t(convert(high)) << bits | convert(low)); };
  switch (PackedType(type)) {
    case PackedType::bf16x2:
      return pack(bf16_from_float, 16);
    case PackedType::f16x2:
      return pack(f16_from_float, 16);
    case PackedType::e4m3x2:
      return pack(e4m3_from_float, 8);
    case PackedType::e5m2x2:
      return pack(e5m2_from_float, 8);
  }
  return 0;
}

float sim_convert_unpack(int32_t, int32_t type, int32_t packed, int32_t index) {
  const auto bits = uint32_t(packed);
  switch (PackedType(type)) {
    case PackedType::bf16x2:
      return float_from_bf16(uint16_t(bits >> (16 * index)));
    case PackedType::f16x2:
      return float_from_f16(uint16_t(bits >> (16 * index)));
    case PackedType::e4m3x2:
      return float_from_e4m3(uint8_t(bits >> (8 * index)));
    case PackedType::e5m2x2:
      return float_from_e5m2(uint8_t(bits >> (8 * index)));
  }
  return 0;
}

float sim_convert_tf32(int32_t, float value) { return tf32_from_float(value); }

float sim_math(int32_t, int32_t function, float x) {
  switch (MathFunction(function)) {
    case MathFunction::tanh:
      return std::tanh(x);
    case MathFunction::ex2:
      return std::exp2(x);
    case MathFunction::lg2:
      return std::log2(x);
    case MathFunction::rcp:
      return 1.0f / x;
    case MathFunction::rsqrt:
      return 1.0f / std::sqrt(x);
    case MathFunction::sqrt:
      return std::sqrt(x);
    case MathFunction::sin:
      return std::sin(x);
    case MathFunction::cos:
      return std::cos(x);
  }
  return 0;
}
