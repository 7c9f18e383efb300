#include "api/dispatcher.h"

#include "support/text.h"

namespace gemmsmith {

Dispatcher::Dispatcher(int64_t min_m, int64_t max_m, int points_per_octave, Crossovers::Tune tune, Build build)
    : min_m_(min_m),
      max_m_(max_m),
      build_(std::move(build)),
      crossovers_(min_m, max_m, points_per_octave, std::move(tune)),
      slots_(new std::atomic<Slot*>[size_t(max_m - min_m + 1)]()) {}

// The only thing between a call and its kernel: a comparison and a load.
Result<Dispatcher::Slot*> Dispatcher::find(int64_t m) {
  if (m < min_m_ || m > max_m_)
    return Error{"dispatch",
                 concat("m = ", m),
                 concat("is outside of ", min_m_, " to ", max_m_, ", the range of the handle"),
                 "create it with a larger range",
                 {}};
  if (Slot* slot = slots_[size_t(m - min_m_)].load(std::memory_order_acquire)) [[likely]]
    return slot;
  return make(m);
}

Result<Dispatcher::Slot*> Dispatcher::make(int64_t m) {
  const std::lock_guard lock(making_);
  std::atomic<Slot*>& entry = slots_[size_t(m - min_m_)];
  if (Slot* made = entry.load(std::memory_order_relaxed)) return made;  // by a thread that came first
  GS_TRY(const KernelChoice choice, crossovers_.choice(m));
  auto slot = std::make_unique<Slot>();
  Result<Run> built = build_(m, choice);
  if (!built.ok()) {  // a kernel that the source does not offer for this m
    GS_TRY(const KernelChoice own, crossovers_.own_choice(m));
    if (own == choice) return std::move(built).error();
    built = build_(m, own);
  }
  GS_TRY(slot->run, std::move(built));
  owned_.push_back(std::move(slot));
  entry.store(owned_.back().get(), std::memory_order_release);
  return owned_.back().get();
}

Status Dispatcher::prepare(int64_t m) {
  if (m == 0) return Done{};
  GS_CHECK(find(m));
  return Done{};
}

Status Dispatcher::prepare() {
  const std::lock_guard lock(making_);
  for (const int64_t m : crossovers_.points()) GS_CHECK(crossovers_.choice(m));
  return Done{};
}

Status Dispatcher::run(int64_t m, const GemmArguments& arguments) {
  if (m == 0) return Done{};
  GS_TRY(Slot* const slot, find(m));
  const std::lock_guard turn(slot->running);
  return slot->run(arguments);
}

std::vector<DispatchRange> Dispatcher::table() const {
  const std::lock_guard lock(making_);
  return crossovers_.ranges();
}

}  // namespace gemmsmith
