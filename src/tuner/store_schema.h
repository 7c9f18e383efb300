// The tables of a store, their version, and how a file of an earlier version becomes one of this.
#pragma once
#include "tuner/sqlite.h"

namespace gemmsmith {

constexpr int64_t kSchemaVersion = 3;

// Makes the tables of a new file, or brings those of an earlier version forward, in one transaction: a process that is
// killed leaves the old file. Errors: a newer version, a file of another program.
Status prepare_schema(const Database&);

}  // namespace gemmsmith
