// SQLite on a disk that fails as told: a VFS that puts its own functions before those of the system's.
#pragma once
#include <sqlite3.h>

#include <deque>

namespace gemmsmith {

// While it lives, databases that are opened use it. One at a time; used by one thread.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  void full_after(int writes) { writes_left_ = writes; }  // then every write and every growing of a file fails
  void without_locks(bool none) { without_locks_ = none; }
  int writes() const { return writes_; }  // so far

 private:
  static int open(sqlite3_vfs*, const char* name, sqlite3_file*, int flags, int* out_flags);
  static int write(sqlite3_file*, const void*, int size, sqlite3_int64 at);
  static int lock(sqlite3_file*, int kind);
  static int map_shared(sqlite3_file*, int page, int size, int extend, void volatile** out);
  bool take_write();

  sqlite3_vfs* system_;
  sqlite3_vfs vfs_;
  // SQLite has a table of functions for databases and another for logs and journals.
  struct Table {
    const sqlite3_io_methods* original;
    sqlite3_io_methods ours;
  };
  static const sqlite3_io_methods& original(sqlite3_file*);
  std::deque<Table> tables_;           // whose addresses stay
  int writes_ = 0, writes_left_ = -1;  // -1: as many as are asked for
  bool without_locks_ = false;
};

}  // namespace gemmsmith
