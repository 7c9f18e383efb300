// The state of a recording, for the translation units that include MLIR.
//
// Every operation goes through numbered(): the same operation on the same operands in the same or an enclosing block
// that is still open is the same value, so that templates may compute an address or load a row wherever they need it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/ops.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace gemmsmith {

// What makes two operations the same.
struct OpKey {
  const void* operation;  // mlir::TypeID, or the address of a name
  int64_t attribute;      // predicate, constant offset, ...
  Kind kind;              // of the result
  int lanes;
  std::vector<const void*> operands;
  std::vector<int64_t> more;  // lanes of a shuffle
  friend bool operator==(const OpKey&, const OpKey&) = default;
};
struct OpKeyHash {
  size_t operator()(const OpKey&) const;
};

struct Recording {
  Recording(mlir::MLIRContext* context, const std::string& name, const RecordOptions& options, const Where& at);
  ~Recording();

  mlir::OpBuilder b;
  RecordOptions options;
  Where where;  // the author's line that is being recorded, and how MLIR says it
  mlir::Location loc;
  int scopes = 0;
  mlir::Type i64, index_type, pointer;
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Operation* last_argument = nullptr;
  int arguments = 0, parts = 0, tensor_maps = 0;
  bool gpu() const { return options.machine == Machine::gpu; }
  std::optional<Error> error;

  // Blocks that are being recorded, outermost first. All but the first are detached until their loop or branch is made.
  struct OpenBlock {
    mlir::Block* block;
    size_t function;  // index of the block that is its function's entry
    std::unordered_map<OpKey, mlir::Value, OpKeyHash> values;
    std::map<std::pair<std::pair<int, int>, std::pair<int64_t, int64_t>>, mlir::Value>
        constants;  // of a function's entry
  };
  std::vector<OpenBlock> open;
  int64_t stores = 0;  // so far: loads between two of them are the same
  std::vector<mlir::Block*> detached;

  std::vector<VarBase*> vars;  // alive, oldest first
  using Values = std::vector<std::vector<Scalar>>;
  Values values() const;  // of all live Vars
  struct Frame {          // a loop that is being recorded
    mlir::Block* body;
    std::vector<VarBase*> vars;
    Values before;
  };
  std::vector<Frame> loops;
  bool in_parallel = false;
  Scalar open_loop(bool parallel);  // its index
  void close_loop(Int lo, Int hi, Int step, const Where&);
  void close_parallel(Int count, const Where&);
  // Isolated branches keep their assignments to themselves: roles.
  void branch(const Bool& condition, const std::function<void()>& then, const std::function<void()>& otherwise,
              bool isolated = false);
  std::vector<size_t> roles;  // indices in `open` of the isolated branches
  bool loop_can_close(const Frame&, const Where&);
  mlir::LLVM::LLVMFuncOp declare(const char* name,
                                 mlir::ArrayRef<mlir::Type> parameters);  // a C function without result

  void fail(const Where& at, Error);
  mlir::Block* open_block(bool function);  // a new detached one, recorded into from now on
  void close_block();                      // goes on in the enclosing one
  void attach(mlir::Block*, mlir::Region&);
  void discard(mlir::Block*);
  bool still_alive(const std::vector<VarBase*>&) const;

  // bf16 is i16 in the IR: no CPU computes in it, and where LLVM keeps a bf16 value across blocks without native
  // support it widens it and narrows it again through a library call. Dot products cast their operands.
  mlir::Type type_of(Kind, int lanes = 1);
  mlir::Type type_of(const Scalar& x) { return type_of(x.kind, x.lanes); }
  mlir::Location location(const Where&);
  mlir::Value get(const Scalar&);            // null after a failure
  mlir::Value pointer_value(const Scalar&);  // an address in shared memory becomes a pointer
  mlir::Value constant(Kind, int lanes, int64_t integer, double real);
  Scalar placeholder(Kind kind, int lanes) { return {kind, lanes, nullptr, 0, 0}; }
  Scalar wrap(Kind kind, int lanes, mlir::Value v) { return {kind, lanes, v.getAsOpaquePointer(), 0, 0}; }

  Scalar numbered(OpKey, llvm::function_ref<mlir::Value()> create, bool this_block_only = false);

  // An operation without attributes whose operands decide its type.
  template <class Op, class... V>
  Scalar pure(Kind kind, int lanes, V... operands) {
    OpKey key{mlir::TypeID::get<Op>().getAsOpaquePointer(), 0, kind, lanes, {operands.getAsOpaquePointer()...}, {}};
    return numbered(std::move(key), [&]() -> mlir::Value { return Op::create(b, loc, operands...); });
  }
  // One whose type is said.
  template <class Op, class... V>
  Scalar pure_to(Kind kind, int lanes, V... operands) {
    OpKey key{mlir::TypeID::get<Op>().getAsOpaquePointer(), 0, kind, lanes, {operands.getAsOpaquePointer()...}, {}};
    return numbered(std::move(key),
                    [&]() -> mlir::Value { return Op::create(b, loc, type_of(kind, lanes), operands...); });
  }

  // Records at the author's line unless a Scope has already said which it is.
  struct AtLine {
    explicit AtLine(Recording& r, const Where& at) : r(r), where(r.where), loc(r.loc) {
      if (r.scopes) return;
      r.where = at;
      r.loc = r.location(at);
    }
    ~AtLine() { r.where = where, r.loc = loc; }
    Recording& r;
    Where where;
    mlir::Location loc;
  };
};

// The recording of this thread. Only what works without one may ask `has_recording()` first.
Recording& recording();
bool has_recording();

}  // namespace gemmsmith
