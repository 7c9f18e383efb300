// A source whose candidates do every harm that a kernel can do to its process, for real. It runs in a worker of the tests,
// helpers/faulty_worker.cpp, and nowhere else.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "problem/spec.h"

namespace gemmsmith::faulty {

inline DeviceFacts device() {
  DeviceFacts facts;
  facts.kind = "test";
  facts.model = "faulty";
  facts.threads = 2;
  return facts;
}

// A candidate, and what a report has to say of it: its state, and words of the reason.
struct Expected {
  std::string config, state, evidence;
};

inline const std::vector<Expected>& faults() {
  static const std::vector<Expected> all = {
      {"segv", "crashed", "killed by SIGSEGV: reads address 0x10"},
      {"bus", "crashed", "killed by SIGBUS"},
      {"fpe", "crashed", "killed by SIGFPE"},
      {"abort", "crashed", "killed by SIGABRT"},
      {"ill", "crashed", "killed by SIGILL"},
      {"throw", "crashed", "it printed: terminate called after throwing"},
      {"hang", "crashed", "no answer for "},
      {"exit", "crashed", "exited with 3; it printed: going home"},
      {"memory", "crashed", "memory exhausted, then killed by SIGABRT"},
      {"past_end", "crashed", "writes 65 bytes past the end of d"},
      {"far_past_end", "crashed", "bytes past the end of d"},
      {"band", "crashed", "guard band after d overwritten, at byte 4 past its end"},
      {"before_d", "crashed", "guard band before d overwritten, 8 bytes before its start"},
      {"gap", "crashed", "gap between elements of d overwritten, at element 24 of its memory"},
      {"writes_a", "crashed", "writes byte 0 of a, which is not its to write"},
      {"closes", "crashed", "while it was checked: "},  // it ends itself or is ended, whichever comes first
      {"garbage", "crashed", "its worker's connection was closed or written over"},
      {"kill", "crashed", "killed by SIGKILL"},
      {"lost", "crashed", "the device was lost: device: sticky error 700"},
      {"heap", "crashed", "while it was in company: killed by SIGSEGV"},
      {"build_segv", "crashed", "while it was built: killed by SIGSEGV"},
      {"build_exit", "crashed", "while it was built: exited with 4"},
      {"build_hang", "crashed", "while it was built: no answer for "},
      {"stack", "crashed", "killed by SIGSEGV"},
      {"wrong", "wrong", "D[0,0] is "},
      {"error", "failed", "does not run: library: status 4 is not 0"},
  };
  return all;
}

}  // namespace gemmsmith::faulty
