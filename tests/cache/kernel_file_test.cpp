#include "compiler/kernel_file.h"

#include <gtest/gtest.h>

#include "kernels.h"
#include "support/hash.h"
#include "support/random.h"

namespace gemmsmith {
namespace {

TEST(KernelFile, KernelsReadBack) {
  for (int number = 0; number < 30; ++number) {
    const CompiledKernel kernel = kernel_of(number);
    EXPECT_TRUE(same(parse_kernel(print_kernel(kernel)).value(), kernel));
    const auto read = parse_kernel_file(print_kernel_file(key_of(number), kernel), key_of(number)).value();
    ASSERT_TRUE(read);
    EXPECT_TRUE(same(*read, kernel));
  }
  EXPECT_TRUE(same(parse_kernel(print_kernel({})).value(), {}));
}

TEST(KernelFile, EveryTruncationIsAnError) {
  const CompiledKernel kernel = kernel_of(0);
  const std::string bytes = print_kernel(kernel), file = print_kernel_file("key", kernel);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(parse_kernel(bytes.substr(0, size)).ok()) << size;
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse_kernel_file(file.substr(0, size), "key").ok()) << size;
  EXPECT_EQ(parse_kernel(bytes + "x").error().text(),
            "byte " + std::to_string(bytes.size()) + ": the kernel is followed by 1 bytes more");
  EXPECT_EQ(parse_kernel("short").error().text(), "byte 0: the kernel ends before the 8 bytes that should follow");
  EXPECT_FALSE(parse_kernel_file(file + "x", "key").ok());
  EXPECT_EQ(parse_kernel_file("", "key").error().text(), "byte 0: the file is no kernel file, or is truncated");
}

TEST(KernelFile, EveryChangedBitIsFound) {
  const std::string file = print_kernel_file("key", kernel_of(0));
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string changed = file;
    changed[bit / 8] = char(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_kernel_file(changed, "key").ok()) << bit;
  }
}

TEST(KernelFile, ReadingIsBounded) {
  // Without the hash in front of it: sizes and counts at random, as a forged file would have them.
  Random random(4);
  const std::string bytes = print_kernel(kernel_of(1));
  for (int i = 0; i < 5000; ++i) {
    std::string changed = bytes.substr(0, 120);
    for (uint64_t n = 1 + random.below(8); n > 0; --n) changed[random.below(changed.size())] = char(random.next());
    (void)parse_kernel(changed).ok();
  }
  std::string huge = print_kernel({});
  for (size_t byte = 16; byte < 24; ++byte) huge[byte] = char(0xff);  // the count of arguments
  EXPECT_FALSE(parse_kernel(huge).ok());
}

TEST(KernelFile, FilesOfOtherKeysAndFormsAreNotOurs) {
  const std::string file = print_kernel_file("key", kernel_of(0));
  EXPECT_FALSE(parse_kernel_file(file, "another key").value().has_value());
  EXPECT_FALSE(parse_kernel_file(file, "").value().has_value());
  std::string later = file.substr(0, file.size() - 32);
  later[8] = 3;
  EXPECT_FALSE(parse_kernel_file(later + hash_hex(later), "key").value().has_value());
}

}  // namespace
}  // namespace gemmsmith
