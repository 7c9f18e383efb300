#include "targets/simulator/runtime/clock.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gemmsmith::simulator {

using detail::Chunk;
using detail::ClockBody;

namespace {

constexpr uint32_t kWidthStep = 64;
uint32_t capacity_class(uint32_t width) { return (width + kWidthStep - 1) / kWidthStep; }

size_t slot_of(const void* a, const void* b, uint64_t c = 0) {
  uint64_t h = reinterpret_cast<uintptr_t>(a) * 0x9e3779b97f4a7c15u ^
               reinterpret_cast<uintptr_t>(b) * 0xc2b2ae3d27d4eb4fu ^ c * 0x165667b19e3779f9u;
  return (h >> 40) % 64;
}

}  // namespace

bool Clock::knows_of(uint32_t cta) const {
  if (!body_) return false;
  for (const auto& part : body_->parts)
    if (part.cta == cta) return true;
  return completed(cta);
}

void Clock::release() {
  if (body_ && --body_->references == 0) body_->pool->drop(body_);
  body_ = nullptr;
}

ClockPool::~ClockPool() {
  forget();
  for (Chunk* chunk : chunks_) std::free(chunk);
  for (ClockBody* body : bodies_) delete body;
}

void ClockPool::forget() {
  joins_.fill({});
  raises_.fill({});
}

Chunk* ClockPool::new_chunk(uint32_t width) {
  const uint32_t size = capacity_class(width);
  if (free_chunks_.size() <= size) free_chunks_.resize(size + 1);
  Chunk* chunk;
  if (auto& free = free_chunks_[size]; !free.empty()) {
    chunk = free.back();
    free.pop_back();
  } else {
    void* memory = std::malloc(sizeof(Chunk) + size_t(size) * kWidthStep * sizeof(uint32_t));
    if (!memory) throw std::bad_alloc();
    chunk = new (memory) Chunk;
    chunks_.push_back(chunk);
  }
  chunk->references = 1;
  chunk->width = width;
  return chunk;
}

void ClockPool::drop(Chunk* chunk) {
  if (--chunk->references == 0) free_chunks_[capacity_class(chunk->width)].push_back(chunk);
}

ClockBody* ClockPool::new_body() {
  ClockBody* body;
  if (!free_bodies_.empty()) {
    body = free_bodies_.back();
    free_bodies_.pop_back();
  } else {
    body = new ClockBody;
    body->pool = this;
    bodies_.push_back(body);
  }
  body->references = 0;
  body->known_from = body->known_to = 0;
  return body;
}

void ClockPool::drop(ClockBody* body) {
  for (auto& part : body->parts) drop(part.chunk);
  body->parts.clear();
  free_bodies_.push_back(body);
}

// The maximum of two; one of them if it is that already. The result is a new reference.
Chunk* ClockPool::merged(Chunk* a, Chunk* b) {
  if (a == b) return ++a->references, a;
  const uint32_t common = std::min(a->width, b->width);
  uint32_t a_behind = 0, b_behind = 0;
  for (uint32_t i = 0; i < common; ++i) {
    a_behind |= uint32_t(a->epochs[i] < b->epochs[i]);
    b_behind |= uint32_t(b->epochs[i] < a->epochs[i]);
  }
  if (!a_behind && a->width >= b->width) return ++a->references, a;
  if (!b_behind && b->width >= a->width) return ++b->references, b;
  const Chunk* wide = a->width >= b->width ? a : b;
  Chunk* result = new_chunk(wide->width);
  for (uint32_t i = 0; i < common; ++i) result->epochs[i] = std::max(a->epochs[i], b->epochs[i]);
  std::copy(wide->epochs + common, wide->epochs + wide->width, result->epochs + common);
  return result;
}

Clock ClockPool::merged(const Clock& a, const Clock& b) {
  ClockBody* body = new_body();
  Clock result(body);
  const auto &pa = a.body_->parts, &pb = b.body_->parts;
  bool is_a = true, is_b = true;
  size_t i = 0, j = 0;
  while (i < pa.size() || j < pb.size()) {
    const bool take_a = j == pb.size() || (i < pa.size() && pa[i].cta <= pb[j].cta);
    const bool take_b = i == pa.size() || (j < pb.size() && pb[j].cta <= pa[i].cta);
    Chunk* chunk = take_a && take_b ? merged(pa[i].chunk, pb[j].chunk) : take_a ? pa[i].chunk : pb[j].chunk;
    if (!(take_a && take_b)) ++chunk->references;
    is_a &= take_a && chunk == pa[i].chunk;
    is_b &= take_b && chunk == pb[j].chunk;
    body->parts.push_back({take_a ? pa[i].cta : pb[j].cta, chunk});
    i += take_a;
    j += take_b;
  }
  // Completed launches: the ranges of two clocks of one stream are nested or one of them is empty.
  const ClockBody& more =
      a.body_->known_to - a.body_->known_from >= b.body_->known_to - b.body_->known_from ? *a.body_ : *b.body_;
  body->known_from = more.known_from;
  body->known_to = more.known_to;
  const auto same_range = [body](const Clock& x) {
    return x.body_->known_from == body->known_from && x.body_->known_to == body->known_to;
  };
  if (is_a && same_range(a)) return a;
  if (is_b && same_range(b)) return b;
  return result;
}

Clock ClockPool::join(const Clock& a, const Clock& b) {
  if (a.body_ == b.body_ || !b.body_) return a;
  if (!a.body_) return b;
  Join& known = joins_[slot_of(a.body_, b.body_)];
  if (known.a == a && known.b == b) return known.result;
  Clock result = merged(a, b);
  known = {a, b, result};
  return result;
}

void ClockPool::add(Clock& clock, const Clock& other) {
  if (clock.body_ == other.body_ || !other.body_) return;
  clock = clock.body_ ? merged(clock, other) : other;
}

void ClockPool::raise(Clock& clock, Component component, uint32_t epoch) {
  if (clock.epoch(component) >= epoch) return;
  if (!clock.body_) clock = Clock(new_body());
  if (clock.body_->references > 1) {
    Clock copy(new_body());
    copy.body_->known_from = clock.body_->known_from;
    copy.body_->known_to = clock.body_->known_to;
    copy.body_->parts = clock.body_->parts;
    for (auto& part : copy.body_->parts) ++part.chunk->references;
    clock = std::move(copy);
  }
  auto& parts = clock.body_->parts;
  auto part = std::lower_bound(parts.begin(), parts.end(), component.cta,
                               [](const ClockBody::Part& p, uint32_t cta) { return p.cta < cta; });
  if (part == parts.end() || part->cta != component.cta) {
    Chunk* chunk = new_chunk(component.column + 1);
    std::fill_n(chunk->epochs, chunk->width, 0u);
    part = parts.insert(part, {component.cta, chunk});
  } else if (part->chunk->references > 1 || part->chunk->width <= component.column) {
    Chunk* chunk = new_chunk(std::max(part->chunk->width, component.column + 1));
    std::copy_n(part->chunk->epochs, part->chunk->width, chunk->epochs);
    std::fill(chunk->epochs + part->chunk->width, chunk->epochs + chunk->width, 0u);
    drop(part->chunk);
    part->chunk = chunk;
  }
  part->chunk->epochs[component.column] = epoch;
}

Clock ClockPool::raised(const Clock& clock, Component component, uint32_t epoch) {
  if (clock.epoch(component) >= epoch) return clock;
  Raise& known =
      raises_[slot_of(clock.body_, nullptr, uint64_t(component.cta) << 40 ^ uint64_t(component.column) << 20 ^ epoch)];
  if (known.clock == clock && known.component == component && known.epoch == epoch && known.result.body_)
    return known.result;
  Clock result = clock;
  raise(result, component, epoch);
  known = {clock, result, component, epoch};
  return result;
}

Clock ClockPool::with_completed(const Clock& clock, uint32_t from, uint32_t to) {
  Clock only(new_body());
  only.body_->known_from = from;
  only.body_->known_to = to;
  return join(clock, only);
}

Knowledge join(ClockPool& pool, const Knowledge& a, const Knowledge& b) {
  Knowledge result;
  result.ordered = pool.join(a.ordered, b.ordered);
  result.visible = a.ordered == a.visible && b.ordered == b.visible ? result.ordered : pool.join(a.visible, b.visible);
  result.fenced_shared = pool.join(a.fenced_shared, b.fenced_shared);
  result.fenced_global = pool.join(a.fenced_global, b.fenced_global);
  return result;
}

}  // namespace gemmsmith::simulator
