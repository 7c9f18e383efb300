#include "tuner/sqlite.h"

#include <filesystem>
#include <limits>

#include "support/text.h"

namespace gemmsmith {
namespace {

std::string percent_encoded(char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return concat('%', kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]);
}

}  // namespace

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
  GS_CHECK(database->open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  // The first read tells what the file is, and whether it can be read the usual way.
  const auto version = database->integer("PRAGMA user_version");
  if (version.ok()) {
    database->read_only_ = sqlite3_db_readonly(database->handle_, "main") == 1;
    return database;
  }
  GS_TRY(const bool opened, database->open_unchanging());
  if (!opened) return version.error();
  return database;
}

Status Database::open_file(const std::string& name, int flags) {
  sqlite3_close(handle_);
  handle_ = nullptr;
  if (sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) return error();
  sqlite3_busy_timeout(handle_, int(wait_seconds_ * 1e3));
  return Done{};
}

// A file in WAL mode is read through an index beside it, which nobody can make in a folder that may only be read. With no
// log beside it either, nobody is writing, and the file is all that there is. False: that is not what is wrong.
Result<bool> Database::open_unchanging() {
  const int code = sqlite3_extended_errcode(handle_) & 0xff;
  std::error_code ignored;
  const bool is_there = std::filesystem::file_size(path_, ignored) > 0 && !ignored;
  if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || !is_there) return false;
  const std::string log = path_ + "-wal";
  if (std::filesystem::exists(log, ignored) && std::filesystem::file_size(log, ignored) > 0)
    return Error{concat("store ", path_),
                 concat(log, ", decisions that are not in it yet,"),
                 "cannot be read in a folder that may only be read",
                 "open it once where it can be written, or copy both files there",
                 {}};
  std::string name = "file:";
  for (const char c : path_) name += c == '?' || c == '#' || c == '%' ? percent_encoded(c) : std::string(1, c);
  GS_CHECK(open_file(name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  GS_CHECK(integer("PRAGMA user_version"));
  read_only_ = true;
  return true;
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
      error.remedy =
          "its file system does not lock files; name a store on a local disk with --store or GEMMSMITH_STORE";
      return error;
    default:
      break;
  }
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      error.remedy =
          "it is damaged or no store; move it away to begin a new one, or name another with --store or GEMMSMITH_STORE";
      break;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_IOERR:
      error.remedy = "the file and its folder have to be writable; name another with --store or GEMMSMITH_STORE";
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.remedy = concat("another process has been writing for ", wait_seconds_, " s; end it or try again");
      break;
    case SQLITE_PROTOCOL:
      error.remedy =
          "its file system does not lock files; name a store on a local disk with --store or GEMMSMITH_STORE";
      break;
    case SQLITE_FULL:
      error.remedy = "free space on its disk, or name another with --store or GEMMSMITH_STORE";
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
