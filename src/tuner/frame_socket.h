// Frames over a stream socket between two processes of one machine, with files beside them.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "support/child_process.h"
#include "tuner/frame.h"

namespace gemmsmith {

class FrameSocket {
 public:
  explicit FrameSocket(FileDescriptor socket) : socket_(std::move(socket)) {}
  // Two that are connected. Errors: the system has no more files.
  static Result<std::pair<FrameSocket, FileDescriptor>> pair();

  // Waits a few seconds for room. Errors: the other end is gone or does not read.
  Status send(const Frame&, int file = -1);
  // Reads what has arrived, without waiting. Errors: the other end is gone, or sent something that is no frame.
  Status read();
  // The next frame that has arrived whole. Errors as read().
  Result<std::optional<Frame>> next() { return reader_.next(); }
  // The file that came last, once.
  FileDescriptor take_file() { return std::move(file_); }
  bool mid_frame() const { return reader_.mid_frame(); }
  int number() const { return socket_.number(); }

 private:
  FileDescriptor socket_;
  FileDescriptor file_;
  FrameReader reader_;
};

}  // namespace gemmsmith
