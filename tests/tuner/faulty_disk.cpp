#include "tuner/faulty_disk.h"

namespace gemmsmith {
namespace {
FaultyDisk* current = nullptr;  // SQLite's functions have no place for it
}  // namespace

FaultyDisk::FaultyDisk() : system_(sqlite3_vfs_find(nullptr)), vfs_(*system_) {
  vfs_.zName = "faulty";
  vfs_.pNext = nullptr;
  vfs_.xOpen = open;
  current = this;
  sqlite3_vfs_register(&vfs_, 1);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(system_, 1);
  current = nullptr;
}

// The file is the system's own, with a table of functions in which some are ours.
int FaultyDisk::open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const int code = current->system_->xOpen(current->system_, name, file, flags, out_flags);
  if (code != SQLITE_OK || !file->pMethods) return code;
  for (const Table& table : current->tables_)
    if (table.original == file->pMethods) {
      file->pMethods = &table.ours;
      return code;
    }
  Table& table = current->tables_.emplace_back(Table{file->pMethods, *file->pMethods});
  table.ours.xWrite = write;
  table.ours.xLock = lock;
  table.ours.xShmMap = map_shared;
  file->pMethods = &table.ours;
  return code;
}

const sqlite3_io_methods& FaultyDisk::original(sqlite3_file* file) {
  for (const Table& table : current->tables_)
    if (&table.ours == file->pMethods) return *table.original;
  return *file->pMethods;
}

bool FaultyDisk::take_write() {
  ++writes_;
  if (writes_left_ == 0) return false;
  if (writes_left_ > 0) --writes_left_;
  return true;
}

int FaultyDisk::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return current->take_write() ? original(file).xWrite(file, bytes, size, at) : SQLITE_FULL;
}

int FaultyDisk::lock(sqlite3_file* file, int kind) {
  return current->without_locks_ ? SQLITE_IOERR_LOCK : original(file).xLock(file, kind);
}

// The shared index of the log is a file too, which grows.
int FaultyDisk::map_shared(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  if (extend && current->writes_left_ == 0) return SQLITE_FULL;
  return original(file).xShmMap(file, page, size, extend, out);
}

}  // namespace gemmsmith
