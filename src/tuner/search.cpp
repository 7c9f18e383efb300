#include "tuner/search.h"

#include <algorithm>
#include <cmath>

#include "support/random.h"
#include "tuner/contender.h"
#include "tuner/report.h"
#include "tuner/text.h"

namespace gemmsmith {
namespace {

class Search {
 public:
  Search(const TuneRequest& request, Plan plan)
      : request_(request),
        policy_(request.policy),
        plan_(std::move(plan)),
        random_(request.options.seed),
        start_(request.clock->seconds()) {
    keep_out(plan_, request.quarantine);
    if (request.unfinished) resumed_ = go_on(plan_, *request.unfinished, policy_);
    if (request.load) load_ = request.load();
    own_cpu_ = request.bench->cpu_seconds();
    for (PlannedCandidate& planned : plan_.queue) contenders_.push_back(make_contender(std::move(planned)));
  }

  Result<TuneReport> run();

 private:
  using Ids = std::vector<size_t>;

  // Time. Shares are of the budget.
  double elapsed() const { return request_.clock->seconds() - start_; }
  bool past(double share) const { return elapsed() >= share * request_.options.budget_seconds; }
  bool cancelled() const { return request_.options.cancel && request_.options.cancel->load(std::memory_order_relaxed); }
  bool first_wave(size_t id) const { return id < plan_.first_wave; }
  // Whether a candidate may still take time: those of the first wave may at the expense of the budget.
  bool may_run(size_t id) const { return !cancelled() && (first_wave(id) || !past(1)); }

  Status screen();
  bool start_wave(WaveBuilder&);
  Ids take_wave(WaveBuilder&);
  void gate(const Ids& wave);
  void sample_wave(const Ids& wave);
  bool calibrate(size_t id);
  void halve_all();
  void run_final();
  bool run_round();
  void choose();

  bool pass_gate(size_t id, uint64_t seed);
  std::optional<double> sample(size_t id, int repeats);
  std::optional<size_t> leader() const;
  Ids alive() const;
  std::vector<Finalist> finalists() const;
  void shuffle(Ids&);
  void fail(size_t id, const char* what, const Error&);
  void say(const char* phase) const;
  void checkpoint() const;
  TuneReport facts() const;
  TuneReport report();

  const TuneRequest& request_;
  const SearchPolicy& policy_;
  Plan plan_;
  Random random_;
  double start_;
  std::vector<Contender> contenders_;  // in the order of trying
  size_t next_ = 0;                    // the first that no wave has taken
  int built_ = 0, measured_ = 0;
  int without_gain_ = 0;  // candidates since the leader last improved
  std::string ending_;    // why candidates were not reached
  Ids finalists_;
  std::optional<size_t> winner_;
  std::string decision_;
  std::string resumed_;             // what an earlier tuning spares this one
  std::optional<LoadMoment> load_;  // at the beginning
  double own_cpu_ = 0;              // seconds, then
};

Result<TuneReport> Search::run() {
  const GemmProblem& p = request_.problem;
  if (p.m == 0 || p.n == 0 || p.batch == 0) {
    ending_ = "D is empty";
    decision_ = "D is empty: nothing to measure, the first candidate of the first source that supports it";
    if (!contenders_.empty()) winner_ = 0;
    return report();
  }
  GS_CHECK(screen());
  halve_all();
  run_final();
  choose();
  return report();
}

// Screening: see search.h for what overlaps.

Status Search::screen() {
  const std::unique_ptr<WaveBuilder> owned = request_.bench->make_builder(request_.problem, request_.device);
  WaveBuilder& builder = *owned;
  start_wave(builder);
  const BenchOptions options{request_.options.max_memory_bytes, request_.options.seed};
  GS_CHECK(request_.bench->prepare(request_.problem, request_.device, options));
  Ids wave = take_wave(builder);
  for (;;) {
    const bool building = start_wave(builder);
    if (!building && wave.empty()) break;
    gate(wave);
    Ids next;
    const bool quiet = request_.bench->disturbed_by_builds();
    if (building && quiet) next = take_wave(builder);
    sample_wave(wave);
    if (building && !quiet) next = take_wave(builder);
    wave = std::move(next);
    checkpoint();
  }
  return Done{};
}

bool Search::start_wave(WaveBuilder& builder) {
  const bool first = next_ == 0;
  if (next_ == contenders_.size()) return false;
  if (cancelled())
    ending_ = "interrupted before it";
  else if (!first && past(policy_.screening_share))
    ending_ = "the budget of " + print_duration(request_.options.budget_seconds) + " ended before it";
  else if (!first && without_gain_ >= policy_.patience)
    ending_ = concat("the ", without_gain_, " candidates before it brought no gain");
  if (!ending_.empty()) return false;

  // Nothing is left of the first wave if an earlier tuning had done with it.
  const bool spared = plan_.first_wave == 0;
  const size_t size = first && !spared ? plan_.first_wave : size_t(std::max(policy_.wave, request_.device.threads));
  std::vector<BuildJob> jobs;
  for (; next_ < contenders_.size() && jobs.size() < size; ++next_) {
    const PlannedCandidate& planned = contenders_[next_].planned;
    jobs.push_back({next_, request_.sources[size_t(planned.source)], planned.candidate});
  }
  say("building");
  builder.start(std::move(jobs), [this, first] { return cancelled() || (!first && past(policy_.screening_share)); });
  return true;
}

Search::Ids Search::take_wave(WaveBuilder& builder) {
  Ids wave;
  for (BuildResult& result : builder.take()) {
    Contender& c = contenders_[result.id];
    if (result.skipped) continue;
    if (result.error) {
      fail(result.id, "does not build: ", *result.error);
      continue;
    }
    ++built_;
    c.report.build_ms = result.kernel->build_ms();
    c.kernel = std::move(result.kernel);
    wave.push_back(result.id);
  }
  return wave;
}

bool Search::pass_gate(size_t id, uint64_t seed) {
  Contender& c = contenders_[id];
  const Result<Accuracy> accuracy = request_.bench->check(*c.kernel, seed);
  if (!accuracy.ok()) {
    fail(id, "does not run: ", accuracy.error());
    return false;
  }
  c.report.accuracy = *accuracy;
  if (!accuracy->passed) c.end(CandidateState::wrong, accuracy->failure);
  return accuracy->passed;
}

void Search::gate(const Ids& wave) {
  for (const size_t id : wave) {
    if (!may_run(id)) continue;
    say("checking");
    pass_gate(id, request_.options.seed + 1);
  }
}

void Search::sample_wave(const Ids& wave) {
  const std::optional<size_t> before = leader();
  const double best_before = before ? summarize(contenders_[*before].samples_us).median_us : 0;
  Ids order;
  for (const size_t id : wave)
    if (contenders_[id].report.accuracy && contenders_[id].kernel) order.push_back(id);
  shuffle(order);
  std::erase_if(order, [&](size_t id) { return !calibrate(id); });

  // The leader is sampled along with each wave, so that the wave is compared with samples of its own time.
  if (before && contenders_[*before].alive()) order.push_back(*before);
  for (int round = 0; round < policy_.screening_samples; ++round) {
    shuffle(order);
    for (const size_t id : order) {
      const bool enough = id != before && int(contenders_[id].samples_us.size()) >= policy_.screening_samples;
      if (enough || !contenders_[id].alive() || cancelled() || past(1)) continue;
      if (const auto us = sample(id, contenders_[id].repeats)) contenders_[id].samples_us.push_back(*us);
    }
  }
  const std::optional<size_t> after = leader();
  const bool gain = after && (!before || summarize(contenders_[*after].samples_us).median_us <
                                             best_before * (1 - request_.options.tie));
  without_gain_ = gain ? 0 : without_gain_ + int(wave.size());
}

// Finds how many calls make a sample; the last attempt is the first sample. False if the candidate is out.
bool Search::calibrate(size_t id) {
  Contender& c = contenders_[id];
  if (!may_run(id)) {
    c.end(CandidateState::not_reached,
          cancelled() ? "interrupted before it was sampled" : "the budget ended before it was sampled");
    return false;
  }
  say("measuring");
  double us = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto sampled = sample(id, c.repeats);
    if (!sampled) return false;
    us = *sampled;
    if (us * c.repeats >= policy_.sample_us || c.repeats == policy_.max_repeats || cancelled()) break;
    const double wanted = std::ceil(1.1 * policy_.sample_us / std::max(us, 1e-3));
    c.repeats = int(std::clamp(wanted, double(c.repeats), double(policy_.max_repeats)));
  }
  const std::optional<size_t> best = leader();
  c.samples_us.push_back(us);
  c.report.state = CandidateState::measured;
  ++measured_;
  if (best) {
    const double bound = summarize(contenders_[*best].samples_us).high_us;
    // One slow sample may be an interruption or a library that wakes its threads: a second has to agree, unless it is long.
    if (us > policy_.hopeless_ratio * bound && us * c.repeats < policy_.second_look_us) {
      const std::optional<double> again = sample(id, c.repeats);
      if (!again) return false;
      c.samples_us.push_back(*again);
      us = std::min(us, *again);
    }
    if (us > policy_.hopeless_ratio * bound) {
      c.end(CandidateState::eliminated,
            concat("first samples of ", print_us(us), ", more than ", print_ratio(policy_.hopeless_ratio), " the ",
                   print_us(bound), " of ", contenders_[*best].name()));
      return false;
    }
  }
  return true;
}

std::optional<double> Search::sample(size_t id, int repeats) {
  Contender& c = contenders_[id];
  const Result<double> us = request_.bench->sample_us(*c.kernel, repeats);
  if (us.ok()) return *us;
  fail(id, "does not run: ", us.error());
  return std::nullopt;
}

// A crash is written down at once: the next candidate may take this process with it.
void Search::fail(size_t id, const char* what, const Error& error) {
  Contender& c = contenders_[id];
  const std::optional<std::string> fault = request_.bench->fault_of(c.planned.candidate);
  if (!fault) return c.end(CandidateState::failed, what + error.text());
  c.end(CandidateState::crashed, *fault);
  checkpoint();
}

void Search::checkpoint() const {
  if (!request_.checkpoint) return;
  TuneReport so_far = facts();
  for (const Contender& c : contenders_) {
    so_far.candidates.push_back(c.report);
    if (!c.samples_us.empty()) so_far.candidates.back().timing = c.finalist(0).timing();
  }
  so_far.candidates.insert(so_far.candidates.end(), plan_.excluded.begin(), plan_.excluded.end());
  so_far.interrupted = true;
  request_.checkpoint(so_far);
}

// Successive halving.

void Search::halve_all() {
  for (int round = 0; round < policy_.halving_rounds; ++round) {
    if (alive().size() <= size_t(policy_.finalists) || cancelled() || past(policy_.halving_share)) return;
    for (int i = 0; i < policy_.screening_samples << round; ++i) {
      Ids order = alive();
      shuffle(order);
      for (const size_t id : order) {
        if (cancelled() || past(policy_.halving_share)) break;
        if (const auto us = sample(id, contenders_[id].repeats)) contenders_[id].samples_us.push_back(*us);
      }
      say("measuring");
    }
    std::vector<Standing> standings;
    for (const size_t id : alive()) standings.push_back(contenders_[id].standing(id));
    if (standings.empty()) return;
    // Kernels stay until the final is chosen: the best of a source may be called back to it.
    checkpoint();
    for (Elimination& out : halve(standings, policy_, contenders_[*leader()].name())) {
      contenders_[out.id].report.state = CandidateState::eliminated;
      contenders_[out.id].report.reason = std::move(out.reason);
    }
  }
}

// The final.

void Search::run_final() {
  std::vector<Standing> standings;
  std::vector<bool> survives(contenders_.size());
  for (size_t id = 0; id < contenders_.size(); ++id) {
    if (!contenders_[id].kernel || !contenders_[id].sampled()) continue;
    survives[id] = contenders_[id].alive();
    standings.push_back(contenders_[id].standing(id));
  }
  if (standings.empty()) return;
  finalists_ = choose_finalists(standings, survives, policy_);
  for (const Standing& s : standings) {
    Contender& c = contenders_[s.id];
    if (std::find(finalists_.begin(), finalists_.end(), s.id) != finalists_.end()) {
      c.report.state = CandidateState::measured;
    } else if (survives[s.id]) {
      c.end(CandidateState::eliminated, concat("median ", print_us(s.timing.median_us), " of ", s.timing.samples,
                                               " samples is not among the ", policy_.finalists, " lowest"));
    } else {
      c.kernel.reset();
    }
  }
  for (int round = 0; round < policy_.final_rounds; ++round) {
    if (round >= policy_.decided_rounds && decided(finalists(), request_.options.tie)) break;
    if (!run_round()) break;
    say("measuring");
  }
}

// One sample of each finalist. A round that does not end is taken back: samples pair up by round.
bool Search::run_round() {
  Ids order = finalists_;
  shuffle(order);
  Ids sampled;
  for (const size_t id : order) {
    if (cancelled() || past(1)) {
      for (const size_t done : sampled) contenders_[done].rounds_us.pop_back();
      return false;
    }
    if (const auto us = sample(id, contenders_[id].repeats)) {
      contenders_[id].rounds_us.push_back(*us);
      sampled.push_back(id);
    } else {
      std::erase(finalists_, id);
    }
  }
  return !finalists_.empty();
}

// Decides, and lets the winner pass the gate on inputs that no kernel has seen: one that keeps results or packed
// operands of an earlier call, or is wrong now and then, has its second chance to show it here. The next best follows
// if it does.
void Search::choose() {
  const bool had_final = !finalists_.empty() && !contenders_[finalists_[0]].rounds_us.empty();
  while (!finalists_.empty()) {
    const std::vector<Finalist> candidates = finalists();
    const Decision decision = decide(candidates, request_.options.tie);
    const size_t id = candidates[decision.winner].id;
    if (!cancelled()) {
      say("checking");
      const std::optional<Accuracy> first = contenders_[id].report.accuracy;
      if (!pass_gate(id, request_.options.seed + 2)) {
        std::erase(finalists_, id);
        continue;
      }
      if (first && first->max_rel > contenders_[id].report.accuracy->max_rel) contenders_[id].report.accuracy = first;
    }
    winner_ = id;
    decision_ = decision.sentence;
    if (!had_final)
      decision_ += cancelled() ? " (interrupted before the final)" : " (the budget ended before the final)";
    for (const Finalist& f : candidates)
      if (f.id != id)
        contenders_[f.id].report.reason =
            concat("time ratio to the winner ", compare(candidates[decision.winner], f, request_.options.tie).text());
    contenders_[id].report.reason = decision_;
    return;
  }
  decision_ = measured_ == 0 && (cancelled() || past(1))
                  ? "no winner: nothing was measured"
                  : "no winner: no candidate both ran and passed the numeric gate";
}

std::optional<size_t> Search::leader() const {
  std::optional<size_t> best;
  double best_us = 0;
  for (size_t id = 0; id < contenders_.size(); ++id) {
    if (!contenders_[id].alive() || !contenders_[id].sampled()) continue;
    const double us = median(contenders_[id].samples_us);
    if (best && us >= best_us) continue;
    best = id;
    best_us = us;
  }
  return best;
}

Search::Ids Search::alive() const {
  Ids ids;
  for (size_t id = 0; id < contenders_.size(); ++id)
    if (contenders_[id].alive()) ids.push_back(id);
  return ids;
}

std::vector<Finalist> Search::finalists() const {
  std::vector<Finalist> result;
  for (const size_t id : finalists_) result.push_back(contenders_[id].finalist(id));
  return result;
}

void Search::shuffle(Ids& ids) {
  for (size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random_.below(i)]);
}

void Search::say(const char* phase) const {
  if (!request_.options.progress) return;
  TuneProgress progress{phase,     built_,
                        measured_, int(contenders_.size() + plan_.excluded.size()),
                        elapsed(), request_.options.budget_seconds,
                        {},        0};
  if (const auto best = leader()) {
    progress.best = contenders_[*best].name();
    progress.best_us = median(contenders_[*best].samples_us);
  }
  request_.options.progress(progress);
}

// What a report has but for candidates and the decision.
TuneReport Search::facts() const {
  TuneReport report;
  report.problem = request_.problem;
  report.provenance = provenance_of(request_.device, plan_.sources);
  report.provenance.measured_at = request_.clock->timestamp();
  report.sources = plan_.sources;
  report.floor_us = floor_us(request_.problem, request_.device);
  report.conditions = request_.bench->conditions();
  report.memory = request_.bench->memory();
  report.isolation = request_.bench->isolation();
  report.store_note = resumed_;
  report.seconds = elapsed();
  const std::optional<LoadMoment> now = request_.load ? request_.load() : std::nullopt;
  if (now && load_)
    report.load =
        MachineLoad{now->load_average, share_of_others(load_->cpu, now->cpu, request_.bench->cpu_seconds() - own_cpu_)};
  return report;
}

TuneReport Search::report() {
  checkpoint();
  TuneReport report = facts();
  for (size_t id = 0; id < contenders_.size(); ++id) {
    Contender& c = contenders_[id];
    // What a kernel did may turn out after its last call.
    if (const auto fault = request_.bench->fault_of(c.planned.candidate); fault && winner_ != id)
      c.end(CandidateState::crashed, *fault);
    if (!c.samples_us.empty()) c.report.timing = c.finalist(id).timing();
    if (winner_ == id) {
      c.report.state = CandidateState::won;
      report.winner = int(id);
      if (request_.kernel) *request_.kernel = std::move(c.kernel);
    } else if (c.report.state == CandidateState::not_reached && c.report.reason.empty()) {
      c.report.reason = !ending_.empty() ? ending_
                        : cancelled()    ? "interrupted before it"
                                         : "the budget ended before it";
    }
    report.candidates.push_back(std::move(c.report));
  }
  for (CandidateReport& c : plan_.excluded) report.candidates.push_back(std::move(c));
  report.decision = decision_;
  report.margin = margin_of(report);
  report.interrupted = cancelled();
  return report;
}

}  // namespace

Result<TuneReport> search(const TuneRequest& request) {
  GS_ASSERT(request.bench && request.clock, "a search needs a bench and a clock");
  GS_CHECK(request.problem.validate());
  GS_TRY(Plan plan, plan_candidates(request.problem, request.device, request.sources, request.options.sources,
                                    request.incumbent, request.policy));
  return Search(request, std::move(plan)).run();
}

}  // namespace gemmsmith
