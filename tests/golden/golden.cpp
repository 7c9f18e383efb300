#include "golden/golden.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gemmsmith::test {

using nlohmann::json;

namespace {
constexpr size_t kAll = 128, kSome = 16;
}

std::string output_hash(const std::vector<uint32_t>& words) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint32_t word : words)
    for (int i = 0; i < 4; ++i) hash = (hash ^ (word >> 8 * i & 0xff)) * 0x100000001b3u;
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

GoldenResult golden_result(const GoldenKernel& kernel, const std::vector<uint32_t>& output, const std::string& ptx) {
  GoldenResult r{ptx_hash(ptx), output_hash(output), output};
  if (kernel.tolerance == 0 && r.words.size() > kAll) r.words.resize(kSome);
  return r;
}

Result<GoldenFile> read_golden(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const json in = json::parse(text.str(), nullptr, false);
  if (!in.is_object()) return Error{path, "the file", "is not a golden file", {}, {}};
  GoldenFile file{in.at("date"), in.at("device"), in.at("driver"), in.at("assembler"), {}};
  for (const auto& [name, k] : in.at("kernels").items())
    file.kernels[name] = {k.at("ptx_hash"), k.at("output_hash"), k.at("words").get<std::vector<uint32_t>>()};
  return file;
}

std::string print_golden(const GoldenFile& file) {
  json kernels = json::object();
  for (const auto& [name, k] : file.kernels)
    kernels[name] = {{"ptx_hash", k.ptx_hash}, {"output_hash", k.output_hash}, {"words", k.words}};
  const json out = {{"date", file.date},
                    {"device", file.device},
                    {"driver", file.driver},
                    {"assembler", file.assembler},
                    {"kernels", kernels}};
  std::string text;  // one kernel a line
  for (const char c : out.dump()) {
    text += c;
    if (c == '}' && text.size() > 2) text += '\n';
  }
  return text;
}

std::string compare_golden(const GoldenKernel& kernel, const GoldenResult& recorded,
                           const std::vector<uint32_t>& output) {
  if (kernel.tolerance == 0 && output_hash(output) == recorded.output_hash) return {};
  for (size_t i = 0; i < recorded.words.size() && i < output.size(); ++i) {
    const uint32_t there = recorded.words[i], here = output[i];
    if (there == here) continue;
    const float x = std::bit_cast<float>(there), y = std::bit_cast<float>(here);
    if (kernel.tolerance > 0 && std::abs(x - y) <= kernel.tolerance * std::abs(x)) continue;
    std::ostringstream text;
    text << "word " << i << " is " << std::hex << here << " (" << y << "), on the GPU " << there << " (" << x << ")";
    return text.str();
  }
  return kernel.tolerance > 0 ? std::string()
                              : "a word after the first " + std::to_string(recorded.words.size()) + " differs";
}

}  // namespace gemmsmith::test
