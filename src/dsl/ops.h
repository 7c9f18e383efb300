// The raw level: one function per operation, on staged values. Tensors and the builder are written on top of this.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dsl/staged.h"
#include "gemmsmith/result.h"
#include "ir/kernel_ir.h"

namespace gemmsmith {

enum class Machine : uint8_t { cpu, gpu };

// What a kernel is recorded for.
struct RecordOptions {
  int vector_bytes = 64;                   // of a vector register
  int index_bits = 64;                     // of an Int: 64 on a CPU, 32 on a GPU
  std::vector<std::string> features = {};  // of the CPU, as in DeviceFacts: "avx512_bf16"
  // Indices that are trusted otherwise (of slices and tiles, and where an access is not masked) are compared with the
  // extent; one outside calls `void gs_bounds_trap(int64_t line)` with the author's line. For tests.
  bool check_bounds = false;
  // A GPU's kernel is a function of its parameters, not of an array of them; its memory is in address spaces, vectors in
  // memory are aligned to their size, and there are no masked accesses.
  Machine machine = Machine::cpu;
};

// The recording of one kernel: on a CPU, a function void(const int64_t* arguments). There is one per thread at a time, and staged
// operators find it by themselves.
struct Recording;
class Recorder {
 public:
  Recorder(IrContext& context, const std::string& name, const RecordOptions& options, Where at);
  ~Recorder();  // whatever finish() did not hand over is freed
  Recorder(const Recorder&) = delete;
  Result<KernelIr> finish(KernelSignature signature);

 private:
  Recording* recording_;
};

namespace op {

// Reports a mistake of the kernel's author. The first one counts; once there is one, operations record nothing and give
// values that can be computed with. `at` is replaced by the line of the Scope that is open.
void fail(const Where& at, std::string given, std::string limit, std::string remedy = {});
void fail(const Where& at, Error error);  // from a layer below; its `where` becomes a note
bool is_recording();                      // on this thread
bool failed();
const RecordOptions& options();
bool has_feature(const std::string& name);
bool checks_bounds();  // false outside a recording

// Arguments of the kernel, loaded at its entry wherever this is called.
Scalar pointer_argument();
Int int_argument();
Offset offset_argument();
Vec scalar_argument();  // a double, narrowed to f32

Offset late_offset();  // a number that is known at the end
void set_late_offset(const Offset&, int64_t n);

Scalar advance(const Scalar& pointer, const Offset& bytes);
Scalar mask(Int lanes_that_exist, int lanes);  // may be negative: none
// `alignment` 0: the element's size, or on a GPU the vector's.
Vec load(const Scalar& pointer, Kind, int lanes, const std::optional<Scalar>& mask, int alignment = 0);
void store(const Scalar& pointer, const Vec&, const std::optional<Scalar>& mask, int alignment = 0);
void prefetch(const Scalar& pointer);
// In check_bounds mode: traps unless `inside`. What is known to be outside is refused while staging in every mode.
void check(const Bool& inside, const std::string& given, const std::string& limit, const Where& at);
// A call of an LLVM intrinsic without side effects.
Vec intrinsic(const char* name, Kind, int lanes, const std::vector<Vec>& operands);

}  // namespace op
}  // namespace gemmsmith
