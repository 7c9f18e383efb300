// Vector clocks for happens-before (Lamport 1978; Fidge, Mattern 1988), made for thousands of threads of which whole warps know the same.
//
// A component is one thread or one queue of asynchronous operations; its epochs count up. A clock says for each component up to which epoch
// its accesses are known. Clocks are immutable, shared by pointer and made of one array a CTA, and joins are remembered: the 128 threads of
// a warpgroup that wait for one barrier hold one clock, computed once, until they come to know different things. This gives the effect of
// one clock a warp without a second representation for diverged warps.
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace gemmsmith::simulator {

// CTAs are numbered over all launches of a stream; columns of a CTA are its threads, then its queues.
struct Component {
  uint32_t cta = ~0u;
  uint32_t column = 0;
  friend bool operator==(const Component&, const Component&) = default;
};

class ClockPool;

namespace detail {
struct Chunk {  // the components of one CTA
  uint32_t references = 0;
  uint32_t width = 0;  // columns; those beyond are 0
  uint32_t epochs[1];  // `width` of them
};
struct ClockBody {
  uint32_t references = 0;
  uint32_t known_from = 0, known_to = 0;  // everything of these CTAs is known: launches that have completed
  struct Part {
    uint32_t cta;
    Chunk* chunk;
  };
  std::vector<Part> parts;  // in order of CTAs
  ClockPool* pool = nullptr;
};
}  // namespace detail

// A reference to an immutable clock; the default one knows nothing.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& other) : body_(other.body_) {
    if (body_) ++body_->references;
  }
  Clock(Clock&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Clock& operator=(Clock other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Clock() { release(); }

  uint32_t epoch(Component component) const {
    if (!body_) return 0;
    for (const auto& part : body_->parts)
      if (part.cta == component.cta)
        return component.column < part.chunk->width ? part.chunk->epochs[component.column] : 0;
    return 0;
  }
  bool knows(Component component, uint32_t epoch_of_it) const {
    return epoch(component) >= epoch_of_it || completed(component.cta);
  }
  // Whether the launch of the CTA is known to have completed.
  bool completed(uint32_t cta) const { return body_ && cta >= body_->known_from && cta < body_->known_to; }
  // Whether anything of the CTA is known.
  bool knows_of(uint32_t cta) const;
  friend bool operator==(const Clock& a, const Clock& b) { return a.body_ == b.body_; }  // the same, not equal in value

 private:
  friend class ClockPool;
  explicit Clock(detail::ClockBody* body) : body_(body) { ++body_->references; }
  void release();
  detail::ClockBody* body_ = nullptr;
};

// Makes clocks and owns them: none may be used once the pool is gone.
class ClockPool {
 public:
  ClockPool() = default;
  ~ClockPool();
  ClockPool(const ClockPool&) = delete;
  ClockPool& operator=(const ClockPool&) = delete;

  Clock join(const Clock& a, const Clock& b);
  Clock raised(const Clock& clock, Component component, uint32_t epoch);  // with the component at least at this epoch
  // As clock = raised(clock, ...), in place if nobody else holds it; not remembered. For clocks that many threads add to.
  void raise(Clock& clock, Component component, uint32_t epoch);
  // As clock = join(clock, other), not remembered, so that nobody else comes to hold the result.
  void add(Clock& clock, const Clock& other);
  // Knows everything of the CTAs [from, to) besides.
  Clock with_completed(const Clock& clock, uint32_t from, uint32_t to);
  void forget();  // what joins are remembered

 private:
  friend class Clock;
  struct Join {
    Clock a, b, result;
  };
  struct Raise {
    Clock clock, result;
    Component component;
    uint32_t epoch = 0;
  };
  detail::Chunk* new_chunk(uint32_t width);
  void drop(detail::Chunk* chunk);
  detail::ClockBody* new_body();
  void drop(detail::ClockBody* body);
  detail::Chunk* merged(detail::Chunk* a, detail::Chunk* b);
  Clock merged(const Clock& a, const Clock& b);

  std::array<Join, 64> joins_;
  std::array<Raise, 64> raises_;
  std::vector<std::vector<detail::Chunk*>> free_chunks_;  // by capacity / 64
  std::vector<detail::ClockBody*> free_bodies_;
  // All there are: a run that ends with a finding leaves clocks behind on the stacks of its threads.
  std::vector<detail::Chunk*> chunks_;
  std::vector<detail::ClockBody*> bodies_;
};

// What a thread or operation knows of accesses by others, in four planes. `visible` is a part of `ordered`: what synchronization of
// sufficient scope covers. `fenced` says of generic accesses which of them a fence.proxy.async puts before the async proxy's.
struct Knowledge {
  Clock ordered, visible, fenced_shared, fenced_global;
};
Knowledge join(ClockPool& pool, const Knowledge& a, const Knowledge& b);

}  // namespace gemmsmith::simulator
