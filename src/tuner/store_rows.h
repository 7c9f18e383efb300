// Decisions as rows of a store's tables. The caller holds the transaction, or the snapshot, that they belong to.
#pragma once
#include <cstdint>
#include <string>

#include "gemmsmith/tune.h"
#include "tuner/sqlite.h"

namespace gemmsmith {

struct Decision {
  TuneReport report;
  std::string stamp;  // tuner/stamp.h
};

Status insert_decision(const Database&, const Decision&);
// What was written whole reads whole; what does not is damage, and is said with the decision's number.
Result<Decision> read_decision(const Database&, int64_t id);
Status delete_decision(const Database&, int64_t id);

Error damaged_decision(const Database&, int64_t id, std::string given, std::string limit);

}  // namespace gemmsmith
