// The `hw` dialect: hardware operations that upstream dialects cannot say well. Each has three homes: this file with its
// verifier, targets/cuda (PTX) and targets/simulator (semantics). tests/targets/hw_test.cpp fails when one is missing.
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hw_Dialect : Dialect {
  let name = "hw";
  let cppNamespace = "::gemmsmith::hw";
  let useDefaultAttributePrinterParser = 1;
}

class Hw_Op<string mnemonic, list<Trait> traits = []> : Op<Hw_Dialect, mnemonic, traits>;

// Element types of wgmma's operands, named as PTX names them.
def Hw_MmaType : I32EnumAttr<"MmaType", "element type of a tensor-core operand", [
    I32EnumAttrCase<"f16", 0>, I32EnumAttrCase<"bf16", 1>, I32EnumAttrCase<"tf32", 2>, I32EnumAttrCase<"e4m3", 3>,
    I32EnumAttrCase<"e5m2", 4>, I32EnumAttrCase<"s8", 5>, I32EnumAttrCase<"u8", 6>]> {
  let cppNamespace = "::gemmsmith::hw";
  let genSpecializedAttr = 0;
}
def Hw_MmaTypeAttr : EnumAttr<Hw_Dialect, Hw_MmaType, "mma_type">;

// How far an arrival or a wait orders memory.
def Hw_Scope : I32EnumAttr<"Scope", "scope of a memory order", [
    I32EnumAttrCase<"cta", 0>, I32EnumAttrCase<"cluster", 1>, I32EnumAttrCase<"gpu", 2>]> {
  let cppNamespace = "::gemmsmith::hw";
  let genSpecializedAttr = 0;
}
def Hw_ScopeAttr : EnumAttr<Hw_Dialect, Hw_Scope, "scope">;

def Hw_CacheHint : I32EnumAttr<"CacheHint", "what caches do with a line once it was read", [
    I32EnumAttrCase<"normal", 0>, I32EnumAttrCase<"evict_first", 1>, I32EnumAttrCase<"evict_last", 2>]> {
  let cppNamespace = "::gemmsmith::hw";
  let genSpecializedAttr = 0;
}
def Hw_CacheHintAttr : EnumAttr<Hw_Dialect, Hw_CacheHint, "cache_hint">;

def Hw_SharedPointer : Type<CPred<"::gemmsmith::hw::is_pointer($_self, 3)">, "pointer into the CTA's shared memory">;
def Hw_ClusterPointer : Type<CPred<"::gemmsmith::hw::is_pointer($_self, 7)">, "pointer into a cluster's shared memory">;
def Hw_GlobalPointer : Type<CPred<"::gemmsmith::hw::is_pointer($_self, 1)">, "pointer into global memory">;

def Hw_WgmmaBlockOp : Hw_Op<"wgmma_block", [AttrSizedOperandSegments]> {
  let summary = "All wgmmas of one k-block, fenced and committed as one group.";
  let description = [{
    wgmma.fence, then |a_k_steps| x |a_mn_steps| instructions of m64 x n x 32 bytes of k, then commit_group. Upstream has
    one op per instruction with the accumulators in a struct and a constant scale-d, which makes the first k-block peel.

    `accumulators` are the fragments of the |a_mn_steps| instructions along m, one after the other, n/2 registers each:
    f32, or i32 for 8-bit integers. When `accumulate` is false the first step along k overwrites them. A is the shared
    memory that `descriptor_a` and the steps name, or `registers_a`: four i32 for each step along k and instruction
    along m, in that order. Steps are bytes. Results are in flight until an hw.wgmma_wait covers the group.
  }];
  let arguments = (ins Variadic<AnyTypeOf<[F32, I32]>>:$accumulators, Optional<I64>:$descriptor_a,
                       Variadic<I32>:$registers_a, I64:$descriptor_b, I1:$accumulate, I32Attr:$n,
                       Hw_MmaTypeAttr:$type_a, Hw_MmaTypeAttr:$type_b, BoolAttr:$mn_major_a, BoolAttr:$mn_major_b,
                       DenseI64ArrayAttr:$a_mn_steps, DenseI64ArrayAttr:$a_k_steps, DenseI64ArrayAttr:$b_k_steps);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let hasVerifier = 1;
}

def Hw_WgmmaWaitOp : Hw_Op<"wgmma_wait"> {
  let summary = "Waits until at most `pending` groups are in flight; ties what may be read afterwards to the wait.";
  let arguments = (ins Variadic<AnyTypeOf<[F32, I32]>>:$accumulators, I32Attr:$pending);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let hasVerifier = 1;
}

def Hw_MbarrierWaitOp : Hw_Op<"mbarrier_wait"> {
  let summary = "Waits until the phase with this parity is complete; acquires at `scope`.";
  let description = "Upstream's loop has no scope: what other CTAs of the cluster wrote needs `cluster`.";
  let arguments = (ins Hw_SharedPointer:$barrier, I32:$parity, Hw_ScopeAttr:$scope);
  let hasVerifier = 1;
}

def Hw_MbarrierArriveRemoteOp : Hw_Op<"mbarrier_arrive_remote"> {
  let summary = "Arrives on a barrier of any CTA of the cluster; releases at `scope`.";
  let description = [{
    With scope `cta` the arrival hands nothing over that was written through the cluster: enough to give a stage back, and
    without the fence of the whole GPU that upstream's cluster scope costs at every arrival.
  }];
  let arguments = (ins Hw_ClusterPointer:$barrier, Hw_ScopeAttr:$scope);
  let hasVerifier = 1;
}

def Hw_StoreAsyncOp : Hw_Op<"store_async"> {
  let summary = "st.async: stores into another CTA's shared memory and counts the bytes on a barrier there.";
  let arguments = (ins AnyTypeOf<[I32, F32, I64]>:$value, Hw_ClusterPointer:$destination, Hw_ClusterPointer:$barrier);
}

def Hw_LoadGlobalOp : Hw_Op<"load_global"> {
  let summary = "ld.global.nc of 4, 8 or 16 bytes with a cache hint: what is read once need not stay.";
  let description = "The kernel may not write what it reads: the load goes through the read-only path.";
  let arguments = (ins Hw_GlobalPointer:$address, Hw_CacheHintAttr:$hint);
  let results = (outs Variadic<I32>:$words);
  let hasVerifier = 1;
}

class Hw_ApproximateOp<string mnemonic> : Hw_Op<mnemonic, [Pure]> {
  let arguments = (ins F32:$x);
  let results = (outs F32:$result);
}
def Hw_TanhOp : Hw_ApproximateOp<"tanh"> {
  let summary = "tanh.approx.f32: relative error 2^-11, one instruction.";
}
def Hw_Exp2Op : Hw_ApproximateOp<"exp2"> {
  let summary = "ex2.approx.f32: relative error 2^-22, one instruction.";
}
