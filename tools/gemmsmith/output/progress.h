// One line of a terminal that is written over until it is done; plain lines now and then where there is no terminal.
#pragma once
#include <functional>
#include <ostream>
#include <string>

#include "gemmsmith/tune.h"
#include "output/text.h"

namespace gemmsmith::cli {

std::string bar(double fraction, size_t width, bool unicode);  // "[####....]"

// "[ 3/10] gate_up 1x6144x1024 bf16 [####....]  41%  measuring 12 of 30, best native gemv rows=4 61.2 us"
std::string tune_line(size_t index, size_t count, const std::string& label, const TuneProgress&, const Style&);
// "[####....]  312 of 900, 2 failed  7x31x64 f32"
std::string case_line(size_t done, size_t total, size_t failed, const std::string& label, const Style&);

class ProgressLine {
 public:
  // `live`: the stream is a terminal. `now` gives seconds and only ever grows.
  ProgressLine(std::ostream& out, Style style, bool live, std::function<double()> now)
      : out_(out), style_(style), live_(live), now_(std::move(now)) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Replaces the line if the last time is long enough ago: a tenth of a second on a terminal, five seconds elsewhere.
  // `text` is only called when it will be shown.
  void show(const std::function<std::string()>& text);
  // Puts a line down for good.
  void keep(const std::string& text);
  // Takes an unfinished line away.
  void clear();
  const Style& style() const { return style_; }

 private:
  std::ostream& out_;
  Style style_;
  bool live_;
  std::function<double()> now_;
  double last_shown_ = -1e9;
  bool unfinished_ = false;
};

}  // namespace gemmsmith::cli
