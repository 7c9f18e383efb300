// A thin layer over SQLite's C interface: statements that finalize themselves, and errors that say which file and what
// helps.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

class Database;

// A prepared statement. Bind in the order of its question marks, then step(); columns are read in order as well.
class Statement {
 public:
  Statement(Statement&&) = default;

  // Text has to live until the next step.
  Statement& bind(std::string_view);
  Statement& bind(int64_t);
  Statement& bind(int value) { return bind(int64_t(value)); }
  Statement& bind(bool value) { return bind(int64_t(value)); }
  Statement& bind(double);  // NaN becomes NULL, as SQLite has it
  Statement& bind_null();

  // True: there is a row. False: the end; the statement is ready to be bound and stepped again.
  Result<bool> step();
  void reset();  // leaves the row that it stands on, so that tables may be changed; for a statement that will be reused

  std::string text();
  int64_t integer();
  double real();  // NULL is NaN
  bool next_is_null() const;
  void skip(int columns) { column_ += columns; }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(const Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0, column_ = 0;
};

class Database {
 public:
  // Opens or creates a file, or ":memory:". Waits up to `wait_seconds` where another process is writing.
  // One that may only be read, as its permissions or its file system have it, is opened for that.
  static Result<std::unique_ptr<Database>> open(const std::string& path, double wait_seconds);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(handle_); }

  const std::string& path() const { return path_; }
  bool read_only() const { return read_only_; }
  Status execute(const std::string& sql) const;  // one statement or several, results are dropped
  Result<Statement> prepare(std::string_view sql) const;
  Result<int64_t> integer(std::string_view sql) const;                // of the first column of the first row
  Result<std::vector<int64_t>> integers(std::string_view sql) const;  // of the first column of all rows
  int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  Error error() const;  // of the last call that failed

 private:
  Database(std::string path, double wait_seconds) : path_(std::move(path)), wait_seconds_(wait_seconds) {}
  Status open_file(const std::string& name, int flags);
  Result<bool> open_unchanging();

  std::string path_;
  double wait_seconds_;
  sqlite3* handle_ = nullptr;
  bool read_only_ = false;
};

// A writing transaction: rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(const Database&);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

// What is read while it lives is of one moment, whatever other processes write. Not within a Transaction.
class Snapshot {
 public:
  static Result<Snapshot> begin(const Database&);
  Snapshot(Snapshot&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ~Snapshot();

 private:
  explicit Snapshot(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace gemmsmith
