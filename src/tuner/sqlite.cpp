#include "tuner/sqlite.h"

#include <limits>

#include "support/text.h"

namespace gemmsmith {

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text(statement_.get(), ++parameter_, text.data() ? text.data() : "", int(text.size()), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++parameter_, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(statement_.get(), ++parameter_, value);
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_.get(), ++parameter_);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  parameter_ = column_ = 0;
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    Error error = database_->error();
    sqlite3_reset(statement_.get());
    return error;
  }
  sqlite3_reset(statement_.get());
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  parameter_ = column_ = 0;
}

std::string Statement::text() {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column_);
  const int size = sqlite3_column_bytes(statement_.get(), column_++);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes), size_t(size)) : std::string();
}

int64_t Statement::integer() { return sqlite3_column_int64(statement_.get(), column_++); }

double Statement::real() {
  const bool null = next_is_null();
  const double value = sqlite3_column_double(statement_.get(), column_++);
  return null ? std::numeric_limits<double>::quiet_NaN() : value;
}

bool Statement::next_is_null() const { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }

Result<std::unique_ptr<Database>> Database::open(const std::string& path, double wait_seconds) {
  std::unique_ptr<Database> database(new Database(path, wait_seconds));
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &database->handle_, flags, nullptr) != SQLITE_OK) return database->error();
  sqlite3_busy_timeout(database->handle_, int(wait_seconds * 1e3));
  return database;
}

Status Database::execute(const std::string& sql) const {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return Done{};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), int(sql.size()), &statement, nullptr) != SQLITE_OK) return error();
  return Statement(*this, statement);
}

Result<int64_t> Database::integer(std::string_view sql) const {
  GS_TRY(Statement statement, prepare(sql));
  GS_TRY(const bool row, statement.step());
  return row ? statement.integer() : 0;
}

Result<std::vector<int64_t>> Database::integers(std::string_view sql) const {
  GS_TRY(Statement statement, prepare(sql));
  std::vector<int64_t> values;
  for (;;) {
    GS_TRY(const bool row, statement.step());
    if (!row) return values;
    values.push_back(statement.integer());
  }
}

Error Database::error() const {
  Error error;
  error.where = concat("store ", path_);
  error.limit = handle_ ? concat("SQLite says: ", sqlite3_errmsg(handle_)) : "not enough memory for SQLite";
  const int code = handle_ ? sqlite3_extended_errcode(handle_) : SQLITE_NOMEM;
  switch (code) {
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_UNLOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
      error.remedy = "its file system does not lock files; name a store on a local disk with GEMMSMITH_STORE";
      return error;
    default:
      break;
  }
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      error.remedy = "it is damaged or no store; move it away to begin a new one, or name another with GEMMSMITH_STORE";
      break;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_IOERR:
      error.remedy = "the file and its folder have to be writable; name another with GEMMSMITH_STORE";
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.remedy = concat("another process has been writing for ", wait_seconds_, " s; end it or try again");
      break;
    case SQLITE_PROTOCOL:
      error.remedy = "its file system does not lock files; name a store on a local disk with GEMMSMITH_STORE";
      break;
    case SQLITE_FULL:
      error.remedy = "free space on its disk, or name another with GEMMSMITH_STORE";
      break;
    default:
      break;
  }
  return error;
}

Result<Transaction> Transaction::begin(const Database& database) {
  GS_CHECK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_) (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  GS_CHECK(database_->execute("COMMIT"));
  database_ = nullptr;
  return Done{};
}

Result<Snapshot> Snapshot::begin(const Database& database) {
  GS_CHECK(database.execute("BEGIN"));
  return Snapshot(database);
}

Snapshot::~Snapshot() {
  if (database_) (void)database_->execute("COMMIT");
}

}  // namespace gemmsmith
