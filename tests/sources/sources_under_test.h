// The sources that the conformance suite runs on. Adding a source is a line in the .cpp.
#pragma once
#include <memory>
#include <vector>

#include "sources/source.h"

namespace gemmsmith {

const DeviceFacts& device_under_test();  // this machine's CPU, peaks not measured
std::vector<std::unique_ptr<Source>> sources_under_test();

}  // namespace gemmsmith
