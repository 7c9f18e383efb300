// What an assembler prints about a kernel, as data, and what of it a kernel must not have.
#pragma once
#include <string>
#include <string_view>

#include "compiler/target.h"

namespace gemmsmith {

// Reads the log of `ptxas -v`, or what NVRTC prints in the same form. `ptx` is what was assembled: a warning about one of
// its lines gets the line of the template that this came from. What a log does not say stays 0.
KernelResources parse_resources(std::string_view log, std::string_view ptx);

// "gemm_warp_specialized.cpp:39": the last .loc at or before a line of PTX, counted from 1; empty if there is none.
std::string source_of_ptx_line(std::string_view ptx, int64_t line);

// For `emit --stage resources`.
std::string print_resources(const KernelResources&, const KernelSignature&);

// Errors: local memory, registers beyond those of the SM, any warning about wgmma or setmaxnreg; with all of them.
Status check_resources(const KernelResources&, const KernelSignature&);

}  // namespace gemmsmith
