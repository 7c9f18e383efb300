// What the files that implement Store share.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/store.h"
#include "tuner/sqlite.h"

namespace gemmsmith {

struct Store::State {
  std::unique_ptr<Database> db;
};

// Condition of a SELECT from `decisions d`: no other decision for the same problem and device is newer.
constexpr const char* kIsNewest =
    "NOT EXISTS (SELECT 1 FROM decisions e WHERE e.problem = d.problem AND e.device = d.device "
    "AND (e.stamp, ifnull(e.hash, '')) > (d.stamp, ifnull(d.hash, '')))";

}  // namespace gemmsmith
