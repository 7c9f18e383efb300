// A Hopper GPU on the CPU: compiles the very module that goes to PTX into host code and runs it with one fiber a thread,
// checking protocols and races. What it proves and what it cannot: docs/simulator.md.
#pragma once
#include <memory>
#include <string>

#include "compiler/target.h"
#include "targets/simulator/runtime/launch.h"

namespace gemmsmith {

struct SimulatorOptions {
  simulator::LaunchOptions launch = {};
  // Every launch runs under so many schedules, late, eager, then random ones of seeds 1, 2, ..., whatever `launch` says;
  // what they leave in writable memory has to be equal. 1: as `launch` says.
  int schedules = 1;
  int resident_clusters = 2;  // of persistent kernels: several tiles for each, though problems are small
};

class SimulatorTarget : public Target {
 public:
  virtual const SimulatorOptions& options() const = 0;
  virtual void set_options(const SimulatorOptions&) = 0;  // of the launches that follow
  // Of the last launch; empty before there was one.
  virtual const simulator::LaunchResult& last_result() const = 0;
};

// `arch`: "sm_90a". Launches of its kernels are errors when the simulator found something, with its whole text. One
// launch at a time.
Result<std::unique_ptr<SimulatorTarget>> make_simulator_target(const std::string& arch, const SimulatorOptions& = {});

}  // namespace gemmsmith
