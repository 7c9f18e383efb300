#include "gemmsmith/result.h"

#include <cstdio>
#include <cstdlib>

#include "support/text.h"

namespace gemmsmith {

namespace {
constexpr size_t kLongestGiven = 400;  // bytes
constexpr size_t kLongestPart = 4000;  // of lists of what is known, and of other libraries' reasons

// Notes may have several lines, of a library's diagnostics for one.
std::string shown_lines(std::string_view note) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(note, '\n')) lines.push_back(shown(line, kLongestPart));
  return join(lines, "\n");
}
}  // namespace

// The parts hold what users wrote: here is the one place that every message passes through.
std::string Error::text() const {
  std::string text = shown(where, kLongestPart);
  const auto append = [&](const char* separator, const std::string& part) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  std::string what = shown(given, kLongestGiven);
  if (!given.empty() && !limit.empty()) what += ' ';
  what += shown(limit, kLongestPart);
  append(": ", what);
  append("; ", shown(remedy, kLongestPart));
  for (const std::string& note : notes) text += "\n  " + shown_lines(note);
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
