// PTX -> cubin, and back to text: programs and libraries of a CUDA toolkit, found at run time.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

// Where to look. Tests name folders of their own.
struct ToolkitPaths {
  std::vector<std::string> programs;   // folders
  std::vector<std::string> libraries;  // folders; "" stands for the loader's own search
};
// $PATH, then the bin (lib64, lib) folders of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda.
ToolkitPaths toolkit_paths();

enum class AssemblerKind { automatic, ptxas, nvrtc, driver };
Result<AssemblerKind> assembler_named(std::string_view);  // "", "ptxas", "nvrtc", "driver"

struct Assembled {
  std::string cubin;  // empty: nobody assembled it here, the driver will
  KernelResources resources;
};

// May be used by several threads at once.
class Assembler {
 public:
  virtual ~Assembler() = default;
  // "ptxas 13.0.88": a part of the keys of stored kernels.
  virtual std::string name() const = 0;
  // `ptx` has one entry, called `kernel`, of this signature. Errors: what the assembler reports.
  virtual Result<Assembled> assemble(const std::string& ptx, const std::string& kernel, const KernelSignature&,
                                     const std::string& arch) const = 0;
  // Why those that would have been taken first are not.
  const std::vector<Error>& passed_over() const { return passed_over_; }

 protected:
  std::vector<Error> passed_over_;
  friend Result<std::unique_ptr<Assembler>> find_assembler(AssemblerKind, const ToolkitPaths&);
};

// The first there is of ptxas, NVRTC used as an assembler, and the driver, which assembles when it loads; or the one asked
// for. nvJitLink is none of them: it ignores setmaxnreg.
Result<std::unique_ptr<Assembler>> find_assembler(AssemblerKind, const ToolkitPaths&);

// The CUDA C++ program of one kernel whose body is the PTX: what NVRTC is given to assemble.
std::string nvrtc_source(std::string_view ptx, const std::string& kernel, const KernelSignature&);

// SASS of a cubin, by nvdisasm or cuobjdump. Errors: neither is there, or what it reports.
Result<std::string> disassemble(std::string_view cubin, const ToolkitPaths&);

}  // namespace gemmsmith
