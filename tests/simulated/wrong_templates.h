// The templates of Hopper, each as its author would write it on a bad day.
#pragma once
#include <string_view>

#include "gemmsmith/problem.h"
#include "ir/kernel_ir.h"

namespace gemmsmith::test {

// `mistake` names the one thing that is wrong; "" is the right kernel. Signatures are those of the templates with the same
// operands. Tiles of 128 x 64 x 64 (ping-pong and split-K: 64 x 64 x 64), three stages, two consumers (split-K: one, and
// clusters of two along K).
Result<KernelIr> wrong_warp_specialized(IrContext&, const GemmProblem&, std::string_view mistake);
Result<KernelIr> wrong_ping_pong(IrContext&, const GemmProblem&, std::string_view mistake);
Result<KernelIr> wrong_split_k_cluster(IrContext&, const GemmProblem&, std::string_view mistake);

}  // namespace gemmsmith::test
