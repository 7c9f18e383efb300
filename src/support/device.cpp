#include "gemmsmith/device.h"

#include "support/text.h"

namespace gemmsmith {

// cores and memory_bytes are left out: a kernel's choice depends on the threads that it runs on, and free memory varies
// from one container to the next. Measured peaks are left out because they vary from run to run.
std::string DeviceFacts::fingerprint() const {
  return concat(kind, " | ", vendor, " | ", model, " | ", join(features, ","), " | threads=", threads,
                " vector_bytes=", vector_bytes, " l1=", l1_bytes, " l2=", l2_bytes, " last_level=", last_level_bytes);
}

}  // namespace gemmsmith
