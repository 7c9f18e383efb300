// What a kernel of a GPU costs from its template to PTX and to a cubin, on one thread and on several. Times are those of the
// processor, which other load disturbs less than wall time: of the thread that compiles and of the assembler's process.
#include <sys/resource.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "gemmsmith/problem.h"
#include "ir/kernel_ir.h"
#include "targets/cuda/arch.h"
#include "targets/cuda/cuda_target.h"
#include "templates/template.h"

using namespace gemmsmith;

namespace {

struct Row {
  const char* name;
  const char* problem;
  const char* candidate;
};

constexpr Row kRows[] = {
    {"warp-specialized 128x256x64", "4096x4096x4096 dtype=bf16 b=col",
     "gemm_warp_specialized block_m=128 block_n=256 block_k=64 num_stages=3 cluster_m=2"},
    {"the same, bias relu", "4096x4096x4096 dtype=bf16 b=col epilogue=relu(acc + bias[n])",
     "gemm_warp_specialized block_m=128 block_n=256 block_k=64 num_stages=3 cluster_m=2 consumer_registers=240"},
    {"warp-specialized 128x128x64", "4096x4096x4096 dtype=bf16 b=col",
     "gemm_warp_specialized block_m=128 block_n=128 block_k=64 num_stages=4"},
    {"the same, gelu", "4096x4096x4096 dtype=bf16 b=col epilogue=gelu(acc + bias[n])",
     "gemm_warp_specialized block_m=128 block_n=128 block_k=64 num_stages=4"},
    {"ping-pong 128x128x64", "4096x4096x4096 dtype=bf16 b=col",
     "gemm_ping_pong block_m=128 block_n=128 block_k=64 num_stages=4"},
    {"split-K 64x64x128", "16x4096x4096 dtype=bf16 b=col",
     "gemm_split_k_cluster block_m=64 block_n=64 block_k=128 num_stages=6 split_k=2"},
};

double ms_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}
double thread_ms() { return ms_of(CLOCK_THREAD_CPUTIME_ID); }
double wall_ms() { return ms_of(CLOCK_MONOTONIC); }
// Of processes that have ended: assemblers.
double children_ms() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto ms = [](const timeval& t) { return double(t.tv_sec) * 1e3 + double(t.tv_usec) * 1e-3; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}
double thread_and_children_ms() { return thread_ms() + children_ms(); }
double process_and_children_ms() { return ms_of(CLOCK_PROCESS_CPUTIME_ID) + children_ms(); }

struct Spread {
  double first = 0, least = 0, median = 0;
};
Spread spread_of(std::vector<double> ms) {
  Spread s;
  s.first = ms.front();
  std::sort(ms.begin(), ms.end());
  s.least = ms.front(), s.median = ms[ms.size() / 2];
  return s;
}
nlohmann::json to_json(const Spread& s) {
  return {{"first_ms", s.first}, {"least_ms", s.least}, {"median_ms", s.median}};
}

Result<CompiledKernel> compile(Target& target, const Row& row) {
  GS_TRY(const GemmProblem problem, GemmProblem::parse(row.problem));
  return target.compile(
      [&](IrContext& context) { return stage_kernel(context, row.candidate, problem, target.facts()); });
}

Result<Spread> time_compiles(Target& target, const Row& row, int runs, double (*clock)()) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    const double start = clock();
    GS_CHECK(compile(target, row));
    ms.push_back(clock() - start);
  }
  return spread_of(std::move(ms));
}

// Several threads, each compiling `runs` kernels.
struct Parallel {
  double kernels_per_second = 0, cpu_ms = 0;  // of one kernel: equal for any number of threads if nothing is shared
};
Result<Parallel> compile_in_parallel(Target& target, const Row& row, int threads, int runs) {
  std::vector<Status> statuses(size_t(threads), Done{});
  const double start = wall_ms(), cpu_start = process_and_children_ms();
  {
    std::vector<std::jthread> workers;
    for (Status& status : statuses)
      workers.emplace_back([&] {
        for (int i = 0; i < runs && status.ok(); ++i)
          if (auto kernel = compile(target, row); !kernel.ok()) status = std::move(kernel).error();
      });
  }
  const double count = double(threads) * runs;
  const Parallel result{count / (wall_ms() - start) * 1e3, (process_and_children_ms() - cpu_start) / count};
  for (const Status& status : statuses) GS_CHECK(status);
  return result;
}

Status run(int runs, nlohmann::json& out) {
  GS_TRY(const std::unique_ptr<Target> ptx, make_cuda_target({.assembler = AssemblerKind::driver}));
  const auto cubin = make_cuda_target();
  const bool assembles = cubin.ok() && (*cubin)->code_id().find("driver") == std::string::npos;
  out["code"] = assembles ? (*cubin)->code_id() : ptx->code_id();
  std::printf("%s\n%-30s %8s %8s %8s   %8s %8s %8s   CPU ms to PTX and to cubin, %d runs\n",
              out["code"].get<std::string>().c_str(), "kernel", "first", "median", "least", "first", "median", "least",
              runs);
  for (const Row& row : kRows) {
    GS_TRY(const Spread to_ptx, time_compiles(*ptx, row, runs, thread_ms));
    nlohmann::json entry = {
        {"kernel", row.name}, {"problem", row.problem}, {"config", row.candidate}, {"ptx", to_json(to_ptx)}};
    std::printf("%-30s %8.1f %8.1f %8.1f", row.name, to_ptx.first, to_ptx.median, to_ptx.least);
    if (assembles) {
      GS_TRY(const Spread to_cubin, time_compiles(**cubin, row, runs, thread_and_children_ms));
      entry["cubin"] = to_json(to_cubin);
      std::printf("   %8.1f %8.1f %8.1f", to_cubin.first, to_cubin.median, to_cubin.least);
    }
    std::printf("\n");
    out["kernels"].push_back(std::move(entry));
  }
  Target& widest = assembles ? **cubin : *ptx;
  for (int threads = 1; threads <= int(std::max(1u, std::thread::hardware_concurrency())); threads *= 2) {
    GS_TRY(const Parallel rate, compile_in_parallel(widest, kRows[0], threads, runs));
    std::printf("%d threads: %.1f kernels/s, %.1f CPU ms a kernel\n", threads, rate.kernels_per_second, rate.cpu_ms);
    out["threads"].push_back(
        {{"threads", threads}, {"kernels_per_second", rate.kernels_per_second}, {"cpu_ms", rate.cpu_ms}});
  }
  const double start = thread_ms();
  for (int i = 0; i < 100; ++i) IrContext context;
  out["context_ms"] = (thread_ms() - start) / 100;
  std::printf("a context with its dialects: %.2f ms\n", out["context_ms"].get<double>());
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times from a GPU template to PTX and to a cubin.");
  std::string path;
  int runs = 9;
  app.add_option("--json", path, "Write the results to a file");
  app.add_option("--runs", runs, "Compiles of each kernel")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  nlohmann::json out;
  if (const Status status = run(runs, out); !status.ok())
    return std::fprintf(stderr, "%s\n", status.error().text().c_str()), 1;
  if (!path.empty()) std::ofstream(path) << out.dump(1) << "\n";
}
