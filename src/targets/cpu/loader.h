// Objects -> callable code, through LLVM's ORC JIT.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "gemmsmith/result.h"

namespace gemmsmith {

using KernelEntry = void (*)(const int64_t* arguments);

// Code of one object; freed when destroyed. The loader has to outlive it.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  KernelEntry entry() const { return entry_; }

 protected:
  KernelEntry entry_ = nullptr;
};

// Each object has names of its own and sees the run time (parallel.h), memcpy, memmove, memset and the usual functions
// of libm: nothing else of the process. May be used by several threads at once.
class Loader {
 public:
  static Result<std::unique_ptr<Loader>> create();
  virtual ~Loader() = default;
  // Errors: not an x86-64 object, a symbol that nothing defines, no function `entry`. Objects may come from a cache of
  // another build, so none of this is taken for granted.
  virtual Result<std::unique_ptr<LoadedCode>> load(const std::string& object, const std::string& entry) = 0;
};

}  // namespace gemmsmith
