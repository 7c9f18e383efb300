// What comes from other machines' files: exported lines of a store, kernels of the binary cache.
#include "compiler/kernel_file.h"
#include "fuzz/targets.h"
#include "gemmsmith/store.h"
#include "support/hash.h"
#include "support/text.h"

namespace gemmsmith::fuzz {
namespace {

std::string exported(const Store& store) {
  std::string lines;
  const Status done = store.export_lines({}, [&](std::string_view line) { lines += line; });
  require(done.ok(), "a store exports what it took", done.ok() ? "" : done.error().text());
  return lines;
}

Store empty_store() {
  auto store = Store::open(":memory:");
  require(store.ok(), "a store in memory opens");
  return std::move(*store);
}

}  // namespace

void store_lines(std::string_view lines) {
  Store store = empty_store();
  const auto added = store.import_lines(lines, "fuzzed.jsonl");
  if (!added.ok()) {
    require_readable(added.error());
    require(split(exported(store), '\n').size() == 2, "a wrong line leaves the store as it was");
    return;
  }
  const std::string out = exported(store);
  Store other = empty_store();
  const auto copied = other.import_lines(out, "exported.jsonl");
  require(copied.ok(), "what was exported can be imported", copied.ok() ? "" : copied.error().text());
  require(copied->added == added->added && exported(other) == out, "an import of an export is the same store", out);
  const auto again = store.import_lines(out, "exported.jsonl");
  require(again.ok() && again->added == 0, "what is known is not added again", out);
  const auto findings = store.verify();
  require(findings.ok() && findings->empty(), "an import leaves a sound store",
          findings.ok() && !findings->empty() ? findings->front().text() : "");
}

// Once as a file and once as what follows the checks of a file, which no fuzzer guesses.
void kernel_file(std::string_view bytes) {
  const std::string key = "gemm_packed mr=8";
  if (const auto read = parse_kernel_file(bytes, key); !read.ok()) require_readable(read.error());
  const auto kernel = parse_kernel(bytes);
  if (!kernel.ok()) return require_readable(kernel.error());
  require(print_kernel(*kernel) == bytes, "a kernel has one form", bytes);
  const std::string file = print_kernel_file(key, *kernel);
  const auto back = parse_kernel_file(file, key);
  require(back.ok() && *back && print_kernel(**back) == bytes, "a written kernel reads back", bytes);
  const auto other = parse_kernel_file(file, "gemv unroll=2");
  require(other.ok() && !*other, "a kernel of another key is none", bytes);
}

}  // namespace gemmsmith::fuzz
