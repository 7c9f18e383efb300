// The rule that chooses the winner. A pure function of the samples: the same samples give the same winner.
//
// 1. The leader is the candidate with the lowest median.
// 2. The incumbent, a stored choice of an earlier tuning, keeps its place unless the leader is clearly faster: noise
//    must not change what a program runs.
// 3. Without an incumbent, candidates within `tie` of the leader's median count as equal, and of them the one that was
//    tried first wins: sources offer their best guess first, so this is the source's own preference and the same on
//    every run. An interval that merely overlaps does not make a tie here, or a noisy machine would choose slow
//    candidates for being early.
//
// x is clearly faster than y if the 95 % interval of y/x, the ratio of paired samples, lies above 1 + tie. Without at
// least 6 pairs: if the interval of y begins more than the tie above the end of that of x.
#pragma once
#include <string>
#include <vector>

#include "tuner/statistics.h"

namespace gemmsmith {

struct Finalist {
  size_t id = 0;  // the caller's; a smaller one was tried earlier
  std::string name;
  bool incumbent = false;
  std::vector<double> samples_us;  // of screening and halving
  std::vector<double> rounds_us;   // of the final, one a round
  Timing timing() const;           // of the final if it had 3 rounds or more, else of all samples
};

// Time of y over that of x, with how it was found.
struct Comparison {
  double ratio = 1;
  bool paired = false;
  Ratio pairs;               // if paired
  bool clear = false;        // x is clearly faster
  bool tied = false;         // y is certainly within the tie of x: more samples would not change that
  std::string text() const;  // "1.078x [1.071x, 1.083x] in 25 pairs", "1.210x by medians"
};
Comparison compare(const Finalist& x, const Finalist& y, double tie);

struct Decision {
  size_t winner = 0;     // index into the finalists
  std::string sentence;  // the rule that applied, with numbers
};
Decision decide(const std::vector<Finalist>& finalists, double tie);  // of at least one

// Whether more rounds cannot be expected to change the decision: each other finalist is clearly slower than the leader
// or a tie.
bool decided(const std::vector<Finalist>& finalists, double tie);

}  // namespace gemmsmith
