// The only place that reads or writes environment variables.
#pragma once
#include <optional>
#include <string>

namespace gemmsmith {

std::optional<std::string> environment_variable(const char* name);  // nothing if unset; "" if set to nothing
// For libraries that can be configured in no other way, before they are opened, while no other thread runs.
void set_environment_variable(const char* name, const std::string& value);
void unset_environment_variable(const char* name);

}  // namespace gemmsmith
