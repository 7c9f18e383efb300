// What can go wrong around a store: nothing that was saved is lost, nothing is damaged, and the message says what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "faulty_disk.h"
#include "helpers/killed.h"
#include "random_report.h"
#include "sample_report.h"
#include "tuner/sqlite.h"

namespace gemmsmith {
namespace {

class StoreFaults : public StoreFolder {
 protected:
  // Of this many problems, from the first on, the store has all; and it is sound.
  void expect_saved(int64_t count) {
    Store store = Store::open(path_).value();
    TuneReport report = sample_report();
    for (int64_t m = 1; m <= count; ++m)
      EXPECT_TRUE(store.find(make_problem(m, 8, 8, DataType::f32), report.provenance.device).value()) << m;
    EXPECT_TRUE(store.verify().value().empty());
  }
  static Status save(Store& store, int64_t m) {
    TuneReport report = sample_report();
    report.problem = make_problem(m, 8, 8, DataType::f32);
    return store.save(report);
  }
};

TEST_F(StoreFaults, ProcessesThatAreKilledLoseNothingThatTheySaved) {
  Random random(9);
  const auto lines = run_and_kill([&](int i) { return Words{GEMMSMITH_STORE_WORKER, path_, std::to_string(i)}; },
                                  /*at_once=*/8, /*kills=*/48, /*most_lines=*/12, random);
  Store store = Store::open(path_).value();
  EXPECT_TRUE(store.verify().value().empty());
  int64_t saved = 0;
  for (const std::string& line : lines) {
    ASSERT_TRUE(line.starts_with("saved ")) << line;
    size_t end = 0;
    const int64_t m = std::stoll(line.substr(6), &end), n = std::stoll(line.substr(6 + end));
    EXPECT_TRUE(store.find(make_problem(m, n, 8, DataType::f32), sample_report().provenance.device).value()) << line;
    ++saved;
  }
  EXPECT_GT(saved, 40);
  EXPECT_GE(int64_t(store.list().value().size()), saved) << "what was saved but not yet said may be there too";
}

TEST_F(StoreFaults, AFullDiskFailsTheSaveAndNothingElse) {
  int failures = 0;
  for (int writes = 0; writes < 120; writes += 1 + writes / 12) {
    SCOPED_TRACE(writes);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    int64_t saved = 0;
    {
      FaultyDisk disk;
      disk.full_after(writes);
      auto store = Store::open(path_);
      Status status = store.ok() ? Status(Done{}) : Status(store.error());
      for (; status.ok() && saved < 6;) {
        status = save(*store, saved + 1);
        if (status.ok()) ++saved;
      }
      if (!status.ok()) {
        ++failures;
        EXPECT_EQ(status.error().text(),
                  "store " + path_ +
                      ": SQLite says: database or disk is full; free space on its disk, or name another with "
                      "--store or GEMMSMITH_STORE");
      }
    }
    expect_saved(saved);
  }
  EXPECT_GT(failures, 10);
}

TEST_F(StoreFaults, ItGoesOnWhenThereIsSpaceAgain) {
  FaultyDisk disk;
  {
    Store store = Store::open(path_).value();
    ASSERT_TRUE(save(store, 1).ok());
    disk.full_after(0);
    EXPECT_FALSE(save(store, 2).ok());
    EXPECT_TRUE(store.find(make_problem(1, 8, 8, DataType::f32), {}).value().has_value()) << "reading needs none";
    disk.full_after(-1);
    EXPECT_TRUE(save(store, 2).ok());
  }
  expect_saved(2);
}

TEST_F(StoreFaults, AFileSystemWithoutLocks) {
  {
    FaultyDisk disk;
    disk.without_locks(true);
    EXPECT_EQ(
        Store::open(path_).error().text(),
        "store " + path_ +
            ": SQLite says: disk I/O error; its file system does not lock files; name a store on a local disk with "
            "--store or GEMMSMITH_STORE");
  }
  expect_saved(0);
}

TEST_F(StoreFaults, ALockThatIsHeldTooLong) {
  Store store = Store::open(path_, /*wait_seconds=*/0.05).value();
  ASSERT_TRUE(save(store, 1).ok());
  {
    const auto other = Database::open(path_, 0).value();
    const auto writing = Transaction::begin(*other).value();
    EXPECT_EQ(
        save(store, 2).error().text(),
        "store " + path_ +
            ": SQLite says: database is locked; another process has been writing for 0.05 s; end it or try again");
    EXPECT_TRUE(store.find(make_problem(1, 8, 8, DataType::f32), {}).value().has_value()) << "reading goes on";
  }
  EXPECT_TRUE(save(store, 2).ok());
  expect_saved(2);
}

TEST_F(StoreFaults, AFolderThatMayNotBeWritten) {
  using std::filesystem::perms;
  std::filesystem::permissions(folder_,
                               perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
  const Finished ran = run_to_end({GEMMSMITH_STORE_WORKER, path_, "try"});
  std::filesystem::permissions(folder_, perms::owner_all);
  if (ran.code == 3) GTEST_SKIP() << "privileges cannot be dropped here";
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "store " + path_ +
                         ": SQLite says: unable to open database file; the file and its folder have to be writable; "
                         "name another with --store or GEMMSMITH_STORE\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// The file alone, its folder alone, and both: what may not be written can be read, and says that it cannot be saved to.
TEST_F(StoreFaults, AStoreThatMayOnlyBeRead) {
  using std::filesystem::perms;
  constexpr perms kRead = perms::owner_read | perms::group_read | perms::others_read;
  constexpr perms kEnter = perms::owner_exec | perms::group_exec | perms::others_exec;
  {
    Store store = Store::open(path_).value();
    for (int m = 1; m <= 3; ++m) ASSERT_TRUE(save(store, m).ok());
  }
  for (const auto& [file, folder] :
       {std::pair(kRead, kRead | kEnter), std::pair(kRead, perms::all), std::pair(perms::all, kRead | kEnter)}) {
    std::filesystem::permissions(path_, file);
    std::filesystem::permissions(folder_, folder);
    const Finished read = run_to_end({GEMMSMITH_STORE_WORKER, path_, "read"});
    const Finished tried = run_to_end({GEMMSMITH_STORE_WORKER, path_, "try"});
    std::filesystem::permissions(folder_, perms::owner_all);
    std::filesystem::permissions(path_, perms::owner_read | perms::owner_write);
    for (const char* suffix : {"-wal", "-shm"})
      std::filesystem::remove(path_ + suffix);  // of readers who could make them
    if (read.code == 3) GTEST_SKIP() << "skipped: privileges cannot be dropped here";
    EXPECT_EQ(read.out, "read only: 3 listed, 3 found, 4 lines, sound\n");
    EXPECT_EQ(tried.code, 1);
    EXPECT_EQ(tried.out, "store " + path_ +
                             ": SQLite says: attempt to write a readonly database; the file and its folder have to be "
                             "writable; name another with --store or GEMMSMITH_STORE\n");
  }
  expect_saved(3);
}

// A copy of a store in use, without the index of its log: what the log has cannot be read where no index can be made.
TEST_F(StoreFaults, DecisionsBesideAFileThatMayOnlyBeRead) {
  using std::filesystem::perms;
  const std::filesystem::path copy = folder_ / "copy?100%#";  // characters that mean something in an address
  const std::string path = (copy / "s").string();
  std::filesystem::create_directories(copy);
  const auto read_copy = [&] {
    std::filesystem::permissions(copy, perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
    const Finished ran = run_to_end({GEMMSMITH_STORE_WORKER, path, "read"});
    std::filesystem::permissions(copy, perms::owner_all);
    return ran;
  };
  Finished in_use;
  {
    Store store = Store::open(path_).value();
    ASSERT_TRUE(save(store, 1).ok());
    for (const char* suffix : {"", "-wal"}) std::filesystem::copy_file(path_ + suffix, path + suffix);
    in_use = read_copy();
  }
  if (in_use.code == 3) GTEST_SKIP() << "skipped: privileges cannot be dropped here";
  EXPECT_EQ(in_use.out, "store " + path + ": " + path +
                            "-wal, decisions that are not in it yet, cannot be read in a folder that may only be read; "
                            "open it once where it can be written, or copy both files there\n");
  std::filesystem::remove(path + "-wal");
  std::filesystem::copy_file(path_, path, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(read_copy().out, "read only: 1 listed, 1 found, 2 lines, sound\n");
}

TEST_F(StoreFaults, AHomeThatIsNotThere) {
  // Without privileges nobody can make a folder in /.
  const Finished ran = run_to_end({GEMMSMITH_STORE_WORKER, "/nowhere/.cache/gemmsmith/store.sqlite", "try"});
  if (ran.code == 3) GTEST_SKIP() << "privileges cannot be dropped here";
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("cannot be created as a folder (Permission denied)"), std::string::npos) << ran.out;
}

TEST_F(StoreFaults, AFileThatWasCutOff) {
  {
    Store store = Store::open(path_).value();
    for (int m = 1; m <= 60; ++m) ASSERT_TRUE(save(store, m).ok());
  }
  const auto whole = std::filesystem::file_size(path_);
  const std::string kept = (folder_ / "kept").string();
  std::filesystem::copy_file(path_, kept);
  for (uintmax_t size = 0; size < whole; size += 1 + whole / 29) {
    SCOPED_TRACE(size);
    std::filesystem::copy_file(kept, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path_, size);
    const auto store = Store::open(path_);
    if (!store.ok()) continue;
    const auto found = store->verify();
    const bool sound = found.ok() && found->empty();
    EXPECT_EQ(sound, size == 0) << "an empty file is a new store";
  }
}

TEST_F(StoreFaults, BytesThatChangedAreFoundOrDoNotMatter) {
  std::string lines;
  {
    Store store = Store::open(path_).value();
    for (int m = 1; m <= 20; ++m) ASSERT_TRUE(save(store, m).ok());
    lines = exported(store);
  }
  const std::string kept = (folder_ / "kept").string();
  std::filesystem::copy_file(path_, kept);
  Random random(10);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    std::filesystem::copy_file(kept, path_, std::filesystem::copy_options::overwrite_existing);
    {
      std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(std::streamoff(random.below(std::filesystem::file_size(kept))));
      file.put(char(random.next()));
    }
    const auto store = Store::open(path_);
    const auto findings = store.ok() ? store->verify() : Result<std::vector<Error>>(store.error());
    if (!findings.ok() || !findings->empty()) {
      ++found;
      continue;
    }
    EXPECT_EQ(exported(*store), lines) << "what verify calls sound is what was saved";
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace gemmsmith
