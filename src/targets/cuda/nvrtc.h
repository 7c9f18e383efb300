// The NVRTC library, opened at run time.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/result.h"
#include "support/dynamic_library.h"

namespace gemmsmith {

struct NvrtcOutput {
  std::string cubin;  // empty if the program was refused
  std::string log;
};

// May be used by several threads at once.
class Nvrtc {
 public:
  // The first of its names in the first of the folders; "" stands for the loader's own search.
  static Result<Nvrtc> open(const std::vector<std::string>& folders);
  const std::string& version() const { return version_; }  // "13.0"
  // Errors: NVRTC itself does not work. A program that does not compile leaves its reasons in the log.
  Result<NvrtcOutput> compile(const std::string& program, const std::vector<std::string>& options) const;

 private:
  explicit Nvrtc(DynamicLibrary library) : library_(std::move(library)) {}
  Status bind();

  // nvrtc.h of the CUDA toolkit; a result of 0 is success.
  using Program = struct OpaqueProgram*;
  struct Functions {
    int (*version)(int* major, int* minor);
    int (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*);
    int (*compile)(Program, int options, const char* const*);
    int (*log_size)(Program, size_t*);
    int (*log)(Program, char*);
    int (*cubin_size)(Program, size_t*);
    int (*cubin)(Program, char*);
    int (*destroy)(Program*);
  };
  DynamicLibrary library_;
  Functions call_ = {};
  std::string version_;
};

}  // namespace gemmsmith
