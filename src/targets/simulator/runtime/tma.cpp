// cp.async.bulk.tensor in tiled mode: loads with multicast, stores and reductions with clipping.
#include <algorithm>
#include <bit>

#include "support/text.h"
#include "targets/simulator/runtime/arithmetic.h"
#include "targets/simulator/runtime/async.h"

namespace gemmsmith::simulator {

namespace {

constexpr uint64_t kSharedAlignment = 128;
constexpr int kChunk = 16;  // bytes that swizzles keep together

// The rows of a box: visits each with its offset in the box and the address of its first element in the tensor, which is meaningless if the
// row is outside.
template <class Visit>
void for_each_row(const TensorMap& map, const int32_t (&at)[kMaxTensorRank], Visit visit) {
  const int rows = map.rows(), row_bytes = map.row_bytes();
  for (int row = 0; row < rows; ++row) {
    int rest = row;
    int64_t offset = 0;
    bool inside = true;
    for (int mode = 1; mode < map.rank(); ++mode) {
      const int64_t x = int64_t(at[mode]) + int64_t(rest % map.copied(mode)) * map.element_stride(mode);
      rest /= map.copied(mode);
      inside &= x >= 0 && x < map.extent(mode);
      offset += x * map.stride_bytes(mode);
    }
    visit(uint64_t(row) * uint64_t(row_bytes), map.base() + offset, inside);
  }
}

// Where a row of the tensor ends for an access, in elements. Stores are cut only at multiples of 16 bytes: the rest of a row's last 16
// is overwritten with what the box has there (seen on an H200, tests/golden, tma_store_edge_*; loads are cut at the element).
int64_t row_end(const TensorMap& map, bool writes) {
  if (!writes || map.element_stride(0) != 1) return map.extent(0);
  const int64_t unit = kChunk / map.element_bytes();
  return (map.extent(0) + unit - 1) / unit * unit;
}

// Elements [begin, end) of a box row that lie inside of the tensor.
struct Span {
  int begin, end;
};
Span inside_of_row(const TensorMap& map, int32_t first, bool writes) {
  const int64_t step = map.element_stride(0), count = map.copied(0), x = first, stop = row_end(map, writes);
  const int64_t begin = x >= 0 ? 0 : (-x + step - 1) / step;
  const int64_t end = x >= map.extent(0) ? 0 : (stop - x + step - 1) / step;
  const int64_t b = std::min(begin, count);
  return {int(b), int(std::max(b, std::min(end, count)))};
}

const TensorMap& checked_map(Engine& e, const void* map, int rank, int site, Op op) {
  const auto& m = *static_cast<const TensorMap*>(map);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    e.fail(FindingKind::misaligned, "the tensor map is not at a multiple of 64", site, name_of(op));
  if (!m.valid())
    e.fail(FindingKind::invalid_operand, "what the address points to is no tensor map", site, name_of(op));
  if (rank && m.rank() != rank)
    e.fail(FindingKind::invalid_operand, concat("the tensor map has rank ", m.rank(), ", the instruction ", rank), site,
           name_of(op));
  return m;
}

// The whole tensor must lie in one buffer; gives the place of its first byte.
Place tensor_place(Engine& e, const TensorMap& map, bool write, int site, Op op) {
  int64_t bytes = row_end(map, write) * map.element_bytes();
  for (int mode = 1; mode < map.rank(); ++mode) bytes += (map.extent(mode) - 1) * map.stride_bytes(mode);
  return e.global_place(map.base(), uint64_t(bytes), write, site, name_of(op));
}

// The accesses of a box to global memory; returns how many bytes it has inside of the tensor.
int64_t access_tensor(Engine& e, const Place& tensor, const TensorMap& map, const int32_t (&at)[kMaxTensorRank],
                      const Access& access, bool writes) {
  const Span span = inside_of_row(map, at[0], writes);
  const int64_t bytes = int64_t(span.end - span.begin) * map.element_bytes();
  if (bytes == 0) return 0;
  const int64_t step = int64_t(map.element_stride(0)) * map.element_bytes();
  const bool check = e.racing() && e.launch().buffers[tensor.buffer].writable;
  int64_t all = 0;
  for_each_row(map, at, [&](uint64_t, const char* row, bool inside) {
    if (!inside) return;
    all += bytes;
    if (!check) return;
    Place place = tensor;
    const int64_t first = (row - map.base()) + int64_t(at[0]) * map.element_bytes();
    if (step == map.element_bytes()) {
      place.offset = tensor.offset + uint64_t(first + span.begin * step);
      return e.access(place, uint64_t(bytes), access);
    }
    for (int i = span.begin; i < span.end; ++i) {
      place.offset = tensor.offset + uint64_t(first + i * step);
      e.access(place, uint64_t(map.element_bytes()), access);
    }
  });
  return all;
}

struct Box {
  TensorMap map;
  int32_t at[kMaxTensorRank];
};

class TmaLoad : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  Box box;
  uint32_t offset = 0, barrier = 0;  // in each CTA of `touches`
  Completion completion;

  bool step(Engine& e) override {
    const TensorMap& map = box.map;
    const Span span = inside_of_row(map, box.at[0], false);
    const int element = map.element_bytes(), row_bytes = map.row_bytes();
    char row[256 * 8];
    for_each_row(map, box.at, [&](uint64_t in_box, const char* source, bool inside) {
      fill(row, map);
      if (inside) gather(row, source, span, element);
      for (const auto& cta : issuer.cta->cluster->ctas) {
        if (!(touches >> cta->rank & 1)) continue;
        for (int chunk = 0; chunk < row_bytes; chunk += kChunk)
          std::memcpy(cta->shared + swizzled(offset + in_box + uint64_t(chunk), map.swizzle_bytes()), row + chunk,
                      kChunk);
      }
    });
    const Contribution& done = completion.done(*issuer.cta);
    for (const auto& cta : issuer.cta->cluster->ctas) {
      if (!(touches >> cta->rank & 1)) continue;
      const Place place{Place::Kind::shared, cta.get(), 0, barrier};
      complete_mbarrier(e, place, uint32_t(map.box_bytes()), 0, done, issuer, site, name_of(op));
    }
    return true;
  }

 private:
  void gather(char* row, const char* source, Span span, int element) const {
    const int64_t first = int64_t(box.at[0]) * element, step = int64_t(box.map.element_stride(0)) * element;
    if (step == element) {
      std::memcpy(row + span.begin * element, source + first + span.begin * step,
                  size_t(span.end - span.begin) * size_t(element));
      return;
    }
    for (int i = span.begin; i < span.end; ++i)
      std::memcpy(row + i * element, source + first + i * step, size_t(element));
  }
  static void fill(char* row, const TensorMap& map) {
    std::memset(row, 0, size_t(map.row_bytes()));
    if (map.fill() != OutOfBounds::nan) return;
    const int element = map.element_bytes();
    std::memset(row, 0xff, size_t(map.row_bytes()));  // a quiet NaN with all bits, of positive sign
    for (int i = element - 1; i < map.row_bytes(); i += element) row[i] = 0x7f;
  }
};

// A store, or a reduction: first reads shared memory, then writes global memory, both as late as the schedule has it.
class TmaStore : public AsyncOperation {
 public:
  using AsyncOperation::AsyncOperation;
  Box box;
  const char* source = nullptr;
  uint32_t offset = 0;
  uint32_t number = 0;
  bool reduce = false;
  AtomicOp reduction = AtomicOp::add;

  bool step(Engine& e) override {
    const TensorMap& map = box.map;
    if (touches) {
      data_.resize(size_t(map.box_bytes()));
      for (uint64_t at = 0; at < data_.size(); at += kChunk)
        std::memcpy(data_.data() + at, source + swizzled(offset + at, map.swizzle_bytes()), kChunk);
      touches = 0;
      complete_group_part(e, issuer, issuer.bulk, Blocked::bulk_group, true, number);
      return false;
    }
    const Span span = inside_of_row(map, box.at[0], true);
    const int element = map.element_bytes();
    const int64_t first = int64_t(box.at[0]) * element, step = int64_t(map.element_stride(0)) * element;
    for_each_row(map, box.at, [&](uint64_t in_box, char* row, bool inside) {
      for (int i = span.begin; inside && i < span.end; ++i)
        put(row + first + i * step, data_.data() + in_box + uint64_t(i * element));
    });
    complete_group_part(e, issuer, issuer.bulk, Blocked::bulk_group, false, number);
    return true;
  }

 private:
  void put(char* to, const char* from) const {
    const size_t bytes = size_t(box.map.element_bytes());
    if (!reduce) {
      std::memcpy(to, from, bytes);
      return;
    }
    uint64_t old = 0, value = 0;
    std::memcpy(&old, to, bytes);
    std::memcpy(&value, from, bytes);
    old = combine(reduction, atomic_type_of(box.map.type()), old, value);
    std::memcpy(to, &old, bytes);
  }
  std::vector<char> data_;
};

void store(int site, const void* map_address, const void* shared, Op op, AtomicOp reduction, int rank,
           const int32_t (&at)[kMaxTensorRank]) {
  Engine& e = running();
  Thread& thread = e.current();
  const TensorMap& map = checked_map(e, map_address, rank, site, op);
  const Place place = e.shared_place(shared, uint64_t(map.box_bytes()), kSharedAlignment, site, name_of(op));
  if (place.cta != thread.cta) e.fail(FindingKind::invalid_operand, "the source is in another CTA", site, name_of(op));
  const bool reduce = op == Op::tma_reduce;
  if (reduce &&
      (bytes_of(atomic_type_of(map.type())) != map.element_bytes() || !combines(reduction, atomic_type_of(map.type()))))
    e.fail(FindingKind::invalid_operand, "the reduction does not exist for the element type of the tensor map", site,
           name_of(op));
  const Place tensor = tensor_place(e, map, true, site, op);
  auto operation = std::make_unique<TmaStore>(thread, op, site);
  operation->box.map = map;
  std::ranges::copy(at, operation->box.at);
  operation->source = place.cta->shared;
  operation->offset = uint32_t(place.offset);
  operation->touches = 1u << place.cta->rank;
  operation->reduce = reduce;
  operation->reduction = reduction;
  operation->number = begin_bulk_write(e, thread, place, uint64_t(map.box_bytes()), op, site);
  const View view = e.view(thread);
  const uint8_t flags = Stamp::kAsyncProxy | Stamp::kWrite |
                        (reduce ? Stamp::kAtomic | uint8_t(MemoryScope::gpu) << Stamp::kScopeShift : 0);
  const Access write{&view, e.stamp(*thread.cta, *thread.bulk.writes, operation->number, op, flags, site)};
  e.counters().tma_write_bytes += access_tensor(e, tensor, map, operation->box.at, write, true);
  if (e.racing()) e.tick(thread);
  e.issue(std::move(operation));
}

}  // namespace

uint32_t begin_bulk_write(Engine& e, Thread& thread, const Place& source, uint64_t bytes, Op op, int site) {
  Groups& bulk = thread.bulk;
  if (!bulk.writes) {
    bulk.reads = &e.queue(*thread.cta, queue_key(QueueKind::bulk_reads, thread.index), thread);
    bulk.writes = &e.queue(*thread.cta, queue_key(QueueKind::bulk_writes, thread.index), thread);
  }
  const uint32_t number = ++bulk.writes->order.issued;
  bulk.reads->order.issued = number;
  if (e.racing()) {
    const View view = e.view(thread);
    const Stamp read = e.stamp(*thread.cta, *bulk.reads, number, op, Stamp::kAsyncProxy, site);
    e.access(source, bytes, {&view, read});
    e.add_guest(*source.cta, read, "an operation that reads its shared memory");
  }
  return number;
}

}  // namespace gemmsmith::simulator

using namespace gemmsmith::simulator;

void sim_prefetch_tensormap(int32_t site, const void* map) { checked_map(running(), map, 0, site, Op::tma_load); }

void sim_tma_prefetch(int32_t site, const void* map, int32_t rank, int32_t, int32_t, int32_t, int32_t, int32_t) {
  Engine& e = running();
  tensor_place(e, checked_map(e, map, rank, site, Op::tma_load), false, site, Op::tma_load);
}

void sim_tma_load(int32_t site, void* shared, const void* map_address, void* barrier, int32_t rank, int32_t c0,
                  int32_t c1, int32_t c2, int32_t c3, int32_t c4, int32_t multicast, int32_t cta_only) {
  constexpr Op op = Op::tma_load;
  Engine& e = running();
  Thread& thread = e.current();
  const TensorMap& map = checked_map(e, map_address, rank, site, op);
  const Place place = e.shared_place(shared, uint64_t(map.box_bytes()), kSharedAlignment, site, name_of(op));
  const Place barrier_place = mbarrier_place(e, barrier, site, name_of(op));
  if (cta_only && place.cta != thread.cta)
    e.fail(FindingKind::invalid_operand, "the form with .shared::cta writes to the own CTA only", site, name_of(op));
  const Place tensor = tensor_place(e, map, false, site, op);
  const Destinations to = destinations(e, place, barrier_place, multicast, site, name_of(op));

  auto operation = std::make_unique<TmaLoad>(thread, op, site);
  operation->box = {map, {c0, c1, c2, c3, c4}};
  operation->offset = uint32_t(place.offset);
  operation->barrier = uint32_t(barrier_place.offset);
  operation->touches = to.ranks;
  const View view = e.view(thread);
  const uint64_t key = queue_key(barrier_place, to.ranks);
  if (e.racing()) {
    const Queue& queue = e.queue(*thread.cta, key, thread);
    const Stamp write =
        e.stamp(*thread.cta, queue, queue.order.issued + 1, op, Stamp::kWrite | Stamp::kAsyncProxy, site);
    announce_copy(e, thread, place, uint64_t(map.box_bytes()), barrier_place, to, view, write);
  }
  const Queue& queue = e.queue(*thread.cta, key, thread);
  const Stamp read = e.stamp(*thread.cta, queue, queue.order.issued + 1, op, Stamp::kAsyncProxy, site);
  e.counters().tma_read_bytes += access_tensor(e, tensor, map, operation->box.at, {&view, read}, false);
  e.counters().multicast_bytes += int64_t(map.box_bytes()) * std::popcount(to.ranks);
  operation->completion = start(e, thread, key);
  e.issue(std::move(operation));
}

void sim_tma_store(int32_t site, const void* map, const void* shared, int32_t rank, int32_t c0, int32_t c1, int32_t c2,
                   int32_t c3, int32_t c4) {
  store(site, map, shared, Op::tma_store, AtomicOp::add, rank, {c0, c1, c2, c3, c4});
}

void sim_tma_reduce(int32_t site, const void* map, const void* shared, int32_t op, int32_t rank, int32_t c0, int32_t c1,
                    int32_t c2, int32_t c3, int32_t c4) {
  store(site, map, shared, Op::tma_reduce, AtomicOp(op), rank, {c0, c1, c2, c3, c4});
}
