#include "sources/sources_under_test.h"

#include "sources/native/native_source.h"
#include "sources/onednn/onednn_source.h"
#include "sources/openblas/openblas_source.h"
#include "sources/reference/reference_source.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cpu/describe.h"

namespace gemmsmith {

const DeviceFacts& device_under_test() {
  static const DeviceFacts facts = describe_cpu(host_probe()).value();
  return facts;
}

// One for all tests: its kernels must not outlive it.
Target* target_under_test() {
  static const std::unique_ptr<Target> target = [] {
    auto made = make_cpu_target({.threads = 2, .measure_peaks = false});
    return made.ok() ? std::move(made).value() : nullptr;
  }();
  return target.get();
}

std::vector<std::unique_ptr<Source>> sources_under_test() {
  OpenBlasOptions openblas;
  openblas.allow_slow_core = true;  // slow kernels are as right as fast ones
  std::vector<std::unique_ptr<Source>> sources;
  if (target_under_test()) sources.push_back(make_native_source(*target_under_test()));
  sources.push_back(make_openblas_source(device_under_test(), openblas));
  sources.push_back(make_onednn_source());
  sources.push_back(make_reference_source());
  return sources;
}

}  // namespace gemmsmith
