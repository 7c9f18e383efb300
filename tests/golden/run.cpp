#include <cstring>

#include "golden/kernels.h"

namespace gemmsmith::test {

Result<std::vector<uint32_t>> run_golden(Target& target, const GoldenKernel& golden) {
  GS_TRY(const CompiledKernel compiled,
         target.compile([&](IrContext& context) { return record_gpu(context, golden.name, golden.stage); },
                        {.verify = true}));
  GS_TRY(const std::unique_ptr<LoadedKernel> kernel, target.load(compiled));
  // Aligned as allocations on a device are.
  std::vector<uint8_t> memory(golden.input.size() + size_t(golden.output_words) * 4 + 2048);
  const auto aligned = [](void* p) {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(p) + 255) / 256 * 256);
  };
  uint8_t* const in = aligned(memory.data());
  uint8_t* const out = aligned(in + golden.input.size());
  std::memcpy(in, golden.input.data(), golden.input.size());
  std::memset(out, 0xff, size_t(golden.output_words) * 4);

  using Kind = KernelArgument::Kind;
  std::vector<int64_t> words;
  std::vector<OperandMemory> ranges;
  const auto value = [](const std::map<std::string, int64_t>& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? 0 : found->second;
  };
  for (const KernelArgument& a : kernel->signature().arguments) {
    const bool output = a.name == "out" || a.name == "d";
    switch (a.kind) {
      case Kind::pointer:
        words.push_back(reinterpret_cast<int64_t>(output ? out : in + value(golden.offsets, a.name)));
        if (output)
          ranges.push_back({a.name, out, golden.output_words * 4, true});
        else
          ranges.push_back({a.name, in, int64_t(golden.input.size()), false});
        break;
      case Kind::extent:
        words.push_back(value(golden.extents, a.name));
        break;
      case Kind::row_stride:
      case Kind::column_stride:
        words.push_back(value(golden.strides, a.name));
        break;
      default:
        words.push_back(0);
    }
  }
  // Each memory once, whatever it is called.
  std::vector<OperandMemory> distinct;
  for (const OperandMemory& m : ranges) {
    bool known = false;
    for (const OperandMemory& d : distinct) known |= d.base == m.base;
    if (!known) distinct.push_back(m);
  }
  kernel->set_memory(std::move(distinct));
  GS_CHECK(kernel->launch(words.data()));
  std::vector<uint32_t> result(size_t(golden.output_words));
  std::memcpy(result.data(), out, result.size() * 4);
  return result;
}

std::string ptx_hash(const std::string& ptx) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  size_t at = 0;
  while (at < ptx.size()) {
    size_t end = ptx.find('\n', at);
    if (end == std::string::npos) end = ptx.size();
    std::string line = ptx.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    line = line.substr(first);
    if (line.starts_with("//") || line.starts_with(".loc") || line.starts_with(".file") || line.starts_with("$L__tmp"))
      continue;
    if (line.starts_with(".section")) break;  // debug information
    for (const char c : line) hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace gemmsmith::test
