// gemmsmith doctor: what this machine offers, and what is missing and why.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "gemmsmith/json.h"
#include "gemmsmith/worker.h"
#include "output/table.h"
#include "output/units.h"
#include "terminal.h"

namespace gemmsmith::cli {
namespace {

struct DoctorFlags {
  DeviceFlags device;
  std::string store;
  bool json = false;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  gemmsmith doctor\n"
    "  gemmsmith doctor --threads 1 --json\n";

struct StoreState {
  std::string path, state;
  int64_t decisions = 0, decisions_here = 0;
};

// Looks without making the file.
StoreState look_at_store(const std::string& flag, const std::string& device) {
  StoreState found{flag.empty() ? Store::default_path() : flag, "", 0, 0};
  std::error_code code;
  if (flag == "none") found.state = "not used";
  if (flag != "none" && !std::filesystem::exists(found.path, code))
    found.state = "not there yet: the first tuning makes it";
  if (!found.state.empty()) return found;
  const auto store = Store::open(found.path);
  const auto all = store ? store->list() : Result<std::vector<TuneReport>>(store.error());
  if (!all) {
    found.state = "cannot be used: " + all.error().text();
    return found;
  }
  found.decisions = int64_t(all->size());
  for (const TuneReport& report : *all) found.decisions_here += report.provenance.device == device ? 1 : 0;
  found.state = plural(found.decisions, "decision") + ", " + std::to_string(found.decisions_here) +
                " of this device, " + format_bytes(double(std::filesystem::file_size(found.path, code)));
  return found;
}

std::string field(const std::string& name, const std::string& value) { return pad_right(name, 14) + value + "\n"; }

std::string rate(double giga_per_s, const char* unit) {
  return giga_per_s > 0 ? format_digits(giga_per_s) + unit : "none";
}

std::string device_text(const DeviceFacts& facts) {
  return field("device", facts.kind + ": " + facts.model + " (" + facts.vendor + ")") +
         field("cores", std::to_string(facts.cores) + " that this process may use; kernels use " +
                            plural(facts.threads, "thread")) +
         field("vectors", std::to_string(facts.vector_bytes * 8) + " bits; " + join(facts.features, " ")) +
         field("caches", "L1 " + format_bytes(double(facts.l1_bytes)) + ", L2 " + format_bytes(double(facts.l2_bytes)) +
                             " a core; last level " + format_bytes(double(facts.last_level_bytes))) +
         field("memory", format_bytes(double(facts.memory_bytes)) + " that this process may use") +
         field("measured peak", "f32 " + rate(facts.peak_f32_gflops, " GFLOP/s") + ", bf16 dot " +
                                    rate(facts.peak_bf16_gflops, " GFLOP/s") + ", i8 dot " +
                                    rate(facts.peak_i8_gops, " GOP/s") + ", reading " +
                                    rate(facts.read_gbytes_per_s, " GB/s"));
}

// The folders, and what is in the first.
std::string cache_text(const KernelCacheReport& cache) {
  if (cache.folders.empty()) return field("kernel cache", "off: each process compiles its kernels");
  return field("kernel cache", join(cache.folders, ", then ")) +
         field("", plural(cache.kernels, "kernel") + ", " + format_bytes(double(cache.bytes)));
}

// Libraries are looked at in a worker: one that does harm while it is loaded is reported, too.
TuneOptions here() {
  TuneOptions options;
  options.worker = this_program();
  return options;
}

std::string doctor_json(const Device& device, const StoreState& store) {
  return nlohmann::json{{"gemmsmith", GEMMSMITH_VERSION},
                        {"device", nlohmann::json::parse(to_json(device.facts()))},
                        {"sources", nlohmann::json::parse(to_json(device.sources(here())))},
                        {"kernel_cache", cache_json(device.kernel_cache())},
                        {"store",
                         {{"path", store.path},
                          {"state", store.state},
                          {"decisions", store.decisions},
                          {"decisions_here", store.decisions_here}}}}
      .dump(2);
}

int run(const DoctorFlags& flags) {
  const auto device = open_device(flags.device, /*measure_peaks=*/true);
  if (!device) return fail(device.error(), kUsage);
  const StoreState store = look_at_store(flags.store, device->facts().fingerprint());
  if (flags.json) {
    std::cout << doctor_json(*device, store) << std::endl;
    return kOk;
  }
  const Style style = standard_output().style;
  Table sources(
      {{.title = "source", .right = false}, {.title = "version", .right = false}, {.title = "state", .right = false}});
  for (const SourceReport& source : device->sources(here()))
    sources.add({source.name, source.version.empty() ? "-" : source.version,
                 source.supported ? "ready" : "missing: " + source.reason},
                source.supported ? Tint::none : Tint::yellow);
  std::cout << field("gemmsmith", GEMMSMITH_VERSION) << device_text(device->facts()) << "\n"
            << sources.print({.width = kUnlimited, .colour = style.colour, .unicode = style.unicode}) << "\n"
            << field("store", store.path) << field("", store.state) << cache_text(device->kernel_cache()) << std::flush;
  return kOk;
}

}  // namespace

void add_doctor(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = add_command(app, chosen, "doctor",
                                  "Show the device, the libraries found or not and why, and the store", flags, run);
  add_device_flags(command, flags->device);
  add_store_flag(command, flags->store);
  command->add_flag("--json", flags->json, "Print JSON instead of text");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
