// Compiles recorded kernels and runs them, so that tests compare what kernels compute. The plainest way there is: no
// targets, no cache; parallel parts run one after the other.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/kernel_ir.h"

namespace gemmsmith::test {

// What a kernel's arguments are bound to.
struct Binding {
  std::map<std::string, const void*> pointers = {};
  std::map<std::string, int64_t> row_strides = {}, column_strides = {}, batch_strides = {}, extents = {};
  std::map<std::string, double> scalars = {};
  int64_t cores = 1;
};

class Jit {
 public:
  // `features` is what the code generator may use of the CPU: "" for all of this one, else a list such as
  // "+avx2,+fma,-avx512f".
  explicit Jit(const std::string& features = "", bool keep_assembly = false);
  ~Jit();
  // An error text, or nothing: MLIR's verifier has passed before and after lowering.
  std::string load(const KernelIr&);
  void run(const KernelSignature&, const Binding&);
  const std::vector<int64_t>& trapped_lines() const;  // of gs_bounds_trap() in the last run
  const std::string& assembly() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The names of instruction sets of this CPU as recordings use them: "avx512_bf16".
std::vector<std::string> host_features();
int host_vector_bytes();  // 64 with AVX-512, else 32

}  // namespace gemmsmith::test
