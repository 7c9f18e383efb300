// An environment variable set for as long as a library is being loaded: some read their configuration then, and then
// only.
#pragma once
#include <optional>
#include <string>

#include "support/environment.h"

namespace gemmsmith {

// Restores what was there when destroyed. No other thread may read the environment meanwhile.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name), previous_(environment_variable(name)) {
    set_environment_variable(name, value);
  }
  ~ScopedVariable() {
    if (previous_)
      set_environment_variable(name_, *previous_);
    else
      unset_environment_variable(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> previous_;
};

}  // namespace gemmsmith
