// What the store's commands print.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/store.h"
#include "output/text.h"

namespace gemmsmith::cli {

// One line a decision: problem, winner, time, margin, when, where.
std::string store_table(const std::vector<TuneReport>&, const Style&);

// One line a difference: problem, the winners here and there, how much longer the one there takes, the device.
std::string difference_table(const std::vector<StoreDifference>&, const Style&);

// Three lines a candidate: what, since when and with which versions, what it did.
std::string quarantine_text(const std::vector<QuarantineEntry>&, bool released);
std::string quarantine_json(const std::vector<QuarantineEntry>&);

std::string added_line(const StoreAdded&);                // "3 decisions added, 12 were there already"
std::string freed_line(const StoreFreed&, bool dry_run);  // "2 decisions dropped, 14 kept, 36.9 kB freed"

}  // namespace gemmsmith::cli
