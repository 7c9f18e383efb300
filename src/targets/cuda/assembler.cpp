#include "targets/cuda/assembler.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "support/dynamic_library.h"
#include "support/environment.h"
#include "support/file.h"
#include "support/text.h"
#include "targets/cuda/nvrtc.h"
#include "targets/cuda/resources.h"
#include "targets/cuda/run_program.h"

namespace gemmsmith {
namespace {

std::optional<std::string> find_program(const std::string& name, const ToolkitPaths& paths) {
  for (const std::string& folder : paths.programs)
    if (std::string path = folder + "/" + name; ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

std::string not_found(const ToolkitPaths& paths) { return "looked for in " + join(paths.programs, ", "); }

// The first of what a program reported, and a few more lines as notes; the rest seldom says more.
Error refused(const std::string& program, const std::string& given, std::string_view report) {
  constexpr size_t kNotes = 4;
  Error error{program, given, "is refused", {}, {}};
  for (const std::string_view line : split(trim(report), '\n')) {
    if (error.notes.size() == kNotes) break;
    if (!line.empty()) error.notes.emplace_back(line);
  }
  return error;
}

class Ptxas : public Assembler {
 public:
  static Result<std::unique_ptr<Assembler>> open(const ToolkitPaths& paths) {
    const auto path = find_program("ptxas", paths);
    if (!path) return Error{"ptxas", "the program", "is not there", {}, {not_found(paths)}};
    GS_TRY(const ProgramOutput output, run_program(*path, {"--version"}));
    // "Cuda compilation tools, release 13.0, V13.0.88"
    const size_t at = output.text.find(", V");
    if (output.exit_code != 0 || at == output.text.npos) return refused(*path, "--version", output.text);
    const std::string_view rest = std::string_view(output.text).substr(at + 3);
    return std::unique_ptr<Assembler>(new Ptxas(*path, std::string(rest.substr(0, rest.find_first_of(" \n")))));
  }
  std::string name() const override { return "ptxas " + version_; }

  // -O3 is ptxas's own default; lower levels save nothing and serialize wgmmas.
  Result<Assembled> assemble(const std::string& ptx, const std::string& kernel, const KernelSignature&,
                             const std::string& arch) const override {
    GS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
    const std::string in = folder.file(kernel + ".ptx"), out = folder.file(kernel + ".cubin");
    GS_CHECK(write_file_atomic(in, ptx));
    GS_TRY(const ProgramOutput output, run_program(path_, {"-arch=" + arch, "-v", "-O3", in, "-o", out}));
    if (output.exit_code != 0) return refused(name(), "the PTX of " + kernel, output.text);
    Assembled result;
    GS_TRY(result.cubin, read_file(out));
    result.resources = parse_resources(output.text, ptx);
    result.resources.assembler = name();
    return result;
  }

 private:
  Ptxas(std::string path, std::string version) : path_(std::move(path)), version_(std::move(version)) {}
  std::string path_, version_;
};

class NvrtcAssembler : public Assembler {
 public:
  static Result<std::unique_ptr<Assembler>> open(const ToolkitPaths& paths) {
    GS_TRY(Nvrtc nvrtc, Nvrtc::open(paths.libraries));
    return std::unique_ptr<Assembler>(new NvrtcAssembler(std::move(nvrtc)));
  }
  std::string name() const override { return "NVRTC " + nvrtc_.version(); }

  Result<Assembled> assemble(const std::string& ptx, const std::string& kernel, const KernelSignature& signature,
                             const std::string& arch) const override {
    GS_TRY(const NvrtcOutput output,
           nvrtc_.compile(nvrtc_source(ptx, kernel, signature), {"-arch=" + arch, "--ptxas-options=-v"}));
    if (output.cubin.empty()) return refused(name(), "the PTX of " + kernel, output.log);
    Assembled result;
    result.cubin = output.cubin;
    result.resources = parse_resources(output.log, "");  // its lines are those of a text that nobody sees
    result.resources.assembler = name();
    return result;
  }

 private:
  explicit NvrtcAssembler(Nvrtc nvrtc) : nvrtc_(std::move(nvrtc)) {}
  Nvrtc nvrtc_;
};

class DriverAssembler : public Assembler {
 public:
  std::string name() const override { return "driver"; }
  Result<Assembled> assemble(const std::string&, const std::string&, const KernelSignature&,
                             const std::string&) const override {
    return Assembled{};
  }
};

}  // namespace

ToolkitPaths toolkit_paths() {
  ToolkitPaths paths;
  const auto add = [](std::vector<std::string>& folders, std::string folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(std::move(folder));
  };
  const std::string path = environment_variable("PATH").value_or("");
  for (const std::string_view folder : split(path, ':'))
    if (!folder.empty()) add(paths.programs, std::string(folder));
  paths.libraries.push_back("");
  for (const auto& home : {environment_variable("CUDA_HOME"), environment_variable("CUDA_PATH"),
                           std::optional<std::string>("/usr/local/cuda")}) {
    if (!home || home->empty()) continue;
    add(paths.programs, *home + "/bin");
    add(paths.libraries, *home + "/lib64");
    add(paths.libraries, *home + "/lib");
  }
  return paths;
}

Result<AssemblerKind> assembler_named(std::string_view name) {
  if (name.empty()) return AssemblerKind::automatic;
  if (name == "ptxas") return AssemblerKind::ptxas;
  if (name == "nvrtc") return AssemblerKind::nvrtc;
  if (name == "driver") return AssemblerKind::driver;
  return Error{"assembler", "\"" + std::string(name) + "\"", "is not an assembler", "known: ptxas, nvrtc, driver", {}};
}

Result<std::unique_ptr<Assembler>> find_assembler(AssemblerKind kind, const ToolkitPaths& paths) {
  if (kind == AssemblerKind::ptxas) return Ptxas::open(paths);
  if (kind == AssemblerKind::nvrtc) return NvrtcAssembler::open(paths);
  std::vector<Error> passed_over;
  std::unique_ptr<Assembler> found;
  for (const auto open : {&Ptxas::open, &NvrtcAssembler::open}) {
    if (kind == AssemblerKind::driver || found) break;
    if (auto assembler = open(paths); assembler.ok())
      found = std::move(*assembler);
    else
      passed_over.push_back(assembler.error());
  }
  if (!found) found = std::make_unique<DriverAssembler>();
  found->passed_over_ = std::move(passed_over);
  return found;
}

Result<std::string> disassemble(std::string_view cubin, const ToolkitPaths& paths) {
  const auto nvdisasm = find_program("nvdisasm", paths), cuobjdump = find_program("cuobjdump", paths);
  if (!nvdisasm && !cuobjdump)
    return Error{"disassembler",
                 "nvdisasm or cuobjdump",
                 "is not there: they come with a CUDA toolkit",
                 "add it to PATH",
                 {not_found(paths)}};
  GS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string in = folder.file("kernel.cubin");
  GS_CHECK(write_file_atomic(in, cubin));
  // -c: code alone.
  GS_TRY(const ProgramOutput output,
         nvdisasm ? run_program(*nvdisasm, {"-c", in}) : run_program(*cuobjdump, {"-sass", in}));
  if (output.exit_code == 0) return output.text;
  return refused(nvdisasm ? *nvdisasm : *cuobjdump, "the cubin", output.text);
}

std::string nvrtc_source(std::string_view ptx, const std::string& kernel, const KernelSignature& signature) {
  std::string source =
      "struct alignas(64) TensorMap { unsigned long long words[16]; };\n"
      "extern __shared__ __align__(1024) unsigned char gs_shared[];\n"
      "extern \"C\" __global__ void ";
  if (signature.gpu.cluster > 1) source += concat("__cluster_dims__(", signature.gpu.cluster, ", 1, 1) ");
  source += concat("__launch_bounds__(", signature.gpu.threads, ", 1) ", kernel, "(");
  std::vector<std::string> parameters;
  for (size_t i = 0; i < signature.tensor_maps.size(); ++i)
    parameters.push_back(concat("const __grid_constant__ TensorMap map", i));
  for (size_t i = 0; i < signature.arguments.size(); ++i) parameters.push_back(concat("unsigned long long word", i));
  source += join(parameters, ", ") + ") {\nasm volatile(R\"PTX(";
  // From the brace after the entry's directives to the last that begins a line: assembly blocks have braces of their own.
  // Lines that name files mean nothing here.
  const size_t entry = ptx.find(".entry"), begin = ptx.find("\n{", entry), end = ptx.rfind("\n}");
  for (const std::string_view line : split(ptx.substr(begin + 1, end + 1 - begin), '\n')) {
    if (trim(line).starts_with(".loc")) continue;
    for (const char c : line) source += c == '%' ? "%%" : std::string(1, c);
    source += '\n';
  }
  return source + ")PTX\" :: \"l\"(gs_shared) : \"memory\");\n}\n";
}

}  // namespace gemmsmith
