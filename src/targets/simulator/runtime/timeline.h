// The timeline of one CTA as Chrome trace events: who waited for what, which asynchronous operations were in flight.
//
// The time axis counts scheduler steps: one for each resumption of a thread or step of an asynchronous operation, of all CTAs that run.
// It shows order and dependence (who waits for whom, how many stages are in flight), not duration: a step of one copy and a step of a
// hundred instructions are one unit each, and which of two independent things comes first is the schedule's choice.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gemmsmith::simulator {

class Names;

class Timeline {
 public:
  // A thread blocked in `operation` from one step to another, for `barrier` (may be empty).
  void wait(uint32_t thread, int64_t from, int64_t to, std::string operation, std::string barrier, int site);
  uint32_t issue(uint32_t thread, int64_t at, std::string operation, int site);  // gives the id for complete()
  void complete(uint32_t id, int64_t at);
  void mark(uint32_t thread, int64_t at, std::string what);
  // {"traceEvents": [...]}: one row for lane 0 of each warp and for each other thread that issued operations; one a kind of operation.
  std::string json(const Names& names, const int (&cta)[3], int64_t end) const;

 private:
  struct Event {
    enum class Kind : uint8_t { wait, operation, mark } kind;
    uint32_t thread;
    int64_t from, to;
    std::string what, barrier;
    int site;
  };
  std::vector<Event> events_;
};

}  // namespace gemmsmith::simulator
