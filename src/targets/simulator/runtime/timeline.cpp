#include "targets/simulator/runtime/timeline.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/text.h"
#include "targets/simulator/runtime/names.h"

namespace gemmsmith::simulator {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string event(std::string_view name, std::string_view phase, int64_t row, int64_t from, int64_t length,
                  std::string_view args) {
  return concat("{\"name\": ", quoted(name), ", \"ph\": \"", phase, "\", \"pid\": 0, \"tid\": ", row,
                ", \"ts\": ", from, phase == "X" ? concat(", \"dur\": ", length) : "",
                phase == "i" ? ", \"s\": \"t\"" : "", ", \"args\": {", args, "}}");
}

std::string row_name(int64_t row, std::string_view name) {
  return concat(R"({"name": "thread_name", "ph": "M", "pid": 0, "tid": )", row, ", \"args\": {\"name\": ", quoted(name),
                "}}");
}

}  // namespace

void Timeline::wait(uint32_t thread, int64_t from, int64_t to, std::string operation, std::string barrier, int site) {
  events_.push_back({Event::Kind::wait, thread, from, to, std::move(operation), std::move(barrier), site});
}

uint32_t Timeline::issue(uint32_t thread, int64_t at, std::string operation, int site) {
  events_.push_back({Event::Kind::operation, thread, at, -1, std::move(operation), "", site});
  return uint32_t(events_.size() - 1);
}

void Timeline::complete(uint32_t id, int64_t at) { events_[id].to = at; }

void Timeline::mark(uint32_t thread, int64_t at, std::string what) {
  events_.push_back({Event::Kind::mark, thread, at, at, std::move(what), "", -1});
}

std::string Timeline::json(const Names& names, const int (&cta)[3], int64_t end) const {
  constexpr int64_t kOperationRows = 10000;
  std::set<uint32_t> issuers;
  for (const Event& e : events_)
    if (e.kind != Event::Kind::wait) issuers.insert(e.thread);
  std::map<std::pair<std::string, size_t>, int64_t>
      rows;  // of operations: overlapping ones of a kind lie below each other
  std::map<std::string, std::vector<int64_t>> busy_until;
  std::vector<std::string> out;
  out.push_back(concat(R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "CTA ()", cta[0], ",", cta[1],
                       ",", cta[2], ") (time: scheduler steps)\"}}"));
  std::set<uint32_t> threads;
  for (const Event& e : events_) {
    if (e.thread % 32 != 0 && !issuers.contains(e.thread)) continue;
    threads.insert(e.thread);
    const std::string at = e.site < 0 ? "" : concat("\"site\": ", quoted(names.site(e.site)));
    if (e.kind == Event::Kind::mark) {
      out.push_back(event(e.what, "i", e.thread, e.from, 0, at));
      continue;
    }
    if (e.kind == Event::Kind::wait) {
      const std::string name = e.barrier.empty() ? e.what : concat(e.what, ": ", e.barrier);
      out.push_back(event(name, "X", e.thread, e.from, std::max<int64_t>(e.to - e.from, 0), at));
      continue;
    }
    const int64_t to = e.to < 0 ? end : e.to;
    auto& busy = busy_until[e.what];
    size_t lane = 0;
    while (lane < busy.size() && busy[lane] > e.from) ++lane;
    if (lane == busy.size()) busy.push_back(0);
    busy[lane] = std::max(to, e.from + 1);
    const auto [row, fresh] = rows.try_emplace({e.what, lane}, kOperationRows + int64_t(rows.size()));
    if (fresh) out.push_back(row_name(row->second, e.what));
    out.push_back(event(e.what, "X", row->second, e.from, to - e.from, at));
  }
  for (const uint32_t t : threads) out.push_back(row_name(t, concat("warp ", t / 32, " lane ", t % 32)));
  return concat("{\"traceEvents\": [\n", gemmsmith::join(out, ",\n"), "\n]}\n");
}

}  // namespace gemmsmith::simulator
