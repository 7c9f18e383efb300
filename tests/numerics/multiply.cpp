#include "numerics/multiply.h"

#include <gtest/gtest.h>

#include <map>

#include "problem/spec.h"

namespace gemmsmith {

const Device* device_with(int threads) {
  static std::map<int, std::optional<Device>> devices;
  if (const auto found = devices.find(threads); found != devices.end())
    return found->second ? &*found->second : nullptr;
  auto opened = Device::open("cpu", {.threads = threads, .measure_peaks = false, .kernel_cache = {}, .warn = {}});
  std::optional<Device>& kept = devices[threads];
  if (opened.ok()) kept.emplace(std::move(*opened));
  return kept ? &*kept : nullptr;
}

Operands filled(const GemmProblem& p, const Rule& a, const Rule& b, const Rule& c, const Rule& inputs) {
  Operands operands = Operands::create(p, 7).value();
  const GemmArguments& args = operands.arguments();
  const auto fill = [](const MatrixSpec& s, const void* memory, int64_t rows, int64_t columns, const Rule& rule) {
    for (int64_t i = 0; rule && i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        store_element(s.type, const_cast<void*>(memory), i * s.row_stride + j * s.column_stride, rule(i, j));
  };
  fill(p.a, args.a, p.m, p.k, a);
  fill(p.b, args.b, p.k, p.n, b);
  if (p.reads_c()) fill(p.c, args.c, p.m, p.n, c);
  for (size_t i = 0; inputs && i < p.inputs.size(); ++i)
    for (int64_t at = 0; at < elements_of(p.inputs[i], p); ++at)
      store_element(p.inputs[i].type, const_cast<void*>(args.inputs[i]), at, inputs(int64_t(i), at));
  return operands;
}

std::vector<double> run(Kernel& kernel, const GemmProblem& p, Operands& operands) {
  operands.poison_output();
  const GemmArguments& args = operands.arguments();
  if (const Status status = kernel.run(args); !status.ok()) {
    ADD_FAILURE() << status.error().text();
    return {};
  }
  EXPECT_EQ(operands.damage(), std::nullopt);
  std::vector<double> d;
  for (int64_t t = 0; t < p.batch; ++t)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        d.push_back(load_element(p.d.type, args.d, t * p.d.batch_stride + i * p.d.row_stride + j * p.d.column_stride));
  return d;
}

std::vector<Built> build_all(const Device& device, const GemmProblem& p, size_t most) {
  std::vector<Built> built;
  for (Source* source : select_sources(*device.state(), {}).value()) {
    if (!source->supports(p, device.facts())) continue;
    const std::vector<Candidate> kept = source->candidates(p, device.facts()).kept;
    for (size_t i = 0; i < std::min(most, kept.size()); ++i) {
      // Spread over the ranks: the first differ little.
      const Candidate& candidate = kept[i * kept.size() / std::min(most, kept.size())];
      auto kernel = source->build(p, device.facts(), candidate);
      EXPECT_TRUE(kernel.ok()) << candidate.config;
      if (kernel.ok()) built.push_back({source->name() + " " + candidate.config, std::move(*kernel)});
    }
  }
  return built;
}

}  // namespace gemmsmith
