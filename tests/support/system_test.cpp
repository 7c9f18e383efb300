// Files, libraries, environment, memory, time, hashes, random numbers and device facts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "gemmsmith/data_type.h"
#include "gemmsmith/device.h"
#include "support/aligned_buffer.h"
#include "support/clock.h"
#include "support/dynamic_library.h"
#include "support/environment.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(concat(testing::TempDir(), "gemmsmith_file_test_", ::getpid())) {
    EXPECT_TRUE(make_directories(folder_).ok());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) count += entry.is_regular_file();
    return count;
  }
  std::string folder_;
};

TEST_F(FileTest, ReadsBackWhatWasWrittenAndLeavesNoTemporary) {
  std::string content("a\0b\n", 4);
  content += std::string(200000, 'x');
  for (const std::string& text : {content, std::string(), std::string("again")}) {
    ASSERT_TRUE(write_file_atomic(path("f"), text).ok());
    EXPECT_EQ(read_file(path("f")).value(), text);
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, ReadersNeverSeeAPartOfAFile) {
  const std::string contents[] = {std::string(300000, 'a'), std::string(300000, 'b')};
  ASSERT_TRUE(write_file_atomic(path("f"), contents[0]).ok());
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(write_file_atomic(path("f"), contents[i % 2]).ok());
  });
  for (int i = 0; i < 100; ++i) {
    const std::string seen = read_file(path("f")).value();
    EXPECT_TRUE(seen == contents[0] || seen == contents[1]);
  }
  writer.join();
}

TEST_F(FileTest, ErrorsNameThePathAndTheReason) {
  EXPECT_EQ(read_file(path("none")).error().text(), path("none") + ": cannot be opened (No such file or directory)");
  EXPECT_EQ(read_file(folder_).error().text(), folder_ + ": cannot be read (Is a directory)");
  EXPECT_EQ(write_file_atomic(path("no/such/f"), "x").error().text(),
            path("no/such/f") + ": cannot be created (No such file or directory)");
  EXPECT_EQ(write_file_atomic(folder_, "x").error().text(), folder_ + ": cannot be replaced (Is a directory)");
  ASSERT_TRUE(write_file_atomic(path("plain"), "x").ok());
  EXPECT_EQ(make_directories(path("plain")).error().text(),
            path("plain") + ": cannot be created as a folder (Not a directory)");
}

TEST_F(FileTest, MakesAllParents) {
  EXPECT_TRUE(make_directories(path("a/b/c")).ok());
  EXPECT_TRUE(make_directories(path("a/b/c")).ok());
  EXPECT_TRUE(file_exists(path("a/b/c")));
  EXPECT_FALSE(file_exists(path("a/x")));
  EXPECT_EQ(parent_of("a/b"), "a");
  EXPECT_EQ(parent_of("a"), ".");
}

TEST(DynamicLibrary, TakesTheFirstNameThatOpens) {
  const std::string names[] = {"libgemmsmith_no_such.so.1", "libm.so.6"};
  auto library = DynamicLibrary::open(names);
  ASSERT_TRUE(library.ok()) << library.error().text();
  EXPECT_EQ(library->name(), "libm.so.6");
  EXPECT_NE(library->path().find("libm.so.6"), std::string::npos);
  const auto cosine = library->function<double(double)>("cos");
  ASSERT_TRUE(cosine.ok());
  EXPECT_EQ((*cosine)(0), 1);
  const std::string error = library->find("gemmsmith_no_such_symbol").error().text();
  EXPECT_EQ(error.find(library->path() + ": has no symbol gemmsmith_no_such_symbol ("), 0u) << error;
}

TEST(DynamicLibrary, AnAbsentOneListsEveryNameTried) {
  const std::string names[] = {"libgemmsmith_none.so.2", "libgemmsmith_none.so"};
  EXPECT_EQ(
      DynamicLibrary::open(names).error().text(),
      "libgemmsmith_none.so.2: cannot be opened\n"
      "  tried libgemmsmith_none.so.2: libgemmsmith_none.so.2: cannot open shared object file: No such file or "
      "directory\n"
      "  tried libgemmsmith_none.so: libgemmsmith_none.so: cannot open shared object file: No such file or directory");
}

TEST(Environment, SetAndUnset) {
  set_environment_variable("GEMMSMITH_TEST_VARIABLE", "x");
  EXPECT_EQ(environment_variable("GEMMSMITH_TEST_VARIABLE"), "x");
  set_environment_variable("GEMMSMITH_TEST_VARIABLE", "");
  EXPECT_EQ(environment_variable("GEMMSMITH_TEST_VARIABLE"), "");
  unset_environment_variable("GEMMSMITH_TEST_VARIABLE");
  EXPECT_EQ(environment_variable("GEMMSMITH_TEST_VARIABLE"), std::nullopt);
}

TEST(AlignedBuffer, IsAligned) {
  for (const int64_t bytes : {int64_t(0), int64_t(1), int64_t(65), int64_t(5) << 20})
    for (const int64_t alignment : {64, 4096, 2 << 20})
      for (const int64_t guard : {0, 100}) {
        const auto buffer = AlignedBuffer::allocate(bytes, {alignment, guard});
        ASSERT_TRUE(buffer.ok());
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % uintptr_t(alignment), 0u);
        EXPECT_EQ(buffer->size_bytes(), bytes);
        std::fill_n(buffer->data(), bytes, char(1));
        EXPECT_EQ(buffer->overwritten_guard(), std::nullopt);
      }
}

TEST(AlignedBuffer, FindsEveryOverwrittenGuardByte) {
  for (const int64_t bytes : {int64_t(0), int64_t(10), int64_t(4) << 20})
    for (const int64_t offset : {int64_t(-1), int64_t(-128), bytes, bytes + 1, bytes + 127}) {
      auto buffer = AlignedBuffer::allocate(bytes, {64, 128}).value();
      buffer.data()[offset] = 0;
      EXPECT_EQ(buffer.overwritten_guard(), offset);
      const AlignedBuffer moved = std::move(buffer);
      EXPECT_EQ(moved.overwritten_guard(), offset);
    }
}

TEST(AlignedBuffer, TooMuchIsAnError) {
  EXPECT_EQ(AlignedBuffer::allocate(int64_t(1) << 62).error().text(),
            "memory: 4611686 TB cannot be allocated; use a smaller problem or free memory");
}

TEST(Clock, TimestampsAreUtc) {
  EXPECT_EQ(format_timestamp(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_timestamp(951827696), "2000-02-29T12:34:56Z");
  EXPECT_EQ(format_timestamp(-1), "1969-12-31T23:59:59Z");
  const SystemClock clock;
  EXPECT_EQ(clock.timestamp().size(), 20u);
  const double before = clock.seconds();
  EXPECT_GE(clock.seconds(), before);
}

TEST(Hash, IsThePublishedFunction) {
  // Values of the FNV reference for 128-bit FNV-1a.
  EXPECT_EQ(hash_hex(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(hash_hex("a"), "d228cb696f1a8caf78912b704e4a8964");
}

TEST(Hash, PartsAreFramed) {
  EXPECT_NE(Hash().add("ab").add("c").hex(), Hash().add("a").add("bc").hex());
  EXPECT_NE(Hash().add("").hex(), Hash().hex());
  EXPECT_NE(Hash().add(1).add(2).hex(), Hash().add(2).add(1).hex());
  EXPECT_EQ(Hash().add(int64_t(-5)).hex(), Hash().add(int8_t(-5)).hex());
}

TEST(Random, IsTheSameForASeed) {
  Random a(5), b(5), c(6);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = a.next();
    ASSERT_EQ(value, b.next());
    ASSERT_NE(value, c.next());
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Random, BelowReachesAllAndNoMore) {
  Random random(7);
  for (const uint64_t bound : {uint64_t(1), uint64_t(2), uint64_t(7), uint64_t(100)}) {
    std::vector<int> hits(bound);
    for (uint64_t i = 0; i < 1000 * bound; ++i) ++hits[random.below(bound)];
    for (const int count : hits) EXPECT_NEAR(count, 1000, 160);  // five standard deviations
  }
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = random.between(-3, 3);
    ASSERT_TRUE(value >= -3 && value <= 3);
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
  }
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(8);
  const int count = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.012);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.15);
}

TEST(DataType, NamesAreInverse) {
  for (const DataType type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::i8, DataType::i32})
    EXPECT_EQ(data_type_named(name_of(type)), type);
  EXPECT_EQ(data_type_named("float"), std::nullopt);
  EXPECT_EQ(data_type_named(""), std::nullopt);
  EXPECT_EQ(bytes_of(DataType::bf16), 2);
  EXPECT_TRUE(is_float(DataType::f16));
  EXPECT_FALSE(is_float(DataType::i32));
}

TEST(DeviceFacts, FingerprintTellsApartWhatDecidesAndOnlyThat) {
  DeviceFacts facts;
  facts.kind = "cpu";
  facts.vendor = "AuthenticAMD";
  facts.model = "AMD EPYC 9B45";
  facts.features = {"avx2", "avx512f"};
  facts.threads = 2;
  facts.vector_bytes = 64;
  facts.l1_bytes = 49152;
  facts.l2_bytes = 1048576;
  facts.last_level_bytes = 33554432;
  EXPECT_EQ(facts.fingerprint(),
            "cpu | AuthenticAMD | AMD EPYC 9B45 | avx2,avx512f | threads=2 vector_bytes=64 l1=49152 l2=1048576 "
            "last_level=33554432");
  DeviceFacts measured = facts;
  measured.peak_f32_gflops = 100;
  EXPECT_EQ(measured.fingerprint(), facts.fingerprint());
  DeviceFacts other = facts;
  other.threads = 4;
  EXPECT_NE(other.fingerprint(), facts.fingerprint());
}

}  // namespace
}  // namespace gemmsmith
