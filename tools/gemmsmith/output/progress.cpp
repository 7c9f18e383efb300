#include "output/progress.h"

#include <algorithm>
#include <cmath>

#include "output/units.h"

namespace gemmsmith::cli {

std::string bar(double fraction, size_t width, bool unicode) {
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const size_t full = size_t(std::floor(clamped * double(width)));
  std::string text = "[";
  for (size_t i = 0; i < width; ++i) text += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
  return text + "]";
}

std::string tune_line(size_t index, size_t count, const std::string& label, const TuneProgress& p, const Style& style) {
  const std::string total = std::to_string(count);
  const double fraction = p.budget_seconds > 0 ? p.seconds / p.budget_seconds : 0;
  std::string text = "[" + pad_left(std::to_string(index + 1), total.size()) + "/" + total + "] " + label + " " +
                     bar(fraction, style.width >= 100 ? 20 : 8, style.unicode) + " " +
                     pad_left(format_fraction(std::clamp(fraction, 0.0, 1.0)), 4) + "  " + p.phase + ": " +
                     std::to_string(p.built) + " built, " + std::to_string(p.measured) + " measured of " +
                     std::to_string(p.considered);
  if (p.best_us > 0) text += ", best " + format_time(p.best_us) + " " + p.best;
  return text;
}

std::string case_line(size_t done, size_t total, size_t failed, const std::string& label, const Style& style) {
  const double fraction = total > 0 ? double(done) / double(total) : 1;
  std::string text = bar(fraction, style.width >= 100 ? 20 : 8, style.unicode) + " " + std::to_string(done) + " of " +
                     std::to_string(total);
  if (failed > 0) text += ", " + std::to_string(failed) + " failed";
  return text + "  " + label;
}

void ProgressLine::show(const std::function<std::string()>& text) {
  const double now = now_();
  if (now - last_shown_ < (live_ ? 0.1 : 5.0)) return;
  last_shown_ = now;
  // The last column stays free: terminals that wrap there would make two lines of one.
  if (live_) out_ << "\r\x1b[2K" << fit(text(), style_.width - 1, style_.unicode) << std::flush;
  if (!live_) out_ << text() << std::endl;
  unfinished_ = live_;
}

void ProgressLine::keep(const std::string& text) {
  clear();
  out_ << text << std::endl;
}

void ProgressLine::clear() {
  if (unfinished_) out_ << "\r\x1b[2K" << std::flush;
  unfinished_ = false;
}

}  // namespace gemmsmith::cli
