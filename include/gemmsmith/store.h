// The store: every decision with all of its measurements, losers too, in one SQLite file.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/result.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

struct StoreSelection {
  std::string device;   // DeviceFacts::fingerprint(); empty: all
  bool newest = false;  // only the newest decision for each problem and device, not those before it
};

struct StoreAdded {
  int64_t added = 0, known = 0;  // decisions; known: was there already
};

// The newest decisions of two stores for one problem on one device, where they are not the same.
struct StoreDifference {
  GemmProblem problem;
  std::string device;
  std::optional<TuneReport> here, there;  // at least one
  bool same_winner() const;               // both have one, of the same source and configuration
  double time_ratio() const;              // the winner's time there over that here; 0 if one has none
};

struct StoreGc {
  std::string measured_before;  // "2026-12-01T00:00:00Z": older decisions go as well; empty: of any age stay
  bool damaged = false;         // decisions that cannot be read go as well
  bool dry_run = false;         // count, but change nothing
};
struct StoreFreed {
  int64_t dropped = 0, kept = 0;  // decisions
  int64_t bytes = 0;              // of the file
};

// A candidate that ended its worker process, hung or wrote out of bounds. It is not tried again for this problem on this
// device while the versions are these.
struct QuarantineEntry {
  std::string problem, device, source, version, gemmsmith, config;
  std::string evidence;  // "while it was checked: killed by SIGSEGV: writes 8 bytes past the end of d"
  std::string since;     // "2026-12-01T11:08:14Z"
  friend bool operator==(const QuarantineEntry&, const QuarantineEntry&) = default;
};

// May be used by several processes at once; one Store by one thread at a time. Decisions are only ever added: earlier
// ones for the same problem stay as its history until gc(). A file that is damaged or not a store is an error; nothing
// is ever deleted to go on. Which decision is the newest does not depend on where it came from or in which order stores
// were merged: docs/store.md has the rule.
class Store {
 public:
  // Opens or creates the file and its folder. ":memory:" keeps nothing. A file of an earlier schema is brought forward,
  // a newer one refused. Where other processes write, every call waits up to `wait_seconds` for them. Errors name the
  // file and what would help.
  static Result<Store> open(const std::string& path, double wait_seconds = 10);
  // $GEMMSMITH_STORE, else $XDG_CACHE_HOME/gemmsmith/store.sqlite, else ~/.cache/gemmsmith/store.sqlite; without a
  // home, gemmsmith.sqlite in the current folder.
  static std::string default_path();

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::string& path() const;
  // The file, its folder or its file system may only be read: look-ups work, saving is an error. A file that nobody is
  // writing is read as it is; one that is written on another machine meanwhile may give errors.
  bool read_only() const;
  // Adds a report and makes it the decision for its problem on its device. One transaction.
  Status save(const TuneReport&);
  // The newest decision for a problem on a device (DeviceFacts::fingerprint()), whole; on any device if it is empty.
  Result<std::optional<TuneReport>> find(const GemmProblem&, const std::string& device) const;
  // All decisions for a problem on a device, on all devices if it is empty, the newest first.
  Result<std::vector<TuneReport>> history(const GemmProblem&, const std::string& device) const;
  // The newest decision for each problem on a device, on all devices if it is empty, the oldest first.
  Result<std::vector<TuneReport>> list(const std::string& device = {}) const;

  // Candidates in quarantine, of all problems and devices without them. They come with the decisions that saw them crash,
  // from wherever these come, and from tunings that were killed.
  Result<std::vector<QuarantineEntry>> quarantine(const std::optional<GemmProblem>& = {},
                                                  const std::string& device = {}) const;
  // Lets them be tried again; how many.
  Result<int64_t> release(const std::optional<GemmProblem>& = {}, const std::string& device = {});

  // What a tuning that is under way has measured, one for each problem and device: should it be killed, the next goes on
  // from there. Saving adds what crashed to the quarantine.
  Status save_unfinished(const TuneReport&);
  Result<std::optional<TuneReport>> find_unfinished(const GemmProblem&, const std::string& device) const;
  Status drop_unfinished(const GemmProblem&, const std::string& device);

  // JSON lines: a header, then one decision a line, ordered by problem, device and age. Equal stores give equal bytes.
  // `write` gets each line with its newline.
  Status export_lines(const StoreSelection&, const std::function<void(std::string_view)>& write) const;
  // Adds the decisions of exported lines: all, or none if one is wrong. `name` begins errors: "team.jsonl:12: ...".
  Result<StoreAdded> import_lines(std::string_view lines, const std::string& name);
  // Adds the decisions of another store: the union of both. All or none.
  Result<StoreAdded> merge(const Store& other);
  // Ordered by problem and device.
  Result<std::vector<StoreDifference>> diff(const Store& other) const;

  // Everything that is wrong with the file and its decisions, with what to do about it; empty: nothing is.
  Result<std::vector<Error>> verify() const;
  // Drops decisions that a newer one for the same problem, device and versions has superseded, and those that the
  // options name; what is left for a problem on a device is never nothing, but for damage. Shrinks the file.
  Result<StoreFreed> gc(const StoreGc&);

 private:
  struct State;
  explicit Store(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
