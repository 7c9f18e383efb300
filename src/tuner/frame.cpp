#include "tuner/frame.h"

#include <algorithm>

#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kMagic = "gsw1";
constexpr size_t kHeaderBytes = 20;

void append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
}

uint64_t number_at(std::string_view bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= uint64_t(static_cast<unsigned char>(bytes[at + size_t(i)])) << (8 * i);
  return value;
}

}  // namespace

std::string encode(const Frame& frame) {
  std::string out(kMagic);
  append(out, frame.text.size(), 4);
  append(out, frame.request, 8);
  append(out, uint64_t(frame.kind), 4);
  return out + frame.text;
}

Result<std::optional<Frame>> FrameReader::next() {
  const size_t known = std::min(buffer_.size(), kMagic.size());
  if (std::string_view(buffer_).substr(0, known) != kMagic.substr(0, known))
    return Error{"worker", concat(buffer_.size(), " bytes"), "are no message of the protocol gsw1", {}, {}};
  if (buffer_.size() < kHeaderBytes) return std::optional<Frame>();
  const uint64_t size = number_at(buffer_, 4, 4), kind = number_at(buffer_, 16, 4);
  if (int64_t(size) > kLargestFrame || kind < uint64_t(FrameKind::open) || kind > uint64_t(FrameKind::device_lost))
    return Error{"worker",
                 concat("a message of kind ", int64_t(kind), " and ", int64_t(size), " bytes"),
                 "is none of the protocol gsw1",
                 {},
                 {}};
  if (buffer_.size() < kHeaderBytes + size) return std::optional<Frame>();
  Frame frame{FrameKind(kind), number_at(buffer_, 8, 8), buffer_.substr(kHeaderBytes, size)};
  buffer_.erase(0, kHeaderBytes + size);
  return std::optional<Frame>(std::move(frame));
}

}  // namespace gemmsmith
