// golden record FILE   runs every golden kernel on the GPU of this machine and writes what it gave
// golden check FILE    runs them and compares
// golden compile DIR   compiles them, for a look at their PTX
// golden simulate FILE runs them on the simulator, writes the same, and compares with nothing: for a look at both
#include <ctime>
#include <fstream>
#include <iostream>

#include "golden/golden.h"
#include "targets/cuda/cuda_target.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith::test {
namespace {

int fail(const Error& error) {
  std::cerr << "golden: " << error.text() << "\n";
  return 1;
}

int compile_all(const std::string& folder) {
  auto target = make_cuda_target({});
  if (!target.ok()) return fail(target.error());
  int failed = 0;
  for (const GoldenKernel& kernel : golden_kernels()) {
    auto compiled = (*target)->compile([&](IrContext& c) { return record_gpu(c, kernel.name, kernel.stage); },
                                       {.verify = true, .keep_stages = true});
    if (!compiled.ok()) {
      std::cerr << kernel.name << ": " << compiled.error().text() << "\n";
      ++failed;
      continue;
    }
    std::ofstream(folder + "/" + kernel.name + ".ptx") << compiled->stages.at("ptx");
  }
  return failed != 0;
}

int simulate_all(const std::string& path) {
  GoldenFile file{"", "simulator", "", "", {}};
  int failed = 0;
  for (const GoldenKernel& kernel : golden_kernels()) {
    SimulatorOptions options;
    options.launch.detect_races = true;
    const auto output = run_golden(*make_simulator_target("sm_90a", options).value(), kernel);
    if (output.ok())
      file.kernels[kernel.name] = golden_result(kernel, *output, "");
    else
      std::cerr << kernel.name << ": " << output.error().text() << "\n", ++failed;
  }
  std::ofstream(path) << print_golden(file);
  return failed != 0;
}

int run(const std::string& command, const std::string& path) {
  CudaTargetOptions options;
  auto driver = CudaDriver::open();
  if (!driver.ok()) return fail(driver.error());
  options.driver = *driver;
  auto target = make_cuda_target(options);
  if (!target.ok()) return fail(target.error());
  GoldenFile file;
  if (command == "check") {
    auto read = read_golden(path);
    if (!read.ok()) return fail(read.error());
    file = *read;
  }
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  file.date = date, file.device = (*driver)->facts().model, file.driver = (*driver)->version(),
  file.assembler = (*target)->code_id();
  int failed = 0;
  for (const GoldenKernel& kernel : golden_kernels()) {
    auto compiled = (*target)->compile([&](IrContext& c) { return record_gpu(c, kernel.name, kernel.stage); },
                                       {.keep_stages = true});
    auto output = run_golden(**target, kernel);
    if (!compiled.ok() || !output.ok()) {
      std::cerr << kernel.name << ": " << (compiled.ok() ? output.error() : compiled.error()).text() << "\n";
      ++failed;
      continue;
    }
    if (command == "record") file.kernels[kernel.name] = golden_result(kernel, *output, compiled->stages.at("ptx"));
    if (command == "check")
      if (const std::string wrong = compare_golden(kernel, file.kernels[kernel.name], *output); !wrong.empty()) {
        std::cerr << kernel.name << ": " << wrong << "\n";
        ++failed;
      }
  }
  if (command == "record") std::ofstream(path) << print_golden(file);
  std::cout << file.kernels.size() << " kernels on " << file.device << ", driver " << file.driver << ", " << failed
            << " failed\n";
  return failed != 0;
}

}  // namespace
}  // namespace gemmsmith::test

int main(int argc, char** argv) {
  const std::string command = argc == 3 ? argv[1] : "";
  if (command == "compile") return gemmsmith::test::compile_all(argv[2]);
  if (command == "simulate") return gemmsmith::test::simulate_all(argv[2]);
  if (command == "record" || command == "check") return gemmsmith::test::run(command, argv[2]);
  std::cerr << "golden record FILE | check FILE | simulate FILE | compile FOLDER\n";
  return 2;
}
