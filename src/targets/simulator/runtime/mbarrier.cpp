#include "targets/simulator/runtime/mbarrier.h"

#include <cstring>

#include "support/text.h"

namespace gemmsmith::simulator {

MbarrierWord MbarrierWord::load(const void* address) {
  uint64_t bits;
  std::memcpy(&bits, address, sizeof bits);
  MbarrierWord word;
  word.expected = uint32_t(bits & 0xfffff);
  word.pending = uint32_t(bits >> 20 & 0xfffff);
  word.tx_count = int32_t(uint32_t(bits >> 40 & 0x1fffff) << 11) >> 11;
  word.phase = uint32_t(bits >> 61 & 1);
  word.valid = bits >> 62 == 2;
  return word;
}

void MbarrierWord::store(void* address) const {
  const uint64_t bits = uint64_t(expected) | uint64_t(pending) << 20 | uint64_t(uint32_t(tx_count) & 0x1fffff) << 40 |
                        uint64_t(phase) << 61 | uint64_t(valid ? 2 : 0) << 62;
  std::memcpy(address, &bits, sizeof bits);
}

namespace {

char* word_of(const Place& place) { return place.cta->shared + place.offset; }
Mbarrier& state_of(const Place& place) { return place.cta->mbarriers[uint32_t(place.offset)]; }
std::string name_of(Engine& e, const Place& place) {
  return e.names().memory({MemoryPlace::Kind::shared, place.cta->number, 0, place.offset});
}

MbarrierWord valid_word(Engine& e, const Place& place, int site, std::string_view operation) {
  const MbarrierWord word = MbarrierWord::load(word_of(place));
  if (!word.valid)
    e.fail(FindingKind::barrier_misuse, "the mbarrier is not initialised, or was overwritten", site, operation,
           name_of(e, place));
  return word;
}

void record(Mbarrier& state, const Thread& by, int site, char kind, uint32_t amount, const MbarrierWord& after) {
  state.events[state.event_count++ % Mbarrier::kEvents] = {by.cta->number, by.index,    site,          kind,
                                                           amount,         after.phase, after.pending, after.tx_count};
}

// Takes arrivals and tx off, completes the phase when nothing is left, and wakes who waits for that.
void update(Engine& e, const Place& place, MbarrierWord& word, uint32_t arrivals, int64_t tx, int site,
            std::string_view operation) {
  if (word.pending < arrivals)
    e.fail(FindingKind::barrier_misuse,
           concat("too many arrivals: ", arrivals, " with ", word.pending, " of ", word.expected, " pending in phase ",
                  word.phase),
           site, operation, name_of(e, place));
  const int64_t tx_count = word.tx_count + tx;
  if (tx_count > kMostTx || tx_count < -kMostTx)
    e.fail(FindingKind::barrier_misuse, concat("the tx-count of ", tx_count, " is beyond 2^20 - 1"), site, operation,
           name_of(e, place));
  word.pending -= arrivals;
  word.tx_count = int32_t(tx_count);
  e.changed();
  const bool completes = word.pending == 0 && word.tx_count == 0;
  if (completes) {
    word.phase ^= 1;
    word.pending = word.expected;
    if (e.racing()) {
      Mbarrier& state = state_of(place);
      state.done_local = state.local;
      state.done_remote = state.remote;
    }
  }
  word.store(word_of(place));
  if (!completes) return;
  auto& waiters = place.cta->mbarrier_waiters[uint32_t(place.offset)];
  std::erase_if(waiters, [&](Thread* t) {
    if (t->parity == word.phase) return false;
    e.wake(*t);
    return true;
  });
}

void check_use_by(Engine& e, const Place& place, Thread& thread, Op op, int site) {
  if (!e.racing()) return;
  const View view = e.view(thread);
  check_mbarrier_use(e, place, view, e.stamp(thread, op, op == Op::mbarrier_wait ? 0 : Stamp::kWrite, site),
                     place.cta != thread.cta);
}

int64_t arrive(int site, void* barrier, uint32_t arrivals, uint32_t drop, int64_t tx, char kind, int order, int scope,
               std::string_view operation) {
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = mbarrier_place(e, barrier, site, operation);
  MbarrierWord word = valid_word(e, place, site, operation);
  check_use_by(e, place, thread, Op::mbarrier_arrive, site);
  const bool remote = place.cta != thread.cta;
  Mbarrier& state = state_of(place);
  if (e.racing()) {
    if (remote)
      e.add_guest(*place.cta, e.stamp(thread, Op::mbarrier_arrive, Stamp::kWrite, site), "an arrival at its mbarrier");
    if (MemoryOrder(order) != MemoryOrder::relaxed && arrivals > 0) {
      const bool reaches = !remote || MemoryScope(scope) >= MemoryScope::cluster;
      (remote ? state.remote : state.local).add(e.clocks(), e.contribution(thread), reaches);
    }
    e.tick(thread);
  }
  uint64_t before;
  std::memcpy(&before, word_of(place), sizeof before);
  word.expected -= drop;
  update(e, place, word, arrivals, tx, site, operation);
  record(state, thread, site, kind, kind == 'a' ? arrivals : uint32_t(tx < 0 ? -tx : tx), word);
  return remote ? 0 : int64_t(before);
}

// Whether the phase of a parity has completed; acquires if so.
bool completed(Engine& e, const Place& place, int parity, int order, int scope, int site, std::string_view operation) {
  const MbarrierWord word = valid_word(e, place, site, operation);
  if (word.phase == uint32_t(parity & 1)) return false;
  if (e.racing() && MemoryOrder(order) != MemoryOrder::relaxed) {
    const Mbarrier& state = state_of(place);
    state.done_local.acquire_into(e.clocks(), e.current().knowledge, true);
    state.done_remote.acquire_into(e.clocks(), e.current().knowledge, MemoryScope(scope) >= MemoryScope::cluster);
  }
  return true;
}

Place waited_place(Engine& e, const void* barrier, int site, std::string_view operation) {
  const Place place = mbarrier_place(e, barrier, site, operation);
  if (place.cta != e.current().cta)
    e.fail(FindingKind::invalid_operand, "only the threads of its own CTA can wait for an mbarrier", site, operation,
           name_of(e, place));
  valid_word(e, place, site, operation);
  check_use_by(e, place, e.current(), Op::mbarrier_wait, site);
  return place;
}

}  // namespace

Place mbarrier_place(Engine& e, const void* address, int site, std::string_view operation) {
  return e.shared_place(address, 8, 8, site, operation);
}

void check_mbarrier_use(Engine& e, const Place& place, const View& view, const Stamp& user, bool outside) {
  const Mbarrier& state = state_of(place);
  if (!state.init.present()) return;  // the word is checked by its user
  if (!Detector::ordered(view, state.init))
    e.detector().report(FindingKind::use_before_init, "nothing orders the use after the init", name_of(e, place),
                        state.init, user);
  else if (outside && !state.init_fenced)
    e.detector().report(
        FindingKind::missing_init_fence,
        "another CTA or an asynchronous operation uses the mbarrier, and no fence.mbarrier_init followed its init",
        name_of(e, place), state.init, user);
}

void complete_mbarrier(Engine& e, const Place& place, uint32_t bytes, uint32_t arrivals,
                       const Contribution& contribution, const Thread& issuer, int site, std::string_view operation) {
  MbarrierWord word = valid_word(e, place, site, operation);
  Mbarrier& state = state_of(place);
  if (e.racing()) state.local.add(e.clocks(), contribution, true);
  update(e, place, word, arrivals, -int64_t(bytes), site, operation);
  record(state, issuer, site, arrivals ? 'a' : 'c', arrivals ? arrivals : bytes, word);
}

}  // namespace gemmsmith::simulator

using namespace gemmsmith::simulator;

void sim_mbarrier_init(int32_t site, void* barrier, int32_t count) {
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = mbarrier_place(e, barrier, site, "mbarrier.init");
  if (place.cta != thread.cta)
    e.fail(FindingKind::invalid_operand, "an mbarrier is initialised by its own CTA", site, "mbarrier.init");
  if (count < 1 || uint32_t(count) > kMostArrivals)
    e.fail(FindingKind::invalid_operand, gemmsmith::concat("a count of ", count, " is not 1 to 2^20 - 1"), site,
           "mbarrier.init");
  Mbarrier& state = state_of(place);
  if (MbarrierWord::load(barrier).valid && state.event_count > 0)
    e.fail(FindingKind::barrier_misuse, "the mbarrier is initialised again without an mbarrier.inval before", site,
           "mbarrier.init", name_of(e, place));
  state = {};
  if (e.racing()) {
    state.init = e.stamp(thread, Op::mbarrier_init, Stamp::kWrite, site);
    const View view = e.view(thread);
    e.access(place, 8, {&view, state.init});
    e.tick(thread);
  }
  const MbarrierWord word{uint32_t(count), uint32_t(count), 0, 0, true};
  word.store(barrier);
  record(state, thread, site, 'i', uint32_t(count), word);
  e.changed();
}

void sim_mbarrier_inval(int32_t site, void* barrier) {
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = mbarrier_place(e, barrier, site, "mbarrier.inval");
  valid_word(e, place, site, "mbarrier.inval");
  check_use_by(e, place, thread, Op::mbarrier_inval, site);
  if (!place.cta->mbarrier_waiters[uint32_t(place.offset)].empty())
    e.fail(FindingKind::barrier_misuse, "threads still wait for the mbarrier", site, "mbarrier.inval",
           name_of(e, place));
  if (e.racing()) {
    const View view = e.view(thread);
    e.access(place, 8, {&view, e.stamp(thread, Op::mbarrier_inval, Stamp::kWrite, site)});
  }
  state_of(place) = {};
  MbarrierWord{}.store(barrier);
}

int64_t sim_mbarrier_arrive(int32_t site, void* barrier, int32_t count, int32_t order, int32_t scope) {
  return arrive(site, barrier, uint32_t(count), 0, 0, 'a', order, scope, "mbarrier.arrive");
}

int64_t sim_mbarrier_arrive_drop(int32_t site, void* barrier, int32_t count, int32_t order, int32_t scope) {
  return arrive(site, barrier, uint32_t(count), uint32_t(count), 0, 'a', order, scope, "mbarrier.arrive_drop");
}

int64_t sim_mbarrier_arrive_expect_tx(int32_t site, void* barrier, int32_t bytes, int32_t order, int32_t scope) {
  return arrive(site, barrier, 1, 0, bytes, 't', order, scope, "mbarrier.arrive.expect_tx");
}

void sim_mbarrier_expect_tx(int32_t site, void* barrier, int32_t bytes) {
  arrive(site, barrier, 0, 0, bytes, 'e', int(MemoryOrder::relaxed), 0, "mbarrier.expect_tx");
}

void sim_mbarrier_complete_tx(int32_t site, void* barrier, int32_t bytes) {
  arrive(site, barrier, 0, 0, -int64_t(bytes), 'c', int(MemoryOrder::relaxed), 0, "mbarrier.complete_tx");
}

int32_t sim_mbarrier_state_parity(int32_t, int64_t state) { return int32_t(uint64_t(state) >> 61 & 1); }

void sim_mbarrier_wait_parity(int32_t site, void* barrier, int32_t parity, int32_t order, int32_t scope) {
  constexpr const char* kOperation = "mbarrier.try_wait";
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = waited_place(e, barrier, site, kOperation);
  if (completed(e, place, parity, order, scope, site, kOperation)) return;
  thread.barrier = static_cast<char*>(barrier);
  thread.parity = uint32_t(parity & 1);
  place.cta->mbarrier_waiters[uint32_t(place.offset)].push_back(&thread);
  e.block(Blocked::mbarrier, site, kOperation);
  if (!completed(e, place, parity, order, scope, site, kOperation))
    e.fail(FindingKind::barrier_misuse,
           "the thread has missed a phase: the mbarrier completed the one it waited for and another before it looked",
           site, kOperation, name_of(e, place));
  thread.barrier = nullptr;
}

int32_t sim_mbarrier_test_wait_parity(int32_t site, void* barrier, int32_t parity, int32_t order, int32_t scope) {
  constexpr const char* kOperation = "mbarrier.test_wait";
  Engine& e = running();
  Thread& thread = e.current();
  const Place place = waited_place(e, barrier, site, kOperation);
  if (completed(e, place, parity, order, scope, site, kOperation)) return 1;
  thread.barrier = static_cast<char*>(barrier);
  thread.parity = uint32_t(parity & 1);
  e.spin(site, kOperation);  // it is called again, surely
  thread.barrier = nullptr;
  return 0;
}

int32_t sim_mbarrier_try_wait_parity(int32_t site, void* barrier, int32_t parity, int32_t order, int32_t scope) {
  constexpr const char* kOperation = "mbarrier.try_wait";
  if (sim_mbarrier_test_wait_parity(site, barrier, parity, order, scope)) return 1;
  Engine& e = running();
  return completed(e, waited_place(e, barrier, site, kOperation), parity, order, scope, site, kOperation);
}

void sim_fence_mbarrier_init(int32_t) {
  Engine& e = running();
  if (!e.racing()) return;
  Thread& thread = e.current();
  for (auto& [offset, state] : thread.cta->mbarriers)
    if (state.init.present() && state.init.cta == thread.cta->number && state.init.column == thread.index)
      state.init_fenced = true;
}
