// What the functions that lower operations share. Included by the translation units of the lowering only.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "ir/hw.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "targets/simulator/lower.h"
#include "targets/simulator/runtime/entries.h"

namespace gemmsmith::simulator {

// Lowers one operation after another; `op` is the current one and the builder stands in front of it.
class Lowering {
 public:
  Lowering(mlir::ModuleOp module, mlir::LLVM::LLVMFuncOp kernel, LoweredTables& tables);

  enum class Outcome : uint8_t { replaced, kept, unknown };
  void at(mlir::Operation*);

  mlir::Location loc() const { return op->getLoc(); }
  mlir::Value number(int64_t n);
  template <class Enum>
  mlir::Value number_of(Enum e) {
    return number(static_cast<int64_t>(e));
  }
  mlir::Value site();
  mlir::Value generic(mlir::Value pointer);                                           // in address space 0
  mlir::Value as_i32(mlir::Value integer);                                            // i1, i16 and i64 too
  mlir::Value call(const char* entry, std::initializer_list<mlir::Value> arguments);  // behind the site
  mlir::Value call(const char* entry, mlir::ValueRange arguments);
  void replace(mlir::Value v) { op->getResult(0).replaceAllUsesWith(v); }
  // Values in memory of the fiber's frame, at the entry: a stack must not grow in a loop.
  // One operation's buffers have different slots; those of others may be the same memory.
  mlir::Value buffer(mlir::Type element, int64_t n, int slot = 0);
  mlir::Value buffer_of(mlir::ValueRange values, int slot = 0);
  llvm::SmallVector<mlir::Value> loaded(mlir::Value buffer, mlir::Type element, int64_t n);
  mlir::Value tuple_of(mlir::Type type, mlir::ValueRange values);  // a struct, or the only value itself

  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp kernel;
  LoweredTables& tables;
  mlir::OpBuilder b;
  mlir::Operation* op = nullptr;
  mlir::LLVM::LLVMPointerType pointer;
  mlir::Type i1, i16, i32, i64, f32;

 private:
  std::map<std::string, mlir::Value> buffers_;  // by size and type: operations do not overlap in a thread
  std::map<std::string, int> sites_;
};

// Each lowers the operations of its kind, or says that it does not know one.
Lowering::Outcome lower_threads(Lowering&);  // registers, barriers, warps
Lowering::Outcome lower_copies(Lowering&);   // TMA, bulk copies, cp.async
Lowering::Outcome lower_mma(Lowering&);      // tensor cores
Lowering::Outcome lower_memory(Lowering&);   // loads, stores, atomics, conversions

}  // namespace gemmsmith::simulator
