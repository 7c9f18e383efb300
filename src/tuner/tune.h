// Tuning with a memory: the stored choice while it holds, a search otherwise.
#pragma once
#include "gemmsmith/store.h"
#include "tuner/search.h"

namespace gemmsmith {

// The stored choice for the problem on this device, if its provenance holds, it is no interrupted one and the options
// do not ask to measure again. Otherwise searches with the stored choice as the incumbent, says in `store_note` why,
// and saves the report if it has a measured winner. `store` may be null. Errors: those of search(), and a store that
// cannot be read; one that cannot be written costs nobody the result, the note says so.
Result<TuneReport> tune_with_store(TuneRequest request, Store* store);

}  // namespace gemmsmith
