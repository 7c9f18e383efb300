#include "compiler/kernel_file.h"

#include <limits>

#include "support/hash.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kMagic = "gskernel";
constexpr uint64_t kVersion = 2;
constexpr size_t kHashDigits = 32;
constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int kKinds = int(KernelArgument::Kind::scratch) + 1;

void put(std::string& bytes, uint64_t number) {
  for (int byte = 0; byte < 8; ++byte) bytes += char(uint8_t(number >> (8 * byte)));
}

void put(std::string& bytes, std::string_view text) {
  put(bytes, uint64_t(text.size()));
  bytes += text;
}

// Takes values off the front. Once one is not there, all that follow are empty, and failed() says so.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t number() {
    const std::string_view eight = take(8);
    uint64_t value = 0;
    for (size_t byte = 0; byte < eight.size(); ++byte) value |= uint64_t(uint8_t(eight[byte])) << (8 * byte);
    return value;
  }
  // One from 0 to `limit`.
  int small(int limit) {
    const uint64_t value = number();
    if (value > uint64_t(limit)) fail(concat("has a number ", value, " where ", limit, " is the largest"));
    return failed() ? 0 : int(value);
  }
  std::string_view text() { return take(number()); }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) fail(concat("ends before the ", size, " bytes that should follow"));
    if (error_) return {};
    const std::string_view taken = bytes_.substr(at_, size_t(size));
    at_ += size_t(size);
    return taken;
  }
  void fail(std::string limit) {
    if (!error_) error_ = Error{concat("byte ", at_), "the kernel", std::move(limit), {}, {}};
  }
  size_t left() const { return bytes_.size() - at_; }
  bool failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  std::optional<Error> error_;
};

void put(std::string& bytes, const GpuLaunch& gpu) {
  for (const int64_t number :
       {int64_t(gpu.threads), int64_t(gpu.cluster), gpu.shared_bytes, gpu.tile_rows, gpu.tile_columns,
        int64_t(gpu.splits), int64_t(gpu.persistent), int64_t(gpu.zeroed_scratch)})
    put(bytes, uint64_t(number));
  put(bytes, gpu.rows);
  put(bytes, gpu.columns);
}

void put(std::string& bytes, const TensorMapSpec& map) {
  for (const std::string* text : {&map.operand, &map.rows, &map.columns}) put(bytes, *text);
  for (const int number : {int(map.batched), int(map.rows_contiguous), int(map.type), map.box_rows, map.box_columns,
                           map.swizzle_bytes, map.l2_promotion_bytes})
    put(bytes, uint64_t(int64_t(number)));
}

GpuLaunch read_launch(Reader& reader) {
  GpuLaunch gpu;
  gpu.threads = reader.small(1024);
  gpu.cluster = reader.small(16);
  gpu.shared_bytes = reader.small(kMaxInt);
  gpu.tile_rows = reader.small(kMaxInt);
  gpu.tile_columns = reader.small(kMaxInt);
  gpu.splits = reader.small(kMaxInt);
  gpu.persistent = reader.small(1);
  gpu.zeroed_scratch = reader.small(1);
  gpu.rows = reader.text();
  gpu.columns = reader.text();
  return gpu;
}

TensorMapSpec read_tensor_map(Reader& reader) {
  TensorMapSpec map;
  map.operand = reader.text();
  map.rows = reader.text();
  map.columns = reader.text();
  map.batched = reader.small(1);
  map.rows_contiguous = reader.small(1);
  map.type = static_cast<TmaType>(reader.small(int(TmaType::tf32)));
  map.box_rows = reader.small(256);
  map.box_columns = reader.small(256);
  map.swizzle_bytes = reader.small(128);
  map.l2_promotion_bytes = reader.small(256);
  return map;
}

}  // namespace

std::string print_kernel(const CompiledKernel& kernel) {
  std::string bytes;
  put(bytes, kernel.name);
  put(bytes, uint64_t(kernel.signature.scratch_bytes));
  put(bytes, uint64_t(kernel.signature.arguments.size()));
  for (const KernelArgument& argument : kernel.signature.arguments) {
    put(bytes, uint64_t(argument.kind));
    put(bytes, argument.name);
  }
  put(bytes, kernel.signature.gpu);
  put(bytes, uint64_t(kernel.signature.tensor_maps.size()));
  for (const TensorMapSpec& map : kernel.signature.tensor_maps) put(bytes, map);
  put(bytes, kernel.object);
  return bytes;
}

Result<CompiledKernel> parse_kernel(std::string_view bytes) {
  Reader reader(bytes);
  CompiledKernel kernel;
  kernel.name = reader.text();
  kernel.signature.scratch_bytes = int64_t(reader.number());
  if (kernel.signature.scratch_bytes < 0) reader.fail("has less than no scratch memory");
  const uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) {  // a count that is wrong ends with the bytes
    const uint64_t kind = reader.number();
    if (kind >= uint64_t(kKinds)) reader.fail(concat("has an argument of kind ", kind, ", of ", kKinds));
    kernel.signature.arguments.push_back({KernelArgument::Kind(kind), std::string(reader.text())});
  }
  kernel.signature.gpu = read_launch(reader);
  const uint64_t maps = reader.number();
  for (uint64_t i = 0; i < maps && !reader.failed(); ++i)
    kernel.signature.tensor_maps.push_back(read_tensor_map(reader));
  kernel.object = reader.text();
  if (reader.left() != 0) reader.fail(concat("is followed by ", reader.left(), " bytes more"));
  if (reader.failed()) return *reader.error();
  return kernel;
}

std::string print_kernel_file(std::string_view key, const CompiledKernel& kernel) {
  std::string bytes(kMagic);
  put(bytes, kVersion);
  put(bytes, key);
  put(bytes, print_kernel(kernel));
  return bytes + hash_hex(bytes);
}

Result<std::optional<CompiledKernel>> parse_kernel_file(std::string_view bytes, std::string_view key) {
  if (bytes.size() < kMagic.size() + 8 + kHashDigits || !bytes.starts_with(kMagic))
    return Error{"byte 0", "the file", "is no kernel file, or is truncated", {}, {}};
  const std::string_view content = bytes.substr(0, bytes.size() - kHashDigits);
  if (hash_hex(content) != bytes.substr(content.size()))
    return Error{concat("byte ", content.size()), "the hash", "does not agree with the content", {}, {}};
  Reader reader(content.substr(kMagic.size()));
  if (reader.number() != kVersion) return std::optional<CompiledKernel>();
  if (reader.text() != key) return std::optional<CompiledKernel>();
  const std::string_view payload = reader.text();
  if (reader.left() != 0) reader.fail(concat("is followed by ", reader.left(), " bytes more"));
  if (reader.failed()) return *reader.error();
  GS_TRY(CompiledKernel kernel, parse_kernel(payload));
  return std::optional<CompiledKernel>(std::move(kernel));
}

}  // namespace gemmsmith
