#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

namespace gemmsmith::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

size_t width_of(int descriptor, bool live) {
  winsize size{};
  if (live && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<size_t>(size.ws_col, 40);
  const long columns = std::strtol(environment("COLUMNS").c_str(), nullptr, 10);
  return columns > 0 ? std::max<size_t>(size_t(columns), 40) : 120;
}

bool unicode_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const std::string value = environment(name); !value.empty())
      return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("utf-8") != value.npos;
  return false;
}

Terminal terminal_of(int descriptor) {
  const bool live = isatty(descriptor) == 1;
  const bool smart = live && environment("TERM") != "dumb";
  const bool colour = smart && environment("NO_COLOR").empty();
  return {smart, {width_of(descriptor, live), colour, unicode_locale()}};
}

}  // namespace

Terminal standard_output() { return terminal_of(STDOUT_FILENO); }
Terminal standard_error() { return terminal_of(STDERR_FILENO); }

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace gemmsmith::cli
