#include "gemmsmith/compile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/native.h"
#include "api/state.h"
#include "sources/native/native_source.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/text.h"
#include "targets/cuda/cuda_target.h"

namespace gemmsmith {
namespace {

using nlohmann::json;

constexpr int kMaxTop = 1000, kMaxThreads = 4096;
constexpr int kIndexForm = 1;

const char* name_of(KernelArgument::Kind kind) {
  switch (kind) {
    case KernelArgument::Kind::pointer:
      return "pointer";
    case KernelArgument::Kind::row_stride:
      return "row_stride";
    case KernelArgument::Kind::column_stride:
      return "column_stride";
    case KernelArgument::Kind::batch_stride:
      return "batch_stride";
    case KernelArgument::Kind::extent:
      return "extent";
    case KernelArgument::Kind::scalar:
      return "scalar";
    case KernelArgument::Kind::cores:
      return "cores";
    case KernelArgument::Kind::scratch:
      return "scratch";
  }
  return "";
}

const char* name_of(TmaType type) {
  static constexpr const char* kNames[] = {"u8", "u16", "u32", "i32", "f16", "bf16", "f32", "tf32"};
  return kNames[size_t(type)];
}

json signature_json(const KernelSignature& s) {
  json arguments = json::array(), maps = json::array();
  for (const KernelArgument& a : s.arguments) arguments.push_back({{"kind", name_of(a.kind)}, {"name", a.name}});
  for (const TensorMapSpec& m : s.tensor_maps)
    maps.push_back({{"operand", m.operand},
                    {"rows", m.rows},
                    {"columns", m.columns},
                    {"batched", m.batched},
                    {"rows_contiguous", m.rows_contiguous},
                    {"type", name_of(m.type)},
                    {"box_rows", m.box_rows},
                    {"box_columns", m.box_columns},
                    {"swizzle_bytes", m.swizzle_bytes},
                    {"l2_promotion_bytes", m.l2_promotion_bytes}});
  json out = {{"arguments", std::move(arguments)}, {"scratch_bytes", s.scratch_bytes}};
  if (s.gpu.threads == 0) return out;
  out["tensor_maps"] = std::move(maps);
  out["launch"] = {{"threads", s.gpu.threads},           {"cluster", s.gpu.cluster},
                   {"shared_bytes", s.gpu.shared_bytes}, {"rows", s.gpu.rows},
                   {"columns", s.gpu.columns},           {"tile_rows", s.gpu.tile_rows},
                   {"tile_columns", s.gpu.tile_columns}, {"splits", s.gpu.splits},
                   {"persistent", s.gpu.persistent},     {"zeroed_scratch", s.gpu.zeroed_scratch}};
  return out;
}

json resources_json(const KernelResources& r) {
  json warnings = json::array();
  for (const KernelResources::Warning& w : r.warnings) warnings.push_back({{"code", w.code}, {"text", w.text}});
  return {{"assembler", r.assembler},
          {"registers", r.registers},
          {"spill_store_bytes", r.spill_store_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"stack_bytes", r.stack_bytes},
          {"static_shared_bytes", r.static_shared_bytes},
          {"warnings", std::move(warnings)}};
}

// A kernel to be made, or one that is.
struct Job {
  std::string key;
  GemmProblem problem;  // the first of its problems
  FolderKernel kernel;
  json entry;  // of the index; null until it is made
};

// The entries of an earlier run by their keys; none if the index is absent, damaged or of another form.
std::map<std::string, json> entries_of(const std::string& path) {
  std::map<std::string, json> entries;
  const auto text = read_file(path);
  if (!text.ok()) return entries;
  const json index = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || index.value("form", 0) != kIndexForm || !index["kernels"].is_array()) return entries;
  for (const json& entry : index["kernels"])
    if (entry.is_object() && entry["key"].is_string() && entry["file"].is_string())
      entries.emplace(entry["key"].get<std::string>(), entry);
  return entries;
}

class FolderBuild {
 public:
  FolderBuild(const Device& device, const std::string& folder, const CompileFolderOptions& options)
      : device_(device), folder_(folder), options_(options) {}

  void plan(const std::vector<GemmProblem>& problems, CompileFolderReport& report) {
    std::map<std::string, size_t> known;  // index into jobs_ by key
    for (const GemmProblem& problem : problems) {
      const auto candidates = native_candidates(device_, problem);
      if (!candidates.ok()) {
        report.unserved.emplace_back(problem.print(), candidates.error().text());
        continue;
      }
      for (size_t i = 0; i < std::min(candidates->size(), size_t(options_.top)); ++i) {
        const std::string& config = (*candidates)[i].config;
        const std::string key = native_kernel_key(target(), problem, config);
        const auto [at, is_new] = known.emplace(key, jobs_.size());
        if (is_new) jobs_.push_back({key, problem, {.config = config}, {}});
        std::vector<std::string>& of = jobs_[at->second].kernel.problems;
        if (std::find(of.begin(), of.end(), problem.print()) == of.end()) of.push_back(problem.print());
      }
    }
  }

  void run() {
    earlier_ = entries_of(index());
    size_t threads =
        size_t(options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency()));
    threads = std::min(threads, jobs_.size());
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
  }

  Status finish(CompileFolderReport& report) {
    json kernels = json::array(), unserved = json::array();
    for (const Job& job : jobs_) {
      if (!job.entry.is_null()) {
        kernels.push_back(job.entry);
        earlier_.erase(job.key);
      }
      if (!job.entry.is_null() || !job.kernel.refused.empty()) report.kernels.push_back(job.kernel);
    }
    for (const auto& [key, entry] : earlier_) kernels.push_back(entry);  // of runs with other problems
    for (const auto& [problem, reason] : report.unserved)
      unserved.push_back({{"problem", problem}, {"reason", reason}});
    const json document = {{"form", kIndexForm},
                           {"device", device_.facts().kind},
                           {"code", target().code_id()},
                           {"kernels", std::move(kernels)},
                           {"unserved", std::move(unserved)}};
    report.index = index();
    report.cancelled = cancelled();
    if (first_failure_) return *first_failure_;
    return write_file_atomic(index(), document.dump(1) + "\n");
  }

 private:
  Target& target() const { return *device_.state()->target; }
  std::string index() const { return folder_ + "/index.json"; }
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  void work() {
    while (!cancelled()) {
      const size_t i = next_.fetch_add(1);
      if (i >= jobs_.size()) return;
      Job& job = jobs_[i];
      const auto start = std::chrono::steady_clock::now();
      const Status made = keep(job) ? Status(Done{}) : make(job);
      job.kernel.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      const std::lock_guard lock(mutex_);
      if (!made.ok() && !first_failure_) {  // the folder cannot be written: nothing else can be either
        first_failure_ = made.error();
        next_ = jobs_.size();
      }
      if (options_.progress) options_.progress(++done_, jobs_.size(), job.kernel);
    }
  }

  // Whether an earlier run has made it.
  bool keep(Job& job) const {
    const auto found = earlier_.find(job.key);
    if (found == earlier_.end()) return false;
    const std::string file = found->second["file"];
    const auto content = read_file(folder_ + "/" + file);
    if (!content.ok() || hash_hex(*content) != found->second.value("hash", "")) return false;
    job.kernel.kept = true;
    job.kernel.file = file;
    job.entry = found->second;
    job.entry["problems"] = job.kernel.problems;
    return true;
  }

  Status make(Job& job) const {
    const auto compiled = compile_native(target(), job.problem, job.kernel.config, {.object_only = true});
    if (!compiled.ok()) {
      job.kernel.refused = compiled.error().text();
      return Done{};
    }
    const bool gpu = compiled->signature.gpu.threads > 0;
    const char* form = !gpu ? "o" : is_cubin(compiled->object) ? "cubin" : "ptx";
    job.kernel.file = hash_hex(job.key) + "." + form;
    GS_CHECK(write_file_atomic(folder_ + "/" + job.kernel.file, compiled->object));
    job.entry = {{"key", job.key},
                 {"config", job.kernel.config},
                 {"problems", job.kernel.problems},
                 {"file", job.kernel.file},
                 {"bytes", compiled->object.size()},
                 {"hash", hash_hex(compiled->object)},
                 {"entry", compiled->name},
                 {"signature", signature_json(compiled->signature)}};
    if (compiled->resources) job.entry["resources"] = resources_json(*compiled->resources);
    return Done{};
  }

  const Device& device_;
  std::string folder_;
  const CompileFolderOptions& options_;
  std::vector<Job> jobs_;
  std::map<std::string, json> earlier_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  size_t done_ = 0;
  std::optional<Error> first_failure_;
};

}  // namespace

Result<CompileFolderReport> compile_folder(const Device& device, const std::vector<GemmProblem>& problems,
                                           const std::string& folder, const CompileFolderOptions& options) {
  const auto range = [](const char* name, int given, int least, int most) {
    return Error{name, concat(given), concat("is not ", least, " to ", most), {}, {}};
  };
  if (options.top < 1 || options.top > kMaxTop) return range("top", options.top, 1, kMaxTop);
  if (options.threads < 0 || options.threads > kMaxThreads) return range("threads", options.threads, 0, kMaxThreads);
  GS_CHECK(make_directories(folder));
  const auto start = std::chrono::steady_clock::now();
  CompileFolderReport report;
  FolderBuild build(device, folder, options);
  build.plan(problems, report);
  build.run();
  GS_CHECK(build.finish(report));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace gemmsmith
