#include "support/environment.h"

#include <cstdlib>

namespace gemmsmith {

std::optional<std::string> environment_variable(const char* name) {
  if (const char* value = std::getenv(name)) return std::string(value);
  return std::nullopt;
}

void set_environment_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
void unset_environment_variable(const char* name) { ::unsetenv(name); }

}  // namespace gemmsmith
