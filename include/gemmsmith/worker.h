// Worker processes, in which tuning builds and runs candidates (TuneOptions::isolate). A program can be its own worker,
// so that it needs no other program beside it; its first lines are then
//
//   int main(int argc, char** argv) {
//     if (gemmsmith::is_worker(argc, argv)) return gemmsmith::serve_worker();
//     ...
//     options.worker = gemmsmith::this_program();
#pragma once
#include <string>

namespace gemmsmith {

// Whether this process was started by a tuning to be its worker.
bool is_worker(int argc, const char* const* argv);
// Serves the tuning until it is done with this worker; then returns what main() should. To be called before anything
// else is done, by no other process than such a one.
int serve_worker();
// A path that starts the running program once more.
std::string this_program();
// The gemmsmith that is installed with this library, or lies beside the program; empty if there is none.
std::string installed_worker();

}  // namespace gemmsmith
