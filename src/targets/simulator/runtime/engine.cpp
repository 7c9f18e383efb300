#include "targets/simulator/runtime/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/text.h"

namespace gemmsmith::simulator {

namespace {
constexpr int kSms = 132;                // of an H100 or H200 SXM
constexpr int kRegisterFile = 64 << 10;  // of an SM
constexpr int kMostRegisters = 255;      // of a thread
constexpr unsigned char kPoison = 0xff;  // NaN in every float type
}  // namespace

void InOrder::complete(uint32_t number) {
  if (number != prefix + 1) {
    beyond.push_back(number);
    return;
  }
  ++prefix;
  for (bool moved = true; moved;) {
    moved = std::erase(beyond, prefix + 1) > 0;
    prefix += moved;
  }
}

Engine::Engine(Pools& pools, const LaunchOptions& options, LaunchResult& result)
    : pools_(pools), options_(options), result_(result), detector_(names_, result.findings, options.max_findings) {
  random_ = options.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  if (options.count_bank_conflicts) banks_ = std::make_unique<BankCounter>(result.counters);
  if (options.timeline_of_cta) timeline_ = std::make_unique<Timeline>();
}

Engine::~Engine() {
  for (Shadow& shadow : shared_shadow_) detector_.clear(shadow);
  result_.counters.race_checks = detector_.checks();
}

void Engine::finish_timeline() {
  if (!timeline_ || timeline_cta_ == ~0u) return;
  result_.timeline = timeline_->json(names_, names_.ctas[timeline_cta_].position, result_.counters.steps);
}

// A launch: its clusters one after another, or all at once.
void Engine::run(const Launch& launch) {
  launch_ = &launch;
  names_.add_launch(launch);
  first_cta_ = uint32_t(names_.ctas.size());
  waited_ = 0;
  wgmma_plans.clear();
  shadow_of_buffer_.clear();
  for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
    const MemoryPlace place{MemoryPlace::Kind::global, 0, i, 0};
    Shadow& shadow = global_shadow_.try_emplace(launch.buffers[i].base, place).first->second;
    shadow.set_place(place);
    shadow_of_buffer_.push_back(&shadow);
  }
  const int cluster_ctas = launch.cluster.count(), clusters = launch.grid.count() / cluster_ctas;
  const bool all = options_.residency == Residency::all;
  const int at_once = all ? clusters : 1;
  for (int first = 0; first < clusters && !failed_; first += at_once) {
    clusters_.clear();
    windows_.clear();
    for (int i = 0; i < at_once; ++i)
      clusters_.push_back(make_cluster(first + i, i * cluster_ctas, i * cluster_ctas * launch.block.count()));
    for (auto& cluster : clusters_) start(*cluster);
    run_until_done();
  }
  ready_.clear();
  spinning_.clear();
  async_.clear();
  clusters_.clear();
  if (banks_) banks_->finish();
  const int per_wave = std::max(1, kSms / cluster_ctas);
  result_.counters.ctas += launch.grid.count();
  result_.counters.clusters += clusters;
  result_.counters.waves += (clusters + per_wave - 1) / per_wave;

  // What waiting for this launch makes known to the next: the launches before it too, if it has waited for them itself.
  const bool knew_earlier = !launch.programmatic_dependent || waited_ == uint32_t(launch.grid.count());
  previous_from_ = knew_earlier ? previous_from_ : first_cta_;
  previous_to_ = uint32_t(names_.ctas.size());
}

// Cluster `number` of the grid: clusters are numbered x first, CTAs in a cluster too.
std::unique_ptr<Cluster> Engine::make_cluster(int number, int first_window, int first_stack) {
  const Launch& l = *launch_;
  auto cluster = std::make_unique<Cluster>();
  cluster->number = cluster_count_++;
  const int across = l.grid.x / l.cluster.x, down = l.grid.y / l.cluster.y;
  const int origin[3] = {number % across * l.cluster.x, number / across % down * l.cluster.y,
                         number / across / down * l.cluster.z};
  const int threads = l.block.count();
  for (int rank = 0; rank < l.cluster.count(); ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster.get();
    cta->number = uint32_t(names_.ctas.size());
    cta->rank = rank;
    cta->position[0] = origin[0] + rank % l.cluster.x;
    cta->position[1] = origin[1] + rank / l.cluster.x % l.cluster.y;
    cta->position[2] = origin[2] + rank / l.cluster.x / l.cluster.y;
    cta->window = first_window + rank;
    cta->shared = pools_.windows.at(cta->window);
    std::memset(cta->shared, kPoison, l.shared_bytes);
    cta->own.resize(threads);
    cta->warps.resize((threads + kWarpThreads - 1) / kWarpThreads);
    cta->warpgroups.resize((threads + kWarpgroupThreads - 1) / kWarpgroupThreads);
    const int fitting = std::min(kMostRegisters, kRegisterFile / threads) / 8 * 8;
    for (Warp& warp : cta->warps) warp.registers = l.registers_per_thread ? l.registers_per_thread : fitting;
    for (int t = 0; t < threads; ++t) {
      Thread& thread = cta->threads.emplace_back();
      thread.cta = cta.get();
      thread.index = uint32_t(t);
      thread.stack = first_stack + rank * threads + t;
    }
    CtaRecord record{names_.launch_number(), {}, cluster->number, uint32_t(threads), {}};
    std::copy_n(cta->position, 3, record.position);
    names_.ctas.push_back(std::move(record));
    if (int(windows_.size()) <= cta->window) windows_.resize(cta->window + 1);
    windows_[cta->window] = cta.get();
    const MemoryPlace place{MemoryPlace::Kind::shared, cta->number, 0, 0};
    while (int(shared_shadow_.size()) <= cta->window) shared_shadow_.emplace_back(place);
    detector_.clear(shared_shadow_[cta->window]);
    shared_shadow_[cta->window].set_place(place);
    if (options_.timeline_of_cta && std::equal(cta->position, cta->position + 3, &options_.timeline_of_cta->x))
      timeline_cta_ = cta->number;
    cluster->ctas.push_back(std::move(cta));
  }
  cluster->threads = uint32_t(threads * l.cluster.count());
  return cluster;
}

void Engine::finish(Thread& thread) {
  thread.blocked = Blocked::finished;
  changed();
  const char* bottom = pools_.stacks.bottom(thread.stack);
  for (int i = 0; i < kStackCanaryBytes; ++i)
    if (bottom[i] != kStackCanary)
      fail(FindingKind::stack_overflow, concat("a thread's stack of ", pools_.stacks.bytes(), " bytes is full"), -1,
           "exit");
  Cta& cta = *thread.cta;
  ++cta.finished;
  ++cta.cluster->finished;
  if (cta.exited()) finish_cta(thread);
}

// The last thread of a CTA has left: its shared memory is free for the next one.
void Engine::finish_cta(Thread& last) {
  Cta& cta = *last.cta;
  for (size_t w = 0; w + 3 < cta.warps.size(); w += 4)
    for (size_t i = 1; i < 4; ++i)
      if (cta.warps[w].registers != cta.warps[w + i].registers)
        fail(FindingKind::divergence,
             concat("the warps of warpgroup ", w / 4, " have executed different setmaxnreg: ", cta.warps[w].registers,
                    " and ", cta.warps[w + i].registers, " registers"),
             -1, "exit");
  const auto early = [&](const Actor& who, std::string what) {
    Finding finding;
    finding.kind = FindingKind::unordered_exit;
    finding.what = concat(text_of(names_.thread(cta.number, last.index)), " is the last of its CTA to end, and ", what);
    finding.first = who;
    names_.compose(finding);
    add(std::move(finding));
  };
  for (auto& op : async_)
    if (op->issuer.cta->cluster == cta.cluster && (op->touches >> cta.rank & 1)) {
      Actor issuer = names_.actor(component(op->issuer), op->op, false, op->site);
      issuer.asynchronous = true;
      early(issuer, "an operation is in flight that uses its shared memory");
      to_main();
    }
  if (!racing()) return;
  for (const auto& [key, guest] : cta.guests) {
    bool known = false;
    for (Thread& t : cta.threads) {
      const View v = view(t);
      if ((known = Detector::ordered(v, guest.stamp))) break;
    }
    if (!known)
      early(names_.actor(guest.stamp.component(), guest.stamp.op, guest.stamp.writes(), guest.stamp.site),
            concat("no thread of it has waited for ", guest.what));
  }
}

void Engine::wait_for_earlier_launches(Thread& thread) {
  if (!std::exchange(thread.cta->waited_for_earlier, true)) ++waited_;
  if (!racing()) return;
  Knowledge& k = thread.knowledge;
  for (Clock* clock : {&k.ordered, &k.visible, &k.fenced_shared, &k.fenced_global})
    *clock = clocks().with_completed(*clock, previous_from_, previous_to_);
}

void Engine::add(Finding finding) {
  if (int(result_.findings.size()) < options_.max_findings) result_.findings.push_back(std::move(finding));
}

bool Engine::seen(const Finding& f) const {
  return std::ranges::any_of(result_.findings, [&](const Finding& other) {
    return other.kind == f.kind && other.what == f.what && other.second && f.second &&
           other.second->site == f.second->site;
  });
}

void Engine::fail(FindingKind kind, std::string what, int site, std::string_view operation, std::string memory,
                  const Thread* who) {
  {
    Finding finding;
    finding.kind = kind;
    finding.what = std::move(what);
    finding.memory = std::move(memory);
    const Thread& thread = who ? *who : running_operation_ ? running_operation_->issuer : *current_;
    finding.second = Actor{names_.thread(thread.cta->number, thread.index), std::string(operation),
                           running_operation_ != nullptr, false, site};
    names_.compose(finding);
    result_.findings.push_back(std::move(finding));
  }
  to_main();
}

}  // namespace gemmsmith::simulator
