// Programs that are killed while they work: what they said was done has to be done.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "support/random.h"

namespace gemmsmith {

using Words = std::vector<std::string>;

// Keeps `at_once` processes running, each killed by SIGKILL after it has printed a random number of lines, below
// `most_lines`, and replaced by another, until `kills` were killed. `command` gives the words of the i-th. The result is
// every whole line that they printed; the moment of death is wherever the next step happened to be.
std::vector<std::string> run_and_kill(const std::function<Words(int)>& command, int at_once, int kills, int most_lines,
                                      Random&);

struct Finished {
  int code = -1;  // exit code; -signal if a signal ended it
  std::string out;
};
Finished run_to_end(Words command);

}  // namespace gemmsmith
