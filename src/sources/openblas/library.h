// The library opened at run time, with the few functions that are used. Prototypes are those of CBLAS (Netlib) with
// 32-bit integers, so that no header is needed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "sources/openblas/openblas_source.h"
#include "support/dynamic_library.h"

namespace gemmsmith::openblas {

enum CblasOrder : int { kRowMajor = 101 };
enum CblasTranspose : int { kPlain = 111, kTransposed = 112 };

using Sgemm = void(CblasOrder, CblasTranspose a, CblasTranspose b, int m, int n, int k, float alpha, const float* pa,
                   int lda, const float* pb, int ldb, float beta, float* pc, int ldc);
using Sgemv = void(CblasOrder, CblasTranspose a, int m, int n, float alpha, const float* pa, int lda, const float* x,
                   int incx, float beta, float* y, int incy);
// bf16 in, f32 out; only in builds with BUILD_BFLOAT16.
using Sbgemm = void(CblasOrder, CblasTranspose a, CblasTranspose b, int m, int n, int k, float alpha,
                    const uint16_t* pa, int lda, const uint16_t* pb, int ldb, float beta, float* pc, int ldc);

// Never unloaded: it has threads of its own. Its number of threads is one setting for the process.
class Library {
 public:
  // Opens it with the environment that the options ask for, which is put back afterwards. A library that cannot be used
  // gives a Library that says why in usable().
  static std::shared_ptr<const Library> open(const DeviceFacts&, const OpenBlasOptions&);

  const std::string& version() const { return version_; }  // "0.3.21 Cooperlake"; "not found"
  const Supports& usable() const { return usable_; }
  void set_threads(int threads) const;  // if it has another number now

  Sgemm* sgemm = nullptr;
  Sgemv* sgemv = nullptr;
  Sbgemm* sbgemm = nullptr;  // null: this build has none

 private:
  Status load(const DeviceFacts&, const OpenBlasOptions&);

  std::string version_ = "not found";
  Supports usable_;
  void (*set_num_threads_)(int) = nullptr;
  int (*get_num_threads_)() = nullptr;
};

}  // namespace gemmsmith::openblas
