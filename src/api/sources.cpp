#include "api/state.h"
#include "sources/native/native_source.h"
#include "sources/onednn/onednn_source.h"
#include "sources/openblas/openblas_source.h"
#include "sources/reference/reference_source.h"

namespace gemmsmith {

// One line a source. Ties are decided for the earlier one; the reference is the last resort.
std::vector<std::unique_ptr<Source>> make_sources(Target& target, std::shared_ptr<KernelCache> kernels) {
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(make_native_source(target, {.cache = std::move(kernels)}));
  sources.push_back(make_openblas_source(target.facts()));
  sources.push_back(make_onednn_source({}));
  sources.push_back(make_reference_source());
  return sources;
}

}  // namespace gemmsmith
