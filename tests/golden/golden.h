// What a GPU once gave, and whether the simulator agrees.
#pragma once
#include <map>
#include <string>

#include "golden/kernels.h"

namespace gemmsmith::test {

struct GoldenResult {
  std::string ptx_hash, output_hash;
  std::vector<uint32_t>
      words;  // all of short outputs and of those that are compared with a tolerance; else the first 16
};
struct GoldenFile {
  std::string date, device, driver, assembler;
  std::map<std::string, GoldenResult> kernels;
};
Result<GoldenFile> read_golden(const std::string& path);
std::string print_golden(const GoldenFile&);
std::string output_hash(const std::vector<uint32_t>&);
GoldenResult golden_result(const GoldenKernel&, const std::vector<uint32_t>& output, const std::string& ptx);
// Nothing if they agree; else the first difference.
std::string compare_golden(const GoldenKernel&, const GoldenResult& recorded, const std::vector<uint32_t>& output);

}  // namespace gemmsmith::test
