#include "command.h"

#include <algorithm>
#include <iostream>

#include "gemmsmith/worker.h"
#include "output/text.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

void warn(const Error& reason) {
  std::cerr << tinted("warning:", Tint::yellow, standard_error().style.colour) << " " << reason.text() << std::endl;
}

}  // namespace

void add_device_flags(CLI::App* command, DeviceFlags& flags) {
  command->add_option("--device", flags.device, "Device to run on")->type_name("NAME")->capture_default_str();
  command
      ->add_option("--threads", flags.threads,
                   "Threads that kernels use; all cores that this process may use without it")
      ->type_name("N");
  command
      ->add_option("--kernel-cache", flags.kernel_cache,
                   "Folder of compiled kernels, or none; $GEMMSMITH_CACHE or the user's cache folder without it")
      ->type_name("PATH|none");
}

void add_source_flag(CLI::App* command, DeviceFlags& flags) {
  command->add_option("--sources", flags.sources, "Sources that may offer kernels, as native,openblas; all without it")
      ->type_name("A,B");
}

void add_arch_flag(CLI::App* command, std::string& arch) {
  command->add_option("--arch", arch, "Architecture of a GPU to compile for, which need not be there: sm_90a")
      ->type_name("ARCH")
      ->excludes("--device");
}

void add_isolation_flags(CLI::App* command, IsolationFlags& flags) {
  command->add_flag("--in-process", flags.in_process, "Run candidates in this process: one that crashes ends it");
  command->add_option("--workers", flags.workers, "Worker processes that builds are spread over")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--max-memory", flags.max_memory,
                   "Memory for operands, their copies, the reference and what kernels take")
      ->type_name("SIZE")
      ->capture_default_str();
}

Status set_isolation(const IsolationFlags& flags, TuneOptions& options) {
  options.isolate = !flags.in_process;
  options.worker = this_program();
  options.workers = flags.workers;
  GS_TRY(options.max_memory_bytes, parse_bytes("--max-memory", flags.max_memory));
  return Done{};
}

std::vector<std::string> source_names(const DeviceFlags& flags) { return split(flags.sources, ','); }

std::string cache_line(const KernelCacheReport& report) {
  std::string text = plural(report.hits, "kernel") + " from the cache (" + format_bytes(double(report.found_bytes)) +
                     "), " + std::to_string(report.misses) + " compiled";
  if (report.saved > 0) text += ", " + format_bytes(double(report.saved_bytes)) + " saved";
  if (report.unsaved > 0) text += ", " + std::to_string(report.unsaved) + " could not be saved";
  if (report.damaged > 0) text += ", " + plural(report.damaged, "damaged file");
  return report.hits + report.misses > 0 ? text : std::string();
}

nlohmann::json cache_json(const KernelCacheReport& report) {
  return {{"folders", report.folders},
          {"hits", report.hits},
          {"misses", report.misses},
          {"damaged", report.damaged},
          {"evicted", report.evicted},
          {"saved", report.saved},
          {"unsaved", report.unsaved},
          {"found_bytes", report.found_bytes},
          {"saved_bytes", report.saved_bytes},
          {"kernels", report.kernels},
          {"bytes", report.bytes}};
}

Result<Device> open_device(const DeviceFlags& flags, bool measure_peaks) {
  DeviceOptions options{.threads = flags.threads, .measure_peaks = measure_peaks, .kernel_cache = {}, .warn = warn};
  if (!flags.kernel_cache.empty()) options.kernel_cache = flags.kernel_cache;
  options.simulation = flags.simulation;
  GS_TRY(Device device, Device::open(flags.device, options));
  const std::vector<std::string> known = device.source_names();
  for (const std::string& name : source_names(flags)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::vector<std::string> near = near_names(name, known);
    return Error{"--sources",
                 name,
                 "is not a source",
                 (near.empty() ? "" : "near it: " + join(near, ", ") + "; ") + "known: " + join(known, ", "),
                 {}};
  }
  return device;
}

void add_store_flag(CLI::App* command, std::string& store) {
  command->add_option("--store", store, "File of stored decisions, or none; " + Store::default_path() + " without it")
      ->type_name("PATH|none");
}

Result<std::optional<Store>> open_store(const std::string& store) {
  const std::string path = store.empty() ? Store::default_path() : store;
  if (path == "none") return std::optional<Store>();
  auto opened = Store::open(path);
  if (!opened) return std::move(opened).error().note("--store none goes on without stored decisions");
  say_if_read_only(*opened);
  return std::optional<Store>(std::move(*opened));
}

void say_if_read_only(const Store& store) {
  if (store.read_only()) std::cerr << "note: " << store.path() << " may only be read: nothing is saved" << std::endl;
}

int fail(const Error& error, ExitCode code) {
  const Style style = standard_error().style;
  std::cerr << tinted("error:", Tint::red, style.colour) << " " << error.text() << std::endl;
  return code;
}

}  // namespace gemmsmith::cli
