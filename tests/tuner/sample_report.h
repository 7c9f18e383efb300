// A report that uses every member, for the tests of what keeps and prints reports.
#pragma once
#include <limits>

#include "gemmsmith/tune.h"

namespace gemmsmith {

inline TuneReport sample_report() {
  TuneReport r;
  r.problem = make_problem(128, 4096, 1024, DataType::bf16, Major::column);
  r.sources = {{"native", "1a2b3c", true, {}},
               {"openblas", "0.3.21 Cooperlake", false, "bf16: \"needs\" SBGEMM\n\ttabs, ünïcode"}};
  CandidateReport won{"native", "gemm_packed mr=8", CandidateState::won, "lowest median", 101.5, 24.75, {}, {}};
  won.timing = Timing{99.125, 98.5, 1.0 / 3, 25};
  won.accuracy = Accuracy{1e-3, 2.5e-8, 1e-7, 0.25, int64_t(1) << 40, true, {}};
  CandidateReport wrong{"native", "gemm_streaming", CandidateState::wrong, "D[0,0] is nan", 0, 3, {}, {}};
  wrong.accuracy = Accuracy{
      std::numeric_limits<double>::infinity(),  std::numeric_limits<double>::quiet_NaN(), 1e-7, 1e300, 5, false,
      "D[0,0] of batch 0 is nan, reference 1.5"};
  r.candidates = {wrong, won, {"openblas", "default", CandidateState::dropped, "predicted 1.2 s", 1.2e6, 0, {}, {}}};
  r.winner = 1;
  r.margin = 0.034;
  r.decision = "native gemm_packed mr=8: lowest median";
  r.floor_us = 77.5;
  r.seconds = 1.25;
  r.conditions = "operands cold: 12 copies, 805 MB";
  r.memory = "151 MB of the cap of 2.15 GB";
  r.isolation = "worker process";
  r.load = MachineLoad{1.5, 0.125};
  r.store_note = "stored choice not used: gemmsmith was 0.0.9, is 0.1.0";
  r.interrupted = true;
  r.provenance = {"cpu | AuthenticAMD", "native 1a2b3c", "0.1.0", "2026-12-01T11:08:14Z"};
  return r;
}

}  // namespace gemmsmith
