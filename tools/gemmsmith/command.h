// What the subcommands share: exit codes, common flags, opening a device and a store, printing errors.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/gemm.h"
#include "gemmsmith/result.h"
#include "gemmsmith/store.h"

namespace gemmsmith::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,         // the thing asked for failed: a check, a compilation, no kernel to be had
  kUsage = 2,          // an option or an input that makes no sense, or cannot be read
  kInterrupted = 130,  // by Ctrl-C; what was finished is kept and printed
};

// The chosen subcommand leaves here what is to run after parsing.
using Chosen = std::function<int()>;

void add_tune(CLI::App&, Chosen&);
void add_explain(CLI::App&, Chosen&);
void add_check(CLI::App&, Chosen&);
void add_bench(CLI::App&, Chosen&);
void add_emit(CLI::App&, Chosen&);
void add_compile(CLI::App&, Chosen&);
void add_layout(CLI::App&, Chosen&);
void add_simulate(CLI::App&, Chosen&);
void add_doctor(CLI::App&, Chosen&);
void add_store(CLI::App&, Chosen&);

// A subcommand whose flags live as long as the program runs it.
template <class Flags>
CLI::App* add_command(CLI::App& app, Chosen& chosen, const char* name, const char* summary,
                      std::shared_ptr<Flags> flags, int (*run)(const Flags&)) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->callback([&chosen, flags, run] { chosen = [flags, run] { return run(*flags); }; });
  return command;
}

struct DeviceFlags {
  std::string device = "cpu";
  int threads = 0;
  std::string sources;       // comma-separated
  std::string kernel_cache;  // empty: the default
  SimulationOptions simulation;
};
void add_device_flags(CLI::App*, DeviceFlags&);
void add_source_flag(CLI::App*, DeviceFlags&);
void add_arch_flag(CLI::App*, std::string& arch);  // after add_device_flags; instead of --device
// What the binary cache did, in words; empty if nothing was compiled or looked up.
std::string cache_line(const KernelCacheReport&);
nlohmann::json cache_json(const KernelCacheReport&);

// How candidates are kept from doing harm, and within which memory.
struct IsolationFlags {
  bool in_process = false;
  int workers = 1;
  std::string max_memory = "2GiB";
};
void add_isolation_flags(CLI::App*, IsolationFlags&);
Status set_isolation(const IsolationFlags&, TuneOptions&);

// `measure_peaks` as DeviceOptions has it. A source that the device does not have is an error with the names that it
// has.
Result<Device> open_device(const DeviceFlags&, bool measure_peaks);
std::vector<std::string> source_names(const DeviceFlags&);  // empty: all

void add_store_flag(CLI::App*, std::string& store);
// Nothing for "none"; the default place for "". The store is opened, and made if it is not there. One that may only be
// read is said to be so.
Result<std::optional<Store>> open_store(const std::string& store);
void say_if_read_only(const Store&);

// Prints the error to standard error and returns the code.
int fail(const Error&, ExitCode);

}  // namespace gemmsmith::cli
