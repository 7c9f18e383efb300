// The engine of one run: the scheduler of threads and asynchronous operations, and what all operations need of it. The operations
// themselves are functions of entries.def, in files by subject; they reach the engine that runs them through running().
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "targets/simulator/runtime/counters.h"
#include "targets/simulator/runtime/launch.h"
#include "targets/simulator/runtime/machine.h"
#include "targets/simulator/runtime/memory.h"
#include "targets/simulator/runtime/timeline.h"
#include "targets/simulator/runtime/wgmma.h"

namespace gemmsmith::simulator {

class Engine;

// At the low end of each stack, looked at when its thread ends.
inline constexpr int kStackCanaryBytes = 64;
inline constexpr char kStackCanary = 0x5a;

// An asynchronous operation in flight.
class AsyncOperation {
 public:
  AsyncOperation(Thread& issuer, Op op, int site) : issuer(issuer), op(op), site(site) {}
  virtual ~AsyncOperation() = default;
  // Does the next step; true: that was the last.
  virtual bool step(Engine& engine) = 0;

  Thread& issuer;
  Op op;
  int site;
  const void* in_order_with = nullptr;  // operations of one owner run in order of issue; null: any order
  uint32_t touches = 0;    // CTAs of the issuer's cluster whose shared memory is still to be accessed, by rank
  int64_t not_before = 0;  // step, in the random schedule
  uint32_t timeline_id = 0;
};

// Where an address points to.
struct Place {
  enum class Kind : uint8_t { shared, global, local, nowhere } kind = Kind::nowhere;
  Cta* cta = nullptr;  // of shared memory
  uint32_t buffer = 0;
  uint64_t offset = 0;
};

class Engine {
 public:
  // What outlives an engine.
  struct Pools {
    SharedWindows windows;
    Stacks stacks;
    ClockPool clocks;
  };
  Engine(Pools& pools, const LaunchOptions& options, LaunchResult& result);
  ~Engine();
  void run(const Launch& launch);  // one launch of the stream
  bool failed() const { return failed_; }
  void finish_timeline();

  // ---- For operations
  Thread& current() { return *current_; }
  const Launch& launch() const { return *launch_; }
  const LaunchOptions& options() const { return options_; }
  Counters& counters() { return result_.counters; }
  Names& names() { return names_; }
  ClockPool& clocks() { return pools_.clocks; }
  Detector& detector() { return detector_; }
  bool racing() const { return options_.detect_races; }
  Timeline* timeline_of(const Cta& cta) { return timeline_cta_ == cta.number ? timeline_.get() : nullptr; }
  BankCounter* bank_counter() { return banks_.get(); }

  // Does not return and destroys nothing: its caller holds no memory, and its arguments no temporaries that do.
  // Ends the run with a finding about `who`: by default the issuer of the operation that is being run, else the current thread.
  [[noreturn]] void fail(FindingKind kind, std::string what, int site, std::string_view operation,
                         std::string memory = "", const Thread* who = nullptr);
  // Adds a finding and goes on.
  void add(Finding finding);
  void block(Blocked why, int site, const char* operation);  // until wake()
  void wake(Thread& thread);
  void spin(int site, const char* operation);  // lets the others run; gives up if nothing changes any more
  void changed() { ++changes_; }               // something that a spinning thread may wait for
  void issue(std::unique_ptr<AsyncOperation> operation);

  // ---- Memory
  Place locate(const void* address) const;
  // Shared memory of the cluster, in bounds and aligned; else the run ends.
  Place shared_place(const void* address, uint64_t bytes, uint64_t alignment, int site, std::string_view operation);
  Place global_place(const void* address, uint64_t bytes, bool write, int site, std::string_view operation);
  // The CTA of the present thread's cluster whose window an address lies in, or null.
  Cta* cta_of(const void* address) const;
  char* window(const Cta& cta) const { return cta.shared; }

  // ---- Happens-before
  Component component(const Thread& thread) const { return {thread.cta->number, thread.index}; }
  OwnEpochs& own(Thread& thread) { return thread.cta->own[thread.index]; }
  View view(Thread& thread);
  Stamp stamp(Thread& thread, Op op, uint8_t flags, int site);
  Stamp stamp(const Cta& cta, const Queue& queue, uint32_t number, Op op, uint8_t flags, int site);
  Contribution contribution(Thread& thread);
  void tick(Thread& thread) { ++own(thread).epoch; }
  Queue& queue(Cta& cta, uint64_t key, Thread& issuer);  // made when first asked for
  // Checks and records an access; a guest is one that must happen before the exit of the CTA.
  void access(const Place& place, uint64_t bytes, const Access& access);
  void add_guest(Cta& cta, const Stamp& stamp, const char* what);
  void check_started(Thread& thread, const Cta& cta, Op op, int site);

  bool seen(const Finding& finding) const;  // one of its kind and text, but for the thread, has been added
  std::unordered_map<const void*, SyncVariable> sync_variables;  // by address
  WgmmaPlans wgmma_plans;                                        // of the launch

  // griddepcontrol
  void wait_for_earlier_launches(Thread& thread);

 private:
  friend struct FiberEntry;
  void start(Cluster& cluster);
  void run_until_done();
  std::unique_ptr<Cluster> make_cluster(int number, int first_window, int first_stack);
  void finish(Thread& thread);
  void finish_cta(Thread& last);
  Thread* next();
  bool release_spinning();
  void switch_to(Thread& thread);
  void run_async(size_t chosen);
  void run_due_async();         // of the random schedule
  [[noreturn]] void leave();    // to the stack that called run()
  [[noreturn]] void to_main();  // the same after a failure
  [[noreturn]] void deadlock();
  Finding describe_deadlock(FindingKind kind);
  void describe(Thread& thread, Waiting& waiting);

  Pools& pools_;
  const LaunchOptions& options_;
  LaunchResult& result_;
  const Launch* launch_ = nullptr;
  Names names_;
  Detector detector_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<BankCounter> banks_;
  uint32_t timeline_cta_ = ~0u;

  std::vector<std::unique_ptr<Cluster>> clusters_;  // resident ones
  std::vector<Cta*> windows_;                       // by window
  std::vector<Shadow> shared_shadow_;               // by window
  std::map<const void*, Shadow> global_shadow_;     // by the buffer's address, over all launches
  std::vector<Shadow*> shadow_of_buffer_;           // of the launch
  Thread* current_ = nullptr;
  AsyncOperation* running_operation_ = nullptr;
  boost::context::detail::fcontext_t main_ = nullptr;
  const void* main_stack_ = nullptr;
  size_t main_stack_bytes_ = 0;
  bool failed_ = false, done_ = false;

  std::deque<Thread*> ready_;
  std::vector<Thread*> spinning_;
  std::deque<std::unique_ptr<AsyncOperation>> async_;
  uint64_t random_ = 0;
  uint64_t changes_ = 0, changes_at_release_ = 0;
  int idle_rounds_ = 0;
  uint32_t cluster_count_ = 0;
  uint32_t first_cta_ = 0;                        // of the launch
  uint32_t previous_from_ = 0, previous_to_ = 0;  // CTAs of launches that griddepcontrol.wait makes known
  uint32_t waited_ = 0;  // CTAs of this launch in which a thread has executed griddepcontrol.wait
};

Engine& running();  // the engine whose kernel runs on this thread

}  // namespace gemmsmith::simulator
