// Messages on the wire between a tuner and its workers: a fixed header, then a text of JSON.
//
//   bytes 0-3 "gsw1"   4-7 size of the text   8-15 number of the request   16-19 kind, all little-endian
//
// A worker runs code that may write anywhere, the socket included. So what arrives is believed only as far as it is
// framed: anything else ends the conversation, and with it the worker.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gemmsmith/result.h"

namespace gemmsmith {

enum class FrameKind : uint32_t {
  // To the worker.
  open = 1,  // a device
  plan,      // what its sources offer for a problem
  begin,     // a problem: kernels of the one before are gone
  operands,  // shared memory with the operands of the problem; brings a file with it
  build,     // a kernel
  skip,      // builds that have not begun
  run,       // a kernel once on the shared operands
  sample,    // the time of a kernel
  drop,      // a kernel; has no answer
  // From the worker.
  done,         // with what was asked for
  failed,       // an error of the library or the kernel: the worker is well
  device_lost,  // an error after which the device is of no more use to this process
};

struct Frame {
  FrameKind kind = FrameKind::done;
  uint64_t request = 0;  // the same in the answer
  std::string text;      // JSON
  friend bool operator==(const Frame&, const Frame&) = default;
};

constexpr int64_t kLargestFrame = int64_t(16) << 20;  // bytes of text: thousands of candidates

std::string encode(const Frame&);

// Frames from a stream of bytes in pieces of any size.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  // The next frame, if all of it is there. Errors: what is there is no frame, and nothing after it can be trusted.
  Result<std::optional<Frame>> next();
  bool mid_frame() const { return !buffer_.empty(); }  // bytes of a frame whose rest has not come

 private:
  std::string buffer_;
};

}  // namespace gemmsmith
