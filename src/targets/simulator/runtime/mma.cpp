// mma.sync, ldmatrix, stmatrix: collectives of a warp. Fragments are those of the PTX ISA.
#include <bit>
#include <cstring>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/collective.h"

using namespace gemmsmith::simulator;
using gemmsmith::concat;

namespace {

struct Shape {
  MmaType type;
  int k;
};
Shape shape_of(MmaShape shape) {
  switch (shape) {
    case MmaShape::m16n8k8_f16:
      return {MmaType::f16, 8};
    case MmaShape::m16n8k16_f16:
      return {MmaType::f16, 16};
    case MmaShape::m16n8k8_bf16:
      return {MmaType::bf16, 8};
    case MmaShape::m16n8k16_bf16:
      return {MmaType::bf16, 16};
    case MmaShape::m16n8k4_tf32:
      return {MmaType::tf32, 4};
    case MmaShape::m16n8k8_tf32:
      return {MmaType::tf32, 8};
    case MmaShape::m16n8k16_s8:
      return {MmaType::s8, 16};
    case MmaShape::m16n8k32_s8:
      return {MmaType::s8, 32};
    case MmaShape::m16n8k16_u8:
      return {MmaType::u8, 16};
    case MmaShape::m16n8k32_u8:
      return {MmaType::u8, 32};
    case MmaShape::m16n8k32_e4m3:
      return {MmaType::e4m3, 32};
    case MmaShape::m16n8k32_e5m2:
      return {MmaType::e5m2, 32};
  }
  return {MmaType::f16, 16};
}

constexpr int kM = 16, kN = 8, kLargestK = 32;

struct Mma {
  void* d;
  const void *a, *b, *c;
};

// Every shape is made of blocks of k with one register per row: four bytes of a row in each of four lanes. A has two rows (8 apart), B one
// column.
template <class T>
void multiply(const Shape& s, const Lanes<Mma>& lanes) {
  const int per_register = 4 / bytes_of(s.type), block_k = 4 * per_register, blocks = s.k / block_k;
  T a[kM][kLargestK], b[kLargestK][kN];
  for (int lane = 0; lane < kWarpThreads; ++lane)
    for (int block = 0; block < blocks; ++block)
      for (int i = 0; i < per_register; ++i) {
        const int k = block * block_k + lane % 4 * per_register + i, row = lane / 4;
        const auto element = [&](const void* registers, int reg) {
          return T(element_as_float(s.type, static_cast<const char*>(registers) + 4 * reg, i));
        };
        a[row][k] = element(lanes[lane].a, 2 * block);
        a[row + 8][k] = element(lanes[lane].a, 2 * block + 1);
        b[k][row] = element(lanes[lane].b, block);
      }
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    T d[4];
    std::memcpy(d, lanes[lane].c, sizeof d);
    for (int reg = 0; reg < 4; ++reg)
      for (int k = 0; k < s.k; ++k) d[reg] += a[lane / 4 + (reg & 2 ? 8 : 0)][k] * b[k][lane % 4 * 2 + (reg & 1)];
    std::memcpy(lanes[lane].d, d, sizeof d);
  }
}

struct Matrices {
  const void* row;
  void* registers;
};
constexpr int kMatrixRows = 8, kRowBytes = 16;

// Rows of `count` 8x8 matrices of 16 bits: lane 8i + r points to row r of matrix i. Visits each register: the lane that holds it, its number,
// and the addresses of its two elements.
template <class Visit>
void for_each_register(const Lanes<Matrices>& lanes, int count, bool transpose, Visit visit) {
  for (int matrix = 0; matrix < count; ++matrix)
    for (int lane = 0; lane < kWarpThreads; ++lane) {
      char* elements[2];
      for (int i = 0; i < 2; ++i) {
        const int row = transpose ? lane % 4 * 2 + i : lane / 4, column = transpose ? lane / 4 : lane % 4 * 2 + i;
        elements[i] = static_cast<char*>(const_cast<void*>(lanes[matrix * kMatrixRows + row].row)) + 2 * column;
      }
      visit(lane, matrix, elements);
    }
}

void move_matrices(int site, const void* row, int count, bool transpose, void* registers, bool store) {
  Engine& e = running();
  const Op op = store ? Op::stmatrix : Op::ldmatrix;
  const char* operation = store ? "stmatrix" : "ldmatrix";
  if (count != 1 && count != 2 && count != 4)
    e.fail(FindingKind::invalid_operand, concat(count, " matrices are none of 1, 2, 4"), site, operation);
  const bool used = e.current().lane() < count * kMatrixRows;  // of x1 and x2, the other lanes' addresses are ignored
  if (used) e.shared_place(row, kRowBytes, kRowBytes, site, operation);
  Matrices mine{row, registers};
  warp_collective(e, ~0u, operation, site, mine, [&](const Lanes<Matrices>& lanes) {
    std::array<uint32_t, kWarpThreads> offsets{};
    for (int i = 0; i < count * kMatrixRows; ++i) offsets[size_t(i)] = SharedWindows::offset_of(lanes[i].row);
    if (BankCounter* banks = e.bank_counter()) banks->rows(offsets, count);
    (store ? e.counters().shared_store_bytes : e.counters().shared_load_bytes) += count * kMatrixRows * kRowBytes;
    for_each_register(lanes, count, transpose, [&](int lane, int reg, char*(&elements)[2]) {
      char* held = static_cast<char*>(lanes[lane].registers) + 4 * reg;
      for (int i = 0; i < 2; ++i)
        store ? std::memcpy(elements[i], held + 2 * i, 2) : std::memcpy(held + 2 * i, elements[i], 2);
      if (!e.racing()) return;
      // Whoever holds a register is taken to have accessed its elements, not the lane that gave the address.
      Thread& holder = *lanes.threads[size_t(lane)];
      const View view = e.view(holder);
      const Access access{&view, e.stamp(holder, op, store ? Stamp::kWrite : 0, site)};
      const uint64_t at[2] = {SharedWindows::offset_of(elements[0]), SharedWindows::offset_of(elements[1])};
      Cta& cta = *e.cta_of(elements[0]);
      if (!transpose) return e.access({Place::Kind::shared, &cta, 0, at[0]}, 4, access);
      for (const uint64_t offset : at) e.access({Place::Kind::shared, &cta, 0, offset}, 2, access);
    });
  });
}

}  // namespace

void sim_mma(int32_t site, int32_t shape, void* d, const void* a, const void* b, const void* c) {
  const Shape s = shape_of(MmaShape(shape));
  Mma mine{d, a, b, c};
  Engine& e = running();
  warp_collective(e, ~0u, "mma.sync", site, mine, [&](const Lanes<Mma>& lanes) {
    for (int lane = 0; lane < kWarpThreads; ++lane)
      if (!lanes.has(lane)) e.fail(FindingKind::divergence, "the warp has fewer than 32 threads", site, "mma.sync");
    ++e.counters().mma_instructions;
    is_integer(s.type) ? multiply<int32_t>(s, lanes) : multiply<float>(s, lanes);
  });
}

void sim_ldmatrix(int32_t site, const void* row, int32_t count, int32_t transpose, void* registers) {
  move_matrices(site, row, count, transpose != 0, registers, false);
}

void sim_stmatrix(int32_t site, void* row, int32_t count, int32_t transpose, const void* registers) {
  move_matrices(site, row, count, transpose != 0, const_cast<void*>(registers), true);
}
