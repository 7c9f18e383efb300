// A library opened at run time. One that is absent is a normal answer: the error lists the names tried and why not.
#pragma once
#include <span>
#include <string>

#include "gemmsmith/result.h"

namespace gemmsmith {

// Closes the library when destroyed unless keep_open() was called; move-only.
class DynamicLibrary {
 public:
  // The first of the names that can be opened ("libdnnl.so.2", "libdnnl.so"). Symbols stay local to the library: two
  // BLAS libraries in one process must not answer for each other.
  static Result<DynamicLibrary> open(std::span<const std::string> names);

  DynamicLibrary(DynamicLibrary&&) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&&) noexcept;
  ~DynamicLibrary();

  const std::string& name() const { return name_; }  // as it was opened
  std::string path() const;                          // of the file, as far as the loader tells; else the name
  // The address of a symbol; the error names library and symbol.
  Result<void*> find(const char* symbol) const;
  template <class Function>
  Result<Function*> function(const char* symbol) const {
    GS_TRY(void* address, find(symbol));
    return reinterpret_cast<Function*>(address);
  }
  // Never unload: for libraries with threads or exit handlers of their own.
  void keep_open() { keep_open_ = true; }

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void close();

  void* handle_ = nullptr;
  std::string name_;
  bool keep_open_ = false;
};

}  // namespace gemmsmith
