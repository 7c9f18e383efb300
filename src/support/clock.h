// Time as something that can be injected, so that tests of budgets and stores neither sleep nor depend on today.
#pragma once
#include <string>

namespace gemmsmith {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds() const = 0;         // monotonic, from an arbitrary origin
  virtual std::string timestamp() const = 0;  // of the wall clock in UTC: "2026-12-01T11:08:14Z"
};

class SystemClock final : public Clock {
 public:
  double seconds() const override;
  std::string timestamp() const override;
};

std::string format_timestamp(long long seconds_since_1970);  // in UTC

}  // namespace gemmsmith
