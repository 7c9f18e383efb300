#include "tuner/decision.h"

#include <algorithm>

#include "tuner/text.h"

namespace gemmsmith {

Timing Finalist::timing() const {
  if (rounds_us.size() >= 3) return summarize(rounds_us);
  std::vector<double> all = samples_us;
  all.insert(all.end(), rounds_us.begin(), rounds_us.end());
  return summarize(all);
}

std::string Comparison::text() const {
  if (!paired) return print_ratio(ratio) + " by medians";
  return print_ratio(ratio) + " [" + print_ratio(pairs.low) + ", " + print_ratio(pairs.high) + "] in " +
         std::to_string(pairs.rounds) + " pairs";
}

Comparison compare(const Finalist& x, const Finalist& y, double tie) {
  Comparison c;
  c.paired = std::min(x.rounds_us.size(), y.rounds_us.size()) >= size_t(kSamplesForInterval);
  if (c.paired) {
    c.pairs = paired_ratio(y.rounds_us, x.rounds_us);
    c.ratio = c.pairs.median;
    c.clear = c.pairs.low > 1 + tie;
    c.tied = c.pairs.high <= 1 + tie;
    return c;
  }
  const Timing tx = x.timing(), ty = y.timing();
  c.ratio = ty.median_us / tx.median_us;
  c.clear = ty.low_us > tx.high_us * (1 + tie);
  return c;
}

static size_t leader_of(const std::vector<Finalist>& finalists) {
  GS_ASSERT(!finalists.empty(), "a decision needs finalists");
  const auto slower = [](const Finalist& x, const Finalist& y) {
    const double mx = x.timing().median_us, my = y.timing().median_us;
    return mx != my ? mx < my : x.id < y.id;
  };
  return size_t(std::min_element(finalists.begin(), finalists.end(), slower) - finalists.begin());
}

static std::string print_timing(const Timing& t) {
  return print_us(t.median_us) + " [" + print_us(t.low_us) + ", " + print_us(t.high_us) + "]";
}

// The lowest median wins: who was next, and how far.
static std::string fastest_sentence(const std::vector<Finalist>& finalists, size_t winner, double tie) {
  const Finalist& w = finalists[winner];
  const Timing t = w.timing();
  std::string text = w.name + ": lowest median of " + std::to_string(finalists.size()) +
                     (finalists.size() == 1 ? " candidate, " : " candidates, ") + print_timing(t) + " over " +
                     std::to_string(t.samples) + (t.samples == 1 ? " sample" : " samples");
  const Finalist* next = nullptr;
  for (const Finalist& f : finalists)
    if (&f != &w && (!next || f.timing().median_us < next->timing().median_us)) next = &f;
  if (next) text += "; next is " + next->name + " at " + compare(w, *next, tie).text();
  return text;
}

static std::string ratio_and_tie(const Comparison& c, double tie) {
  return concat("time ratio ", c.text(), ", a tie is up to ", print_percent(tie));
}

Decision decide(const std::vector<Finalist>& finalists, double tie) {
  const size_t leader = leader_of(finalists);
  const Finalist& l = finalists[leader];
  for (size_t i = 0; i < finalists.size(); ++i) {
    if (!finalists[i].incumbent || i == leader) continue;
    const Comparison c = compare(l, finalists[i], tie);
    if (!c.clear)
      return {i, concat(finalists[i].name, ": the earlier choice stays, ", l.name, " is not clearly faster (",
                        ratio_and_tie(c, tie), ")")};
  }

  size_t winner = leader;
  if (!l.incumbent)
    for (size_t i = 0; i < finalists.size(); ++i)
      if (finalists[i].id < finalists[winner].id && compare(l, finalists[i], tie).ratio <= 1 + tie) winner = i;
  if (winner != leader)
    return {winner, concat(finalists[winner].name, ": tied with ", l.name, " and tried before it (",
                           ratio_and_tie(compare(l, finalists[winner], tie), tie), ")")};
  return {leader, fastest_sentence(finalists, leader, tie)};
}

bool decided(const std::vector<Finalist>& finalists, double tie) {
  const size_t leader = leader_of(finalists);
  for (size_t i = 0; i < finalists.size(); ++i) {
    if (i == leader) continue;
    const Comparison c = compare(finalists[leader], finalists[i], tie);
    if (!c.clear && !c.tied) return false;
  }
  return true;
}

}  // namespace gemmsmith
