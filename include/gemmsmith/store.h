// The store: every decision with all of its measurements, losers too, in one SQLite file.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/result.h"
#include "gemmsmith/tune.h"

namespace gemmsmith {

// May be used by several processes at once; one Store by one thread at a time. Decisions are only ever added: earlier
// ones for the same problem stay as its history. A file that is damaged or not a store is an error; nothing is ever
// deleted to go on.
class Store {
 public:
  // Opens or creates the file and its folder. ":memory:" keeps nothing. A newer schema is refused. Errors name the file
  // and what would help.
  static Result<Store> open(const std::string& path);
  // $GEMMSMITH_STORE, else $XDG_CACHE_HOME/gemmsmith/store.sqlite, else ~/.cache/gemmsmith/store.sqlite; without a
  // home, gemmsmith.sqlite in the current folder.
  static std::string default_path();

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::string& path() const;
  // Adds a report and makes it the decision for its problem on its device. One transaction.
  Status save(const TuneReport&);
  // The newest decision for a problem on a device (DeviceFacts::fingerprint()), whole; on any device if it is empty.
  Result<std::optional<TuneReport>> find(const GemmProblem&, const std::string& device) const;
  // The newest decision for each problem on a device; on all devices if it is empty.
  Result<std::vector<TuneReport>> list(const std::string& device = {}) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace gemmsmith
