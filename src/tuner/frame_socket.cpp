#include "tuner/frame_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int kPatienceMs = 5000;  // for an end that does not read

// Room for one file in a message.
union Control {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

Error gone(const char* what) { return Error{"worker", "its connection", what, {}, {}}; }

}  // namespace

Result<std::pair<FrameSocket, FileDescriptor>> FrameSocket::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{"worker", "a connection to it", concat("cannot be made: ", std::strerror(errno)), {}, {}};
  return std::pair(FrameSocket(FileDescriptor(ends[0])), FileDescriptor(ends[1]));
}

Status FrameSocket::send(const Frame& frame, int file) {
  const std::string bytes = encode(frame);
  for (size_t sent = 0; sent < bytes.size();) {
    iovec part{const_cast<char*>(bytes.data()) + sent, bytes.size() - sent};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    Control control{};
    if (file >= 0 && sent == 0) {
      message.msg_control = control.bytes.data();
      message.msg_controllen = control.bytes.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    const ssize_t count = ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += size_t(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return gone("is closed");
    pollfd room{socket_.number(), POLLOUT, 0};
    if (::poll(&room, 1, kPatienceMs) == 0) return gone("is full: nobody reads it");
  }
  return Done{};
}

Status FrameSocket::read() {
  std::array<char, 65536> buffer;
  for (;;) {
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    Control control{};
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t count = ::recvmsg(socket_.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Done{};
    if (count <= 0) return gone("is closed");
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(header), sizeof file);
      file_ = FileDescriptor(file);
    }
    reader_.add({buffer.data(), size_t(count)});
    if (size_t(count) < buffer.size()) return Done{};
  }
}

}  // namespace gemmsmith
