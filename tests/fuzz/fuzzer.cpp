// libFuzzer's entry point. GEMMSMITH_FUZZ_TARGET is one of the functions of targets.h.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gemmsmith::fuzz::GEMMSMITH_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
