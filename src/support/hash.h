// A stable 128-bit hash for keys and file names: the same on every machine and in every version. Not for adversaries.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gemmsmith {

// FNV-1a with 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv). Parts are framed by length: "ab" "c" is not "a" "bc".
class Hash {
 public:
  Hash& add(std::string_view text) {
    add(int64_t(text.size()));
    return add_bytes(text);
  }
  Hash& add(std::integral auto number) {
    for (int byte = 0; byte < 8; ++byte) add_byte(uint8_t(uint64_t(int64_t(number)) >> (8 * byte)));
    return *this;
  }
  // Unframed: for content that is hashed alone.
  Hash& add_bytes(std::string_view bytes) {
    for (const char c : bytes) add_byte(uint8_t(c));
    return *this;
  }

  uint64_t low64() const { return uint64_t(state_); }
  std::string hex() const {  // 32 digits
    std::string digits(32, '0');
    for (int i = 0; i < 32; ++i) digits[size_t(i)] = "0123456789abcdef"[unsigned(state_ >> (4 * (31 - i))) & 15u];
    return digits;
  }

 private:
  __extension__ using Word = unsigned __int128;
  static constexpr Word wide(uint64_t high, uint64_t low) { return (Word(high) << 64) | low; }
  void add_byte(uint8_t byte) { state_ = (state_ ^ byte) * wide(0x0000000001000000, 0x000000000000013b); }

  Word state_ = wide(0x6c62272e07bb0142, 0x62b821756295c58d);
};

inline std::string hash_hex(std::string_view bytes) { return Hash().add_bytes(bytes).hex(); }

}  // namespace gemmsmith
