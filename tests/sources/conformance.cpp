#include "sources/conformance.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "problem/compare.h"
#include "problem/operands.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

void set_element(const MatrixSpec& s, const void* base, int64_t row, int64_t column, double value) {
  store_element(s.type, const_cast<void*>(base), row * s.row_stride + column * s.column_stride, value);
}

// Operands are the test's own memory: it may write what kernels may only read.
void put_contents(const ConformanceCase& c, const GemmArguments& arguments) {
  const GemmProblem& p = c.problem;
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0 || !is_float(p.a.type) || !is_float(p.b.type)) return;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  switch (c.contents) {
    case Contents::random:
      break;
    case Contents::nan_where_unread:
      if (p.alpha != 0) break;
      for (int64_t i = 0; i < p.m; ++i) set_element(p.a, arguments.a, i, p.k / 2, nan);
      for (int64_t j = 0; j < p.n; ++j) set_element(p.b, arguments.b, p.k / 2, j, nan);
      break;
    case Contents::nan_in_a:
      set_element(p.a, arguments.a, p.m / 2, p.k - 1, nan);
      for (int64_t j = 0; j < p.n; ++j) set_element(p.b, arguments.b, p.k - 1, j, j % 2);  // NaN * 0 is NaN
      break;
    case Contents::infinity_in_b:
      set_element(p.b, arguments.b, p.k / 2, p.n / 2, infinity);
      for (int64_t i = 0; i < p.m; ++i) set_element(p.a, arguments.a, i, p.k / 2, i % 3 - 1);  // 0 * infinity is NaN
      break;
  }
}

// Whether a reason can be acted on: it has a number, or a name in quotes, of a file, a type or a part of the problem.
bool says_something(const std::string& reason) {
  if (std::any_of(reason.begin(), reason.end(), [](unsigned char ch) { return std::isdigit(ch); })) return true;
  static constexpr std::string_view kNames[] = {"alpha", "beta", "epilogue", "batch", ".so", "acc", "bf16", "f32"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return reason.find(name) != std::string::npos; });
}

class CaseRun {
 public:
  CaseRun(Source& source, const DeviceFacts& device, const ConformanceCase& c, ConformanceReport& report)
      : source_(source), device_(device), case_(c), report_(report) {}

  void run() {
    const Supports supports = source_.supports(case_.problem, device_);
    if (!supports) {
      ++report_.refused;
      if (supports.reason.empty())
        violation("", "refuses without a reason");
      else if (!says_something(supports.reason))
        violation("", concat("refuses without a number or a name: ", supports.reason));
      else if (supports.reason.find('\n') != std::string::npos)
        violation("", concat("its reason has several lines: ", supports.reason));
      return;
    }
    ++report_.supported;
    const CandidateSet set = source_.candidates(case_.problem, device_);
    if (set.kept.empty()) violation("", "supports the problem but offers no candidate");
    check_set(set);
    Candidate unknown{source_.name(), "no such configuration", 0};
    if (auto built = source_.build(case_.problem, device_, unknown); built.ok())
      violation(unknown.config, "builds a configuration that it does not know");
    auto operands = Operands::create(case_.problem, 7);
    GS_ASSERT(operands.ok(), "conformance problems are small");
    put_contents(case_, operands->arguments());
    const Check check(case_.problem, operands->arguments());
    // Of many candidates a few, spread over the ranks and others for each problem: each costs a compilation.
    const size_t offered = set.kept.size(), most = std::min(kMostCandidates, offered);
    const size_t first = size_t(report_.supported) * 7;
    for (size_t i = 0; i < most; ++i)
      check_candidate(set.kept[offered <= kMostCandidates ? i : (first + i * offered / most) % offered], *operands,
                      check);
  }

 private:
  static constexpr size_t kMostCandidates = 4;

  void violation(const std::string& config, const std::string& what) {
    report_.violations.push_back(
        concat(source_.name(), config.empty() ? "" : " ", config, ", ", case_.problem.print(), ": ", what));
  }

  void check_set(const CandidateSet& set) {
    const CandidateSet again = source_.candidates(case_.problem, device_);
    const auto same = [](const Candidate& x, const Candidate& y) {
      return x.config == y.config && x.predicted_us == y.predicted_us;
    };
    if (!std::equal(set.kept.begin(), set.kept.end(), again.kept.begin(), again.kept.end(), same))
      violation("", "offers other candidates when asked again");
    std::set<std::string> configs;
    for (const Candidate& candidate : set.kept) {
      if (!configs.insert(candidate.config).second) violation(candidate.config, "is offered twice");
      if (candidate.source != source_.name())
        violation(candidate.config, concat("names another source: ", candidate.source));
    }
    for (const DroppedCandidate& dropped : set.dropped)
      if (!says_something(dropped.rule))
        violation(dropped.config, concat("is dropped by a rule that says nothing: ", dropped.rule));
  }

  void check_candidate(const Candidate& candidate, Operands& operands, const Check& check) {
    auto kernel = source_.build(case_.problem, device_, candidate);
    if (!kernel.ok())
      return violation(candidate.config, concat("supported, but does not build: ", kernel.error().text()));
    ++report_.kernels;
    GemmArguments arguments = operands.arguments();
    if (!case_.problem.reads_c()) arguments.c = nullptr;  // what is not read may be no memory at all
    for (const char* const time : {"", "the second time, "}) {
      operands.poison_output();
      if (const Status status = (*kernel)->run(arguments); !status.ok())
        return violation(candidate.config, concat(time, "fails: ", status.error().text()));
      if (const Accuracy accuracy = check.compare(arguments.d); !accuracy.passed)
        return violation(candidate.config, concat(time, "is wrong: ", accuracy.failure));
      if (const auto damage = operands.damage()) return violation(candidate.config, concat(time, *damage));
    }
  }

  Source& source_;
  const DeviceFacts& device_;
  const ConformanceCase& case_;
  ConformanceReport& report_;
};

}  // namespace

void check_conformance(Source& source, const DeviceFacts& device, const ConformanceCase& c, ConformanceReport& report) {
  CaseRun(source, device, c, report).run();
}

ConformanceReport check_conformance(Source& source, const DeviceFacts& device,
                                    const std::vector<ConformanceCase>& cases) {
  ConformanceReport report;
  for (const ConformanceCase& c : cases) check_conformance(source, device, c, report);
  return report;
}

}  // namespace gemmsmith
