// The CPU table: own kernels against the vendor libraries in one process, and the tuner's pick against the best single source.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "gemmsmith/gemm.h"

using namespace gemmsmith;

namespace {

struct Row {
  std::string name;
  GemmProblem problem;
};

// Batch-1 decoding to prefill: m = 1 ... 2048 against one weight matrix, stored either way.
std::vector<Row> rows(DataType type, Major b_major) {
  std::vector<Row> out;
  for (int64_t m : {1, 8, 128, 512, 2048}) {
    const int64_t nk = m < 2048 ? 4096 : 2048;
    GemmProblem p = make_problem(m, nk, nk, type, b_major);
    out.push_back({std::to_string(m) + "x" + std::to_string(nk) + "x" + std::to_string(nk), p});
  }
  return out;
}

double time_us(const TuneReport& report, const std::string& source) {
  const CandidateReport* best = report.best_of(source);
  return best && best->timing ? best->timing->median_us : 0;
}

struct Means {
  double log_sum = 0, lowest = 1e9;
  int count = 0;
  void add(double ratio) {
    log_sum += std::log(ratio);
    lowest = std::min(lowest, ratio);
    ++count;
  }
  double geomean() const { return count ? std::exp(log_sum / count) : 0; }
};

// One table: every row tuned over all sources but the reference, which is there for correctness only.
nlohmann::ordered_json run_table(const Device& device, const std::string& title, const std::vector<Row>& table,
                                 double seconds) {
  std::vector<std::string> sources, others;
  for (const SourceReport& s : device.sources()) {
    if (s.name == "reference") continue;
    sources.push_back(s.name);
    if (s.name != "native") others.push_back(s.name);
  }
  std::printf("\n%s\n%-18s", title.c_str(), "m x n x k");
  for (const std::string& s : sources) std::printf(" %12s", s.c_str());
  std::printf("   native/other  pick/best  %%peak  native's best\n");

  nlohmann::ordered_json json = {{"title", title}, {"rows", nlohmann::ordered_json::array()}};
  Means own, pick;
  for (const Row& row : table) {
    TuneOptions options;
    options.budget_seconds = seconds;
    options.sources = sources;
    const Result<TuneReport> tuned = tune(device, row.problem, options);
    if (!tuned.ok()) {
      std::printf("%-18s %s\n", row.name.c_str(), tuned.error().text().c_str());
      continue;
    }
    const TuneReport& report = *tuned;
    nlohmann::ordered_json line = {{"name", row.name}, {"problem", report.problem.print()}};
    std::printf("%-18s", row.name.c_str());
    double other = 0, best = 1e300;
    for (const std::string& s : sources) {
      const double us = time_us(report, s);
      std::printf(" %12.1f", us > 0 ? report.problem.flops() / us * 1e-3 : 0.0);
      if (us <= 0) continue;
      best = std::min(best, us);
      if (s != "native") other = other > 0 ? std::min(other, us) : us;
      const CandidateReport* c = report.best_of(s);
      line[s] = {
          {"config", c->config}, {"median_us", us}, {"low_us", c->timing->low_us}, {"high_us", c->timing->high_us}};
    }
    const double native = time_us(report, "native");
    const double picked = report.best() && report.best()->timing ? report.best()->timing->median_us : 0;
    if (native > 0 && other > 0) own.add(other / native);
    if (picked > 0) pick.add(best / picked);
    const double peak =
        is_float(row.problem.a.type) && row.problem.a.type != DataType::f32 && device.facts().peak_bf16_gflops > 0
            ? device.facts().peak_bf16_gflops
            : device.facts().peak_f32_gflops;
    std::printf(" %14.3f %10.3f %6.1f  %s\n", native > 0 && other > 0 ? other / native : 0.0,
                picked > 0 ? best / picked : 0.0, peak > 0 ? 100 * report.problem.flops() / best * 1e-3 / peak : 0.0,
                report.best_of("native") ? report.best_of("native")->config.c_str() : "-");
    std::fflush(stdout);
    line["floor_us"] = report.floor_us;
    line["native_over_other"] = native > 0 && other > 0 ? other / native : 0.0;
    line["pick_over_best"] = picked > 0 ? best / picked : 0.0;
    json["rows"].push_back(line);
  }
  std::printf("geomean of native/other %.3f (lowest %.3f), of pick/best %.3f (lowest %.3f)\n", own.geomean(),
              own.lowest, pick.geomean(), pick.lowest);
  json["native_over_other_geomean"] = own.geomean();
  json["native_over_other_lowest"] = own.lowest;
  json["pick_over_best_lowest"] = pick.lowest;
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "The CPU table: GFLOP/s of every source, own kernels over the better of the others, the pick over the best"};
  double seconds = 5;
  int threads = 0;
  std::string json_path;
  std::vector<std::string> types = {"f32", "bf16"};
  app.add_option("--seconds", seconds, "budget of one row")->capture_default_str();
  app.add_option("--threads", threads, "0: all cores")->capture_default_str();
  app.add_option("--types", types, "element types")->delimiter(',')->capture_default_str();
  app.add_option("--json", json_path, "also write the results here");
  CLI11_PARSE(app, argc, argv);

  const Result<Device> device = Device::open("cpu", {.threads = threads});
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.error().text().c_str()), 2;
  const DeviceFacts& facts = device->facts();
  std::printf("%s\npeak f32 %.0f, bf16 %.0f GFLOP/s, i8 %.0f GOP/s, read %.1f GB/s\n", facts.fingerprint().c_str(),
              facts.peak_f32_gflops, facts.peak_bf16_gflops, facts.peak_i8_gops, facts.read_gbytes_per_s);
  nlohmann::ordered_json json = {{"device", facts.fingerprint()},
                                 {"peak_f32_gflops", facts.peak_f32_gflops},
                                 {"peak_bf16_gflops", facts.peak_bf16_gflops},
                                 {"read_gbytes_per_s", facts.read_gbytes_per_s},
                                 {"sources", nlohmann::ordered_json::object()},
                                 {"tables", nlohmann::ordered_json::array()}};
  for (const SourceReport& s : device->sources()) {
    std::printf("%-10s %s %s\n", s.name.c_str(), s.version.c_str(),
                s.supported ? "" : ("refuses: " + s.reason).c_str());
    json["sources"][s.name] = s.version;
  }
  for (const std::string& name : types) {
    const auto type = data_type_named(name);
    if (!type) return std::fprintf(stderr, "--types: %s is not an element type\n", name.c_str()), 2;
    json["tables"].push_back(
        run_table(*device, name + ", B row-major (k x n), GFLOP/s", rows(*type, Major::row), seconds));
    json["tables"].push_back(
        run_table(*device, name + ", B column-major (a weight n x k), GFLOP/s", rows(*type, Major::column), seconds));
  }
  if (!json_path.empty()) std::ofstream(json_path) << json.dump(1) << "\n";
}
