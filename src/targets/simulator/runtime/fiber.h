// Switching between the fibers of simulated threads: boost.context's fcontext, a few nanoseconds (ucontext takes two system calls).
// AddressSanitizer is told of each switch, so that the tests run under it.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace gemmsmith::simulator::fiber {

namespace context = boost::context::detail;

#if defined(__SANITIZE_ADDRESS__)
inline void before_switch(const void* stack_bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(nullptr, stack_bottom, bytes);
}
// Gives the bounds of the stack that was left.
inline void after_switch(const void** left_bottom, size_t* left_bytes) {
  __sanitizer_finish_switch_fiber(nullptr, left_bottom, left_bytes);
}
// A new fiber on a used stack: frames that never returned have left red zones there.
inline void reset_stack(const void* bottom, size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }
#else
inline void before_switch(const void*, size_t) {}
inline void after_switch(const void**, size_t*) {}
inline void reset_stack(const void*, size_t) {}
#endif

}  // namespace gemmsmith::simulator::fiber
