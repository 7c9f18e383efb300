// Laws of what passes between stores, over stores at random.
#include <gtest/gtest.h>

#include <utility>

#include "gemmsmith/json.h"
#include "random_report.h"
#include "sample_report.h"
#include "support/text.h"
#include "tuner/store_line.h"

namespace gemmsmith {
namespace {

Store copy_of(const Store& store) {
  Store copy = Store::open(":memory:").value();
  EXPECT_TRUE(copy.merge(store).ok());
  return copy;
}

std::string merged(const Store& a, const Store& b) {
  Store sum = copy_of(a);
  EXPECT_TRUE(sum.merge(b).ok());
  return exported(sum);
}

TEST(StoreExchange, MergingIsAUnion) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Store a = random_store(random), b = random_store(random), c = random_store(random);
    EXPECT_EQ(exported(copy_of(a)), exported(a));
    EXPECT_EQ(merged(a, b), merged(b, a)) << "commutative";
    EXPECT_EQ(merged(a, a), exported(a)) << "idempotent";
    Store ab = copy_of(a), bc = copy_of(b);
    ASSERT_TRUE(ab.merge(b).ok());
    ASSERT_TRUE(bc.merge(c).ok());
    EXPECT_EQ(merged(ab, c), merged(a, bc)) << "associative";
    EXPECT_EQ(merged(ab, b), exported(ab)) << "absorbs what it has";
  }
}

TEST(StoreExchange, TheNewestDoesNotDependOnTheOrderOfMerging) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Store a = random_store(random), b = random_store(random);
    Store ab = copy_of(a), ba = copy_of(b);
    ASSERT_TRUE(ab.merge(b).ok());
    ASSERT_TRUE(ba.merge(a).ok());
    const std::vector<TuneReport> newest = ab.list().value();
    for (const TuneReport& r : newest) {
      const auto other = ba.find(r.problem, r.provenance.device).value();
      ASSERT_TRUE(other);
      EXPECT_EQ(to_json(*other), to_json(r)) << seed;
      const auto anywhere = ab.find(r.problem, {}).value();
      EXPECT_EQ(to_json(*anywhere), to_json(*ba.find(r.problem, {}).value())) << seed;
    }
    EXPECT_TRUE(ab.diff(ba).value().empty());
  }
}

TEST(StoreExchange, MergeCounts) {
  Random random(3);
  Store a = Store::open(":memory:").value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(a.save(random_report(random)).ok());
  Store b = copy_of(a);
  ASSERT_TRUE(b.save(random_report(random)).ok());
  const StoreAdded first = a.merge(b).value();
  EXPECT_EQ(first.added, 1);
  EXPECT_EQ(first.known, 5);
  const StoreAdded itself = a.merge(a).value();
  EXPECT_EQ(itself.added, 0);
  EXPECT_EQ(itself.known, 6);
}

TEST(StoreExchange, ExportsAreCanonicalAndImportBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Store store = random_store(random);
    const std::string lines = exported(store);
    EXPECT_EQ(exported(store), lines);
    // In any order, twice, with blank lines: what is said is the same.
    std::vector<std::string> parts;
    for (const std::string_view line : split(lines, '\n')) parts.emplace_back(line);
    std::vector<std::string> shuffled = parts;
    shuffled.insert(shuffled.end(), parts.begin(), parts.end());
    for (size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.next() % i]);
    Store back = Store::open(":memory:").value();
    const StoreAdded count = back.import_lines(join(shuffled, "\n"), "lines").value();
    EXPECT_EQ(exported(back), lines);
    EXPECT_EQ(count.added, int64_t(parts.size()) - 2) << "all but the header and what follows the last newline";
    EXPECT_EQ(count.known, count.added);
  }
}

TEST(StoreExchange, ReportsPassUnchanged) {
  Store store = Store::open(":memory:").value(), back = Store::open(":memory:").value();
  const TuneReport report = sample_report();
  ASSERT_TRUE(store.save(report).ok());
  ASSERT_TRUE(back.import_lines(exported(store), "lines").ok());
  EXPECT_EQ(to_json(*back.find(report.problem, report.provenance.device).value()),
            to_json(*store.find(report.problem, report.provenance.device).value()));
  const std::string lines = exported(store);
  EXPECT_TRUE(
      lines.starts_with("{\"gemmsmith_store_lines\":1}\n{\"problem\":\"" + report.problem.print() +
                        "\",\"winner\":1,\"margin\":0.034,\"decision\":\"native gemm_packed mr=8: lowest median\","))
      << lines;
  EXPECT_TRUE(lines.ends_with(",\"stamp\":\"2026-12-01T11:08:14Z+000000\"}\n")) << lines;
}

TEST(StoreExchange, SelectionsAreSubsets) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const Store store = random_store(random);
    Store newest = Store::open(":memory:").value(), device = Store::open(":memory:").value();
    ASSERT_TRUE(newest.import_lines(exported(store, {.newest = true}), "lines").ok());
    EXPECT_TRUE(store.diff(newest).value().empty());
    EXPECT_EQ(exported(newest, {.newest = true}), exported(newest)) << "nothing but the newest";
    ASSERT_TRUE(device.import_lines(exported(store, {.device = "cpu 1"}), "lines").ok());
    EXPECT_EQ(device.list().value().size(), store.list("cpu 1").value().size());
    EXPECT_TRUE(device.list("cpu 0").value().empty());
  }
}

TEST(StoreExchange, DiffSaysEachDifferenceFromBothSides) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Store a = random_store(random), b = random_store(random);
    const auto there = a.diff(b).value(), here = b.diff(a).value();
    ASSERT_EQ(there.size(), here.size());
    for (size_t i = 0; i < there.size(); ++i) {
      EXPECT_EQ(there[i].problem, here[i].problem);
      EXPECT_EQ(there[i].device, here[i].device);
      EXPECT_EQ(there[i].here.has_value(), here[i].there.has_value());
      EXPECT_EQ(there[i].same_winner(), here[i].same_winner());
      EXPECT_EQ(there[i].time_ratio() > 0, here[i].time_ratio() > 0);
      if (there[i].time_ratio() > 0) {
        EXPECT_NEAR(there[i].time_ratio() * here[i].time_ratio(), 1, 1e-12);
      }
    }
    const auto anew = a.diff(Store::open(":memory:").value()).value();
    EXPECT_EQ(anew.size(), a.list().value().size());
  }
}

std::string line_of(const TuneReport& report) { return print_line(report, "2026-12-01T11:08:14Z+000000"); }

TEST(StoreExchange, ImportsAllOrNothingAndNamesTheLine) {
  Store store = Store::open(":memory:").value();
  const std::string good = line_of(sample_report());
  const auto error = [&](const std::string& line) {
    const auto result = store.import_lines(good + "\n\n" + line + "\n" + good, "team.jsonl");
    EXPECT_TRUE(store.list().value().empty()) << "nothing of it is in";
    return result.ok() ? std::string("imported") : result.error().text();
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return error(line.replace(at, from.size(), to));
  };
  const std::string no_object =
      "team.jsonl:3: report: is not a JSON object; give one decision a line, as gemmsmith store export writes them; a "
      "merge may have left marks";
  EXPECT_EQ(error("<<<<<<< HEAD"), no_object);
  EXPECT_EQ(error(good + good), no_object);
  EXPECT_EQ(error(good.substr(0, good.size() / 2)), no_object);
  EXPECT_EQ(error("[]"), no_object);
  EXPECT_EQ(error("{}"), "team.jsonl:3: report: key \"problem\" is missing");
  EXPECT_EQ(error("{\"gemmsmith_store_lines\":2}"),
            "team.jsonl:3: header: version 2 of the lines is not one that gemmsmith " GEMMSMITH_VERSION
            " knows, 1 to 1; use the gemmsmith that exported them, or a newer one");
  EXPECT_EQ(error("{\"gemmsmith_store_lines\":\"x\"}"), "team.jsonl:3: header: \"x\" is not a version");
  EXPECT_EQ(changed("\"winner\":1", "\"winner\":7"), "team.jsonl:3: report.winner: 7 is not the index of a candidate");
  EXPECT_EQ(changed("\"winner\":1", "\"winner\":0"),
            "team.jsonl:3: report.winner: candidate 0, native gemm_streaming, has the state wrong, not won");
  EXPECT_EQ(changed("\"winner\":1", "\"winner\":null"),
            "team.jsonl:3: report.candidates[1].state: \"won\" but report.winner is -1");
  EXPECT_EQ(
      changed("\"passed\":true", "\"passed\":false"),
      "team.jsonl:3: report.winner: candidate 1, native gemm_packed mr=8, has not passed the numeric gate; tune the "
      "problem again");
  EXPECT_EQ(changed("\"median_us\":99.125", "\"median_us\":\"nan\""),
            "team.jsonl:3: report.winner: candidate 1, native gemm_packed mr=8, has no time; tune the problem again");
  EXPECT_EQ(changed("\"samples\":25", "\"samples\":0"),
            "team.jsonl:3: report.candidates[1].timing.samples: 0 is less than 1");
  EXPECT_EQ(changed("\"measured_at\":\"2026-12-01T11:08:14Z\"", "\"measured_at\":\"yesterday\""),
            "team.jsonl:3: report.provenance.measured_at: \"yesterday\" is not a time in UTC, as 2026-12-01T11:08:14Z");
  EXPECT_EQ(changed("\"device\":\"cpu | AuthenticAMD\"", "\"device\":\"\""),
            "team.jsonl:3: report.provenance.device: \"\" is empty");
  EXPECT_EQ(
      changed("Z+000000", "Z"),
      "team.jsonl:3: report.stamp: \"2026-12-01T11:08:14Z\" is not a stamp, as 2026-12-01T11:08:14Z+000000; leave "
      "it out to have that of measured_at");
  EXPECT_EQ(changed("\"stamp\":\"2026-12-01T11:08:14Z+000000\"", "\"stamp\":3"),
            "team.jsonl:3: report.stamp: 3 is not a string");
  EXPECT_TRUE(changed("\"problem\":\"", "\"problem\":\"q").starts_with("team.jsonl:3: problem")) << "its own errors";
}

TEST(StoreExchange, LinesByHandNeedNoStampAndMayHaveMore) {
  std::string line = line_of(sample_report());
  const std::string stamp = ",\"stamp\":\"2026-12-01T11:08:14Z+000000\"";
  line.replace(line.find(stamp), stamp.size(), ", \"reviewed_by\": \"someone\"");
  Store store = Store::open(":memory:").value();
  ASSERT_TRUE(store.import_lines(line, "by hand").ok());
  EXPECT_EQ(exported(store), print_lines_header() + "\n" + line_of(sample_report()) + "\n");
}

TEST(StoreExchange, RandomDamageToLinesIsRefusedOrHarmless) {
  Random random(11);
  const std::string lines = line_of(sample_report());
  Store store = Store::open(":memory:").value();
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = lines;
    for (uint64_t n = 1 + random.next() % 3; n > 0; --n) damaged[random.next() % damaged.size()] = char(random.next());
    accepted += store.import_lines(damaged, "lines").ok();
  }
  EXPECT_GT(accepted, 0) << "in the words of a reason, say";
  EXPECT_LT(accepted, 3000);
  EXPECT_TRUE(store.verify().value().empty());
  const std::string back = exported(store);
  Store copy = Store::open(":memory:").value();
  ASSERT_TRUE(copy.import_lines(back, "lines").ok());
  EXPECT_EQ(exported(copy), back);
}

}  // namespace
}  // namespace gemmsmith
