#include "targets/simulator/simulator_target.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "compiler/lower_to_llvm.h"
#include "compiler/translate.h"
#include "ir/check_accumulators.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "targets/simulator/jit.h"
#include "targets/simulator/lower.h"

namespace gemmsmith {
namespace {

using nlohmann::json;
using namespace simulator;

std::string print_tables(const LoweredTables& tables) {
  json out = {{"sites", json::array()}, {"blocks", json::array()}, {"regions", json::array()}};
  for (const Site& s : tables.sites) out["sites"].push_back({s.label, s.file, s.line});
  for (const NamedRegion& r : tables.regions) out["regions"].push_back({r.offset, r.bytes, r.name});
  for (const WgmmaBlock& b : tables.wgmma_blocks)
    out["blocks"].push_back({b.n, int(b.type_a), int(b.type_b), b.mn_major_a, b.mn_major_b, b.a_in_registers,
                             b.a_m_steps, b.a_k_steps, b.b_k_steps});
  return out.dump();
}

Result<LoweredTables> read_tables(const std::string& text) {
  LoweredTables tables;
  const json in = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Error damaged{"simulated kernel", "its tables", "are damaged", "compile it again", {}};
  if (!in.is_object()) return damaged;
  try {
    for (const json& s : in.at("sites")) tables.sites.push_back({s.at(0), s.at(1), s.at(2)});
    for (const json& r : in.at("regions")) tables.regions.push_back({r.at(0), r.at(1), r.at(2)});
    for (const json& b : in.at("blocks")) {
      WgmmaBlock block;
      block.n = b.at(0);
      block.type_a = static_cast<MmaType>(b.at(1).get<int>());
      block.type_b = static_cast<MmaType>(b.at(2).get<int>());
      block.mn_major_a = b.at(3), block.mn_major_b = b.at(4), block.a_in_registers = b.at(5);
      block.a_m_steps = b.at(6).get<std::vector<int64_t>>();
      block.a_k_steps = b.at(7).get<std::vector<int64_t>>();
      block.b_k_steps = b.at(8).get<std::vector<int64_t>>();
      tables.wgmma_blocks.push_back(std::move(block));
    }
  } catch (const json::exception&) {
    return damaged;
  }
  return tables;
}

TensorType type_of(TmaType type) {
  switch (type) {
    case TmaType::u8:
      return TensorType::u8;
    case TmaType::u16:
      return TensorType::u16;
    case TmaType::u32:
      return TensorType::u32;
    case TmaType::i32:
      return TensorType::s32;
    case TmaType::f16:
      return TensorType::f16;
    case TmaType::bf16:
      return TensorType::bf16;
    case TmaType::f32:
      return TensorType::f32;
    case TmaType::tf32:
      return TensorType::tf32;
  }
  return TensorType::u8;
}

Result<simulator::TensorMap> encode(const gemmsmith::TensorMap& map) {
  TensorMapFields fields;
  fields.base = reinterpret_cast<void*>(map.address);
  fields.type = type_of(map.type);
  for (int d = 0; d < map.rank; ++d) {
    fields.extents.push_back(int64_t(map.extents[size_t(d)]));
    fields.box.push_back(int64_t(map.box[size_t(d)]));
    if (d > 0) fields.strides_bytes.push_back(int64_t(map.stride_bytes[size_t(d)]));
  }
  fields.swizzle_bytes = map.swizzle_bytes;
  fields.l2_promotion_bytes = map.l2_promotion_bytes;
  return simulator::TensorMap::encode(fields);
}

// The object of a kernel: the length of its tables, the tables, machine code of the host.

// What launches share.
struct State {
  SimulatorOptions options;
  Simulator simulator;
  LaunchResult last;
};

class SimulatedKernel : public LoadedKernel {
 public:
  SimulatedKernel(std::shared_ptr<State> state, std::unique_ptr<HostCode> code, LoweredTables tables,
                  const CompiledKernel& kernel)
      : state_(std::move(state)),
        code_(std::move(code)),
        tables_(std::move(tables)),
        name_(kernel.name),
        signature_(kernel.signature) {}

  const KernelSignature& signature() const override { return signature_; }
  bool checks_memory() const override { return true; }
  void set_memory(std::vector<OperandMemory> memory) override { memory_ = std::move(memory); }

  Status launch(int64_t* words) override {
    GS_TRY(const int64_t grid, grid_size(signature_, words, state_->options.resident_clusters));
    if (grid == 0) return Done{};
    alignas(64) char nothing[64] = {};  // what an empty operand's map points to
    std::vector<simulator::TensorMap> maps;
    for (const TensorMapSpec& spec : signature_.tensor_maps) {
      GS_TRY(gemmsmith::TensorMap map, tensor_map(spec, signature_, words));
      if (map.empty) map.address = uint64_t(uintptr_t(nothing));
      GS_TRY(const simulator::TensorMap encoded, encode(map));
      maps.push_back(encoded);
    }
    provide_scratch(words, grid);
    Launch launch;
    launch.kernel = code_->function();
    launch.name = name_;
    launch.grid = {int(grid), 1, 1};
    launch.cluster = {signature_.gpu.cluster, 1, 1};
    launch.block = {signature_.gpu.threads, 1, 1};
    launch.shared_bytes = uint32_t(signature_.gpu.shared_bytes);
    for (simulator::TensorMap& map : maps) launch.parameters.push_back(&map);
    for (size_t i = 0; i < signature_.arguments.size(); ++i) launch.parameters.push_back(words + i);
    std::vector<GlobalBuffer> buffers;
    buffers.push_back({"an empty operand", nothing, sizeof nothing, false});
    for (const OperandMemory& m : memory_) buffers.push_back({m.name, m.base, m.bytes, m.writable});
    if (!scratch_.empty())
      buffers.push_back({"the workspace", scratch_.data(), int64_t(scratch_.size() * sizeof(Granule)), true});
    launch.buffers = buffers;
    launch.regions = tables_.regions;
    launch.sites = tables_.sites;
    launch.wgmma_blocks = tables_.wgmma_blocks;
    return run_schedules(launch);
  }

 private:
  // Memory for each CTA, zeroed when it is new: kernels leave their flags as they found them.
  void provide_scratch(int64_t* words, int64_t grid) {
    for (size_t i = 0; i < signature_.arguments.size(); ++i) {
      if (signature_.arguments[i].kind != KernelArgument::Kind::scratch) continue;
      const size_t granules = size_t((signature_.scratch_bytes + 255) / 256 * grid);
      if (granules > scratch_.size()) scratch_.assign(granules, Granule{});
      words[i] = int64_t(reinterpret_cast<uintptr_t>(scratch_.data()));
    }
  }
  // What the kernel may write, as bytes.
  std::string written() const {
    std::string bytes;
    for (const OperandMemory& m : memory_)
      if (m.writable) bytes.append(static_cast<const char*>(m.base), size_t(m.bytes));
    return bytes;
  }
  void restore(const std::string& bytes) const {
    size_t at = 0;
    for (const OperandMemory& m : memory_) {
      if (!m.writable) continue;
      std::memcpy(m.base, bytes.data() + at, size_t(m.bytes));
      at += size_t(m.bytes);
    }
  }
  static std::string print(const LaunchOptions& o) {
    if (o.schedule == Schedule::random) return "random order of seed " + std::to_string(o.seed);
    return o.schedule == Schedule::late ? "asynchronous operations as late as possible"
                                        : "asynchronous operations as early as possible";
  }

  Status run_schedules(const Launch& launch) {
    const int schedules = std::max(state_->options.schedules, 1);
    const std::string before = schedules > 1 ? written() : std::string();
    std::string first;
    for (int i = 0; i < schedules; ++i) {
      LaunchOptions options = state_->options.launch;
      if (schedules > 1) options.schedule = i == 0 ? Schedule::late : i == 1 ? Schedule::eager : Schedule::random;
      if (schedules > 1 && i > 1) options.seed = uint64_t(i - 1);
      if (i > 0) restore(before);
      GS_TRY(state_->last, state_->simulator.run(launch, options));
      const std::string what = "a launch of " + std::to_string(launch.grid.x) + " CTAs, " + print(options) + ",";
      if (!state_->last.ok())
        return Error{"simulated kernel " + name_, what, "is not right:\n" + state_->last.text(), {}, {}};
      if (schedules == 1) continue;
      if (i == 0) first = written();
      if (i > 0 && written() != first)
        return Error{"simulated kernel " + name_, what, "leaves another result than the first schedule", {}, {}};
    }
    return Done{};
  }

  std::shared_ptr<State> state_;
  std::unique_ptr<HostCode> code_;
  LoweredTables tables_;
  std::string name_;
  KernelSignature signature_;
  std::vector<OperandMemory> memory_;
  struct alignas(256) Granule {
    char bytes[256] = {};
  };
  std::vector<Granule> scratch_;
};

class Stopwatch {
 public:
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class SimulatedGpu : public SimulatorTarget {
 public:
  SimulatedGpu(DeviceFacts facts, const SimulatorOptions& options)
      : facts_(std::move(facts)), state_(std::make_shared<State>()) {
    state_->options = options;
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::string code_id() const override {
    const auto machine = host_machine();
    if (!machine.ok()) return "simulator";
    return "simulator " + (*machine)->getTargetCPU().str() + " " + (*machine)->getTargetFeatureString().str();
  }
  const SimulatorOptions& options() const override { return state_->options; }
  void set_options(const SimulatorOptions& options) override { state_->options = options; }
  const LaunchResult& last_result() const override { return state_->last; }

  Result<CompiledKernel> compile(const std::function<Result<KernelIr>(IrContext&)>& stage,
                                 const CompileOptions& options) override {
    CompiledKernel kernel;
    Stopwatch stopwatch;
    IrContext context;
    GS_TRY(const KernelIr ir, stage(context));
    kernel.name = ir.name();
    kernel.signature = ir.signature();
    const auto in_kernel = [&](Error error) {
      return std::move(error).note("while compiling " + kernel.name + " for the simulator");
    };
    kernel.ms.stage = stopwatch.lap_ms();
    auto* module = static_cast<mlir::Operation*>(ir.operation());
    if (options.keep_stages) kernel.stages["mlir"] = ir.print();
    if (options.verify) GS_CHECK(verify_module(module));
    stopwatch.lap_ms();
    if (Status unread = check_accumulators(module); !unread.ok()) return in_kernel(std::move(unread).error());
    auto tables = lower_to_simulator(module);
    if (!tables.ok()) return in_kernel(std::move(tables).error());
    const std::string header = print_tables(*tables);
    if (Status lowered = lower_to_llvm(module, options.verify); !lowered.ok())
      return in_kernel(std::move(lowered).error());
    kernel.ms.passes = stopwatch.lap_ms();
    llvm::LLVMContext llvm_context;
    auto code = translate_to_llvm_ir(module, llvm_context, options.verify);
    if (!code.ok()) return in_kernel(std::move(code).error());
    GS_TRY(llvm::TargetMachine* const machine, host_machine());
    (*code)->setDataLayout(machine->createDataLayout());
    (*code)->setTargetTriple(machine->getTargetTriple());
    kernel.ms.translate = stopwatch.lap_ms();
    optimize(**code, *machine);
    kernel.ms.optimize = stopwatch.lap_ms();
    if (options.keep_stages) kernel.stages["llvm"] = gemmsmith::print(**code);
    auto object = compile_for_host(**code, *machine);
    if (!object.ok()) return in_kernel(std::move(object).error());
    kernel.object = std::to_string(header.size()) + "\n" + header + *object;
    kernel.ms.codegen = stopwatch.lap_ms();
    return kernel;
  }

  Result<std::unique_ptr<LoadedKernel>> load(const CompiledKernel& kernel) override {
    size_t header = 0;
    const char* const begin = kernel.object.data();
    const auto [rest, code] = std::from_chars(begin, begin + kernel.object.size(), header);
    const size_t start = size_t(rest - begin) + 1;
    if (code != std::errc() || start > kernel.object.size() || header > kernel.object.size() - start)
      return Error{"simulated kernel " + kernel.name, "its object", "has no tables", "compile it again", {}};
    GS_TRY(LoweredTables tables, read_tables(kernel.object.substr(start, header)));
    GS_TRY(std::unique_ptr<HostCode> code_of_host, load_for_host(kernel.object.substr(start + header)));
    return std::unique_ptr<LoadedKernel>(
        new SimulatedKernel(state_, std::move(code_of_host), std::move(tables), kernel));
  }

 private:
  DeviceFacts facts_;
  std::shared_ptr<State> state_;
};

}  // namespace

Result<std::unique_ptr<SimulatorTarget>> make_simulator_target(const std::string& arch,
                                                               const SimulatorOptions& options) {
  if (arch != "sm_90a")
    return Error{
        "device sim:" + arch, "architecture " + arch, "is not simulated: no template of it exists", "sim:sm_90a", {}};
  DeviceFacts facts;
  facts.kind = arch;
  facts.vendor = "NVIDIA";
  facts.model = "simulated " + arch;
  facts.cores = 132;  // SMs of an H200
  facts.threads = 1;
  facts.vector_bytes = 16;
  facts.l2_bytes = facts.last_level_bytes = int64_t(50) << 20;
  facts.memory_bytes = int64_t(1) << 34;
  return std::unique_ptr<SimulatorTarget>(new SimulatedGpu(std::move(facts), options));
}

}  // namespace gemmsmith
