#include "gemmsmith/result.h"

#include <cstdio>
#include <cstdlib>

namespace gemmsmith {

std::string Error::text() const {
  std::string text = where;
  const auto append = [&](const char* separator, const std::string& part) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  std::string what = given;
  if (!given.empty() && !limit.empty()) what += ' ';
  what += limit;
  append(": ", what);
  append("; ", remedy);
  for (const std::string& note : notes) text += "\n  " + note;
  return text;
}

namespace detail {
namespace {
[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}
}  // namespace

void assertion_failed(const char* condition, const char* sentence, const std::source_location& at) {
  stop(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": bug in gemmsmith: " + sentence + " (" +
       condition + " does not hold in " + at.function_name() + ")");
}

void no_value(const Error& instead) {
  stop("bug in gemmsmith or its caller: value() of a Result that holds an error\n" + instead.text());
}

void no_error() { stop("bug in gemmsmith or its caller: error() of a Result that holds a value"); }

}  // namespace detail
}  // namespace gemmsmith
