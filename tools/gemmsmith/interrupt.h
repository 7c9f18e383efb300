// Ctrl-C: the first asks the work to stop soon, the second ends the program at once.
#pragma once
#include <atomic>

namespace gemmsmith::cli {

// Starts to listen to SIGINT and SIGTERM. The flag is set by the first of them.
const std::atomic<bool>& interrupt_flag();
inline bool interrupted() { return interrupt_flag().load(); }

}  // namespace gemmsmith::cli
