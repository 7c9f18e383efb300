// Tuning: what is asked, what is reported. A report holds everything that `gemmsmith explain` prints.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/measure.h"
#include "gemmsmith/problem.h"

namespace gemmsmith {

enum class CandidateState : uint8_t {
  won,
  measured,     // was in the final and lost on time, or tied and was not the one that a tie keeps
  eliminated,   // sampled, and clearly slower or not among the fastest before the final
  dropped,      // by a rule, before it was built
  failed,       // did not build or reported an error
  crashed,      // ended its worker process, hung or wrote out of bounds: in quarantine from now on
  quarantined,  // not tried, because it did so in an earlier tuning with the same versions
  wrong,        // did not pass the numeric gate: can never win
  not_reached,  // the search ended before it: `reason` says by what
};
std::string_view name_of(CandidateState);
std::optional<CandidateState> candidate_state_named(std::string_view);  // the inverse of name_of

struct CandidateReport {
  std::string source, config;
  CandidateState state = CandidateState::not_reached;
  std::string reason;  // the rule that decided its state, with numbers
  double predicted_us = 0;
  double build_ms = 0;
  std::optional<Timing> timing;
  std::optional<Accuracy> accuracy;
};

struct SourceReport {
  std::string name, version;
  bool supported = false;
  std::string reason;  // of a refusal
};

// Where a decision comes from. A stored choice is used while it agrees with today's.
struct Provenance {
  std::string device;       // DeviceFacts::fingerprint()
  std::string sources;      // "native 1a2b3c; library 0.3.21"
  std::string gemmsmith;    // version
  std::string measured_at;  // "2026-12-01T11:08:14Z"
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

// How busy the machine was with other things while it was measured.
struct MachineLoad {
  double load_average = 0;              // of the last minute, at the end: threads that ran or waited to
  double others = 0;                    // share of the CPU time of all cores that other processes took
  static constexpr double kBusy = 0.1;  // from here on of `others` times are doubtful
  bool busy() const { return others >= kBusy; }
};

struct TuneReport {
  GemmProblem problem;
  std::vector<SourceReport> sources;
  std::vector<CandidateReport> candidates;
  int winner = -1;         // index into candidates; -1: none
  double margin = 0;       // time of the best other source over the winner's, minus 1; 0 without another
  std::string decision;    // the rule that chose the winner, in a sentence
  double floor_us = 0;     // the least that bytes and flops allow on this device by its measured peaks; 0: not measured
  double seconds = 0;      // spent
  std::string conditions;  // what the times stand for: "operands cold: 12 copies, 805 MB"
  std::string memory;      // what was planned to be taken of it, and the cap
  std::string isolation;   // "worker process"; "in process: why"; empty: not known
  std::optional<MachineLoad> load;
  bool from_store = false;
  std::string store_note;  // why a stored choice was not used, if there was one; what an interrupted tuning had done
  bool interrupted = false;
  Provenance provenance;

  const CandidateReport* best() const { return winner < 0 ? nullptr : &candidates[size_t(winner)]; }
  const CandidateReport* best_of(const std::string& source) const;  // the fastest that passed the gate; null if none
};

// One step of a tuning, for live displays. Called from the tuning thread; must return quickly.
struct TuneProgress {
  std::string phase;  // "building", "measuring", "checking"
  int built = 0, measured = 0, considered = 0;
  double seconds = 0, budget_seconds = 0;
  std::string best;  // "native gemm_packed mr=8 nr=32"
  double best_us = 0;
};

struct TuneOptions {
  double budget_seconds = 10;        // wall time; one candidate of each source is measured even if that takes longer
  std::vector<std::string> sources;  // names; empty: all
  bool retune = false;               // measure even if the store has a choice that holds
  uint64_t seed = 1;                 // of the random inputs and of the order of measuring
  double tie = 0.01;                 // a challenger has to be faster by more than this, and clear of noise
  int64_t max_memory_bytes = int64_t(2) << 30;  // operands of one problem, their copies, the reference, kernels' own
  // Candidates are built and run in worker processes, so that one that crashes costs nothing but itself. `worker` is a
  // program that can serve as one: gemmsmith, or any that begins as worker.h says; empty: the gemmsmith that is
  // installed with this library. Where there is none, candidates run in this process, and the report says so.
  bool isolate = true;
  std::string worker;
  int workers = 1;  // processes that builds are spread over; kernels are timed one at a time
  std::function<void(const TuneProgress&)> progress;
  const std::atomic<bool>* cancel = nullptr;  // set it to stop soon; what was measured is kept and reported
};

}  // namespace gemmsmith
