// One handle for a range of m: the rows of a batch of tokens change from call to call, the weight stays.
//
//   auto problem = gemmsmith::GemmProblem::parse("4096x4096x1024 dtype=bf16 b=col").value();   // up to 4096 rows
//   auto dispatch = gemmsmith::Dispatch::create(device, problem, {}, std::move(store)).value();
//   dispatch.run(17, {.a = a, .b = b, .d = d});
//
// The range is divided at points, a few for each power of two. The first call between two of them tunes both; if their
// winners differ, it halves the interval, tuning there too, until it knows where one overtakes the other, to a quarter
// of the distance. A winner goes on being used where it ties with that of the next point; an m that it cannot serve is
// tuned by itself. Between points a kernel is trusted as compiled: its numbers were checked where it was tuned.
// Everything that was tuned is in the store, so that it is done once a machine and not once a process.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/gemm.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "gemmsmith/store.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

struct DispatchOptions {
  int64_t min_m = 1;          // the smallest m; the largest is that of the problem
  int points_per_octave = 2;  // 2: 16, 24, 32, 48, 64 ...; from 1 to 16
  TuneOptions tune;           // for each point
};

// A stretch of m with one choice.
struct DispatchRange {
  int64_t first_m = 0, last_m = 0;
  std::string source, config;
  friend bool operator==(const DispatchRange&, const DispatchRange&) = default;
};

class Dispatch {
 public:
  // Operands of m rows are the first m rows of those of the problem: strides stay. Measures nothing yet. The store, if
  // any, belongs to the handle from now on. Errors: an invalid problem, options out of range, more than 2^20 values of m.
  static Result<Dispatch> create(const Device&, const GemmProblem& largest, const DispatchOptions& = {},
                                 std::optional<Store> store = {});

  // Tunes what is not tuned yet, for one m or for all.
  Status prepare(int64_t m);
  Status prepare();

  // Any number of threads may call it. First calls that need the same tuning wait for one of them to do it; where all is
  // ready, finding the kernel is a look-up in an array. Runs of the same m take turns. No rows are nothing to do.
  // Errors: an m outside of the range, those of tuning and building (the next call tries again), those of the kernel.
  Status run(int64_t m, const GemmArguments&);

  // What has been measured so far, in order of m.
  std::vector<DispatchRange> table() const;

  Dispatch(Dispatch&&) noexcept;
  Dispatch& operator=(Dispatch&&) noexcept;
  ~Dispatch();

 private:
  struct State;
  explicit Dispatch(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
