#include "tuner/stamp.h"

#include <algorithm>
#include <chrono>

#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr size_t kTimestampSize = 20, kCountSize = 6;
constexpr int64_t kMaxCount = 999'999;  // a million decisions by a clock that stands still; then the hash orders them

bool are_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

unsigned number_at(std::string_view text, size_t begin, size_t size) {
  return unsigned(parse_integer(text.substr(begin, size)).value_or(0));
}

std::string stamp_of(std::string_view timestamp, int64_t count) {
  const std::string digits = format_integer(std::min(count, kMaxCount));
  return concat(timestamp, '+', std::string(kCountSize - digits.size(), '0'), digits);
}

}  // namespace

bool is_timestamp(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  static_assert(kForm.size() == kTimestampSize);
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '0' ? !are_digits(text.substr(i, 1)) : text[i] != kForm[i]) return false;
  const std::chrono::year_month_day day{std::chrono::year(int(number_at(text, 0, 4))),
                                        std::chrono::month(number_at(text, 5, 2)),
                                        std::chrono::day(number_at(text, 8, 2))};
  return day.ok() && number_at(text, 11, 2) < 24 && number_at(text, 14, 2) < 60 && number_at(text, 17, 2) <= 60;
}

bool is_stamp(std::string_view text) {
  return text.size() == kTimestampSize + 1 + kCountSize && is_timestamp(text.substr(0, kTimestampSize)) &&
         text[kTimestampSize] == '+' && are_digits(text.substr(kTimestampSize + 1));
}

std::string stamp_after(std::string_view last, std::string_view measured_at) {
  const std::string_view moment = is_timestamp(measured_at) ? measured_at : "1970-01-01T00:00:00Z";
  if (!is_stamp(last) || moment > last.substr(0, kTimestampSize)) return stamp_of(moment, 0);
  return stamp_of(last.substr(0, kTimestampSize), parse_integer(last.substr(kTimestampSize + 1)).value_or(0) + 1);
}

}  // namespace gemmsmith
