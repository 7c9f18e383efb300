// The numbers of the search, in one place. Defaults are for a machine that other people use as well.
#pragma once

namespace gemmsmith {

struct SearchPolicy {
  // Before anything is built. A candidate that is predicted slower than this times the best prediction of its own
  // source is dropped, and of any source likewise: models of different sources agree only roughly.
  double drop_ratio = 4;
  double foreign_ratio = 20;

  // Waves: candidates that are built together, then checked and sampled together.
  int wave = 8;       // at least; one per core where there are more
  int patience = 32;  // candidates in a row that do not improve on the leader before the search stops looking
  double screening_share = 0.5;  // of the budget: no wave is begun after it
  double halving_share = 0.7;    // of the budget: no halving round is begun after it; what is left is for the final
  double sample_us = 200;        // a sample is as many calls as take this long: the timer then costs well under 0.1 %
  int max_repeats = 2000;        // calls in a sample
  int screening_samples = 2;
  double hopeless_ratio = 3;        // first samples beyond this times the leader's upper bound end a candidate
  double second_look_us = 250'000;  // a first sample of less than this is taken twice before it may do so

  // Successive halving over those that passed screening, and the final.
  double few_samples_guard = 0.1;  // fewer than 6 samples give no 95 % interval: eliminate only beyond this much more
  int halving_rounds = 3;          // samples double in each
  int finalists = 4;               // besides the best of each other source
  double companion_ratio = 2;      // the best of a source is in the final if it is within this of the leader
  int final_rounds = 25;           // each finalist once a round
  int decided_rounds = 9;          // the final may end from here on, if every comparison with the leader is clear
};

}  // namespace gemmsmith
