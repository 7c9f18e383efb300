// oneDNN (libdnnl.so.2): its matmul primitive on operands as they lie in memory. Found at run time; its header is
// needed when this is built, and without it the source refuses and says so.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sources/source.h"

namespace gemmsmith {

struct OneDnnOptions {
  std::vector<std::string> library_names = {"libdnnl.so.2"};
};

// Opens the library; changes and restores environment variables meanwhile, so no other thread may read them then.
std::unique_ptr<Source> make_onednn_source(const OneDnnOptions& = {});

}  // namespace gemmsmith
