#include "gemmsmith/worker.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/state.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/worker_server.h"
#include "tuner/worker_status.h"

namespace gemmsmith {
namespace {

// What a worker's device lives in.
struct Opened {
  SystemClock clock;
  std::unique_ptr<Target> target;
  std::shared_ptr<KernelCache> kernels;
  std::vector<std::unique_ptr<Source>> sources;
};

Result<WorkerDevice> open_for_tuner(const OpenRequest& request, const std::function<void(int)>& opening) {
  auto opened = std::make_shared<Opened>();
  DeviceOptions options{.threads = request.threads, .measure_peaks = false, .kernel_cache = {}, .warn = {}};
  if (!request.kernel_cache.empty()) options.kernel_cache = request.kernel_cache;
  GS_TRY(opened->target, open_target(request.device, options));
  opened->kernels = open_kernel_cache(options);
  WorkerDevice device;
  device.facts = opened->target->facts();
  int place = 0;
  for (const SourceMaker& maker : source_makers()) {
    if (std::find(request.without.begin(), request.without.end(), maker.name) != request.without.end()) continue;
    opening(place++);
    opened->sources.push_back(maker.make(*opened->target, opened->kernels));
    device.sources.push_back(opened->sources.back().get());
  }
  device.stage = make_host_stage(opened->clock);
  device.keeps = opened;
  return device;
}

}  // namespace

bool is_worker(int argc, const char* const* argv) { return argc == 2 && std::strcmp(argv[1], kWorkerArgument) == 0; }
int serve_worker() { return serve_worker_process(open_for_tuner); }
std::string this_program() { return "/proc/self/exe"; }

std::string installed_worker() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&is_worker), &info) == 0 || !info.dli_fname) return {};
  const std::string folder = parent_of(info.dli_fname);
  for (const char* place : {"/gemmsmith", "/../bin/gemmsmith", "/../../bin/gemmsmith"})
    if (const std::string path = folder + place; file_exists(path) && ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

}  // namespace gemmsmith
