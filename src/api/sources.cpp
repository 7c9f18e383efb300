#include "api/state.h"
#include "sources/native/native_source.h"
#include "sources/onednn/onednn_source.h"
#include "sources/openblas/openblas_source.h"
#include "sources/reference/reference_source.h"

namespace gemmsmith {

namespace {

// One line a source. Ties are decided for the earlier one; the reference is the last resort.
using Kernels = std::shared_ptr<KernelCache>;
constexpr SourceMaker kSources[] = {
    {"native", [](Target& target, const Kernels& kernels) { return make_native_source(target, {.cache = kernels}); }},
    {"openblas", [](Target& target, const Kernels&) { return make_openblas_source(target.facts()); }},
    {"onednn", [](Target&, const Kernels&) { return make_onednn_source({}); }},
    {"reference", [](Target&, const Kernels&) { return make_reference_source(); }},
};

}  // namespace

std::span<const SourceMaker> source_makers() { return kSources; }

}  // namespace gemmsmith
