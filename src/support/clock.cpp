#include "support/clock.h"

#include <chrono>

namespace gemmsmith {
namespace {
void append_digits(std::string& text, int value, int width) {
  const std::string digits = std::to_string(value);
  text.append(size_t(width) > digits.size() ? size_t(width) - digits.size() : 0, '0');
  text += digits;
}
}  // namespace

double SystemClock::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string SystemClock::timestamp() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_timestamp(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

std::string format_timestamp(long long seconds_since_1970) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds_since_1970)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text;
  append_digits(text, int(date.year()), 4);
  text += '-';
  append_digits(text, int(unsigned(date.month())), 2);
  text += '-';
  append_digits(text, int(unsigned(date.day())), 2);
  text += 'T';
  append_digits(text, int(clock.hours().count()), 2);
  text += ':';
  append_digits(text, int(clock.minutes().count()), 2);
  text += ':';
  append_digits(text, int(clock.seconds().count()), 2);
  return text + 'Z';
}

}  // namespace gemmsmith
