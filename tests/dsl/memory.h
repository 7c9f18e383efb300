// Matrices whose last element ends at a page that cannot be touched, so that a kernel which reads or writes one byte
// too many stops the test.
#pragma once
#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "gemmsmith/data_type.h"
#include "gemmsmith/layout.h"

namespace gemmsmith::test {

inline uint16_t bf16_bits(float f) {  // to nearest, ties to even
  const uint32_t u = std::bit_cast<uint32_t>(f);
  if (f != f) return uint16_t(u >> 16 | 0x40);
  return uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
inline float bf16_value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) {
    const size_t page = 4096;
    size_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + size_ - page, page, PROT_NONE);
    data_ = base_ + size_ - page - bytes;
  }
  ~GuardedMemory() { munmap(base_, size_); }
  GuardedMemory(const GuardedMemory&) = delete;
  uint8_t* data() const { return data_; }
  // What lies before the data, up to the start of its page.
  uint8_t* begin() const { return base_; }

 private:
  size_t size_ = 0;
  uint8_t *base_ = nullptr, *data_ = nullptr;
};

// batch x rows x columns elements with `pad` elements between vectors of the contiguous mode.
class Matrix {
 public:
  Matrix(DataType type, int64_t rows, int64_t columns, Major major = Major::row, int64_t pad = 3, int64_t batch = 1)
      : type(type),
        rows(rows),
        columns(columns),
        batch(batch),
        row_stride(major == Major::row      ? columns + pad
                   : major == Major::column ? 1
                                            : 2 * columns + pad),
        column_stride(major == Major::row      ? 1
                      : major == Major::column ? rows + pad
                                               : 2),
        batch_stride(batch > 1 ? rows * columns * 2 + (rows + columns) * (pad + 1) : 0),
        memory_(size_t(std::max<int64_t>(1, empty() ? 1 : at(batch - 1, rows - 1, columns - 1) + 1)) *
                size_t(bytes_of(type))) {
    for (uint8_t* p = memory_.begin(); p < data() + bytes(); ++p) *p = 0xff;  // NaN in every float type
  }
  bool empty() const { return rows == 0 || columns == 0 || batch == 0; }
  int64_t at(int64_t t, int64_t r, int64_t c) const { return t * batch_stride + r * row_stride + c * column_stride; }
  uint8_t* data() const { return memory_.data(); }
  size_t bytes() const {
    return empty() ? 0 : size_t(at(batch - 1, rows - 1, columns - 1) + 1) * size_t(bytes_of(type));
  }

  double get(int64_t t, int64_t r, int64_t c) const {
    const uint8_t* p = data() + at(t, r, c) * bytes_of(type);
    switch (type) {
      case DataType::f32:
        return load<float>(p);
      case DataType::f64:
        return load<double>(p);
      case DataType::bf16:
        return bf16_value(load<uint16_t>(p));
      case DataType::f16:
        return double(load<_Float16>(p));
      case DataType::i8:
        return load<int8_t>(p);
      case DataType::i32:
        return load<int32_t>(p);
    }
    return 0;
  }
  void set(int64_t t, int64_t r, int64_t c, double x) {
    uint8_t* p = data() + at(t, r, c) * bytes_of(type);
    switch (type) {
      case DataType::f32:
        return store(p, float(x));
      case DataType::f64:
        return store(p, x);
      case DataType::bf16:
        return store(p, bf16_bits(float(x)));
      case DataType::f16:
        return store(p, _Float16(x));
      case DataType::i8:
        return store(p, int8_t(x));
      case DataType::i32:
        return store(p, int32_t(x));
    }
  }
  // Whether all bytes that belong to no element are what they were made.
  bool gaps_untouched() const {
    for (const uint8_t* p = memory_.begin(); p < data(); ++p)
      if (*p != 0xff) return false;
    if (empty()) return true;
    std::string inside(bytes(), 0);
    for (int64_t t = 0; t < batch; ++t)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          for (int b = 0; b < bytes_of(type); ++b) inside[size_t(at(t, r, c) * bytes_of(type) + b)] = 1;
    for (size_t i = 0; i < bytes(); ++i)
      if (!inside[i] && data()[i] != 0xff) return false;
    return true;
  }

  DataType type;
  int64_t rows, columns, batch, row_stride, column_stride, batch_stride;

 private:
  template <class T>
  static T load(const uint8_t* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  template <class T>
  static void store(uint8_t* p, T x) {
    std::memcpy(p, &x, sizeof x);
  }
  GuardedMemory memory_;
};

}  // namespace gemmsmith::test
