#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gemmsmith/json.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

using Json = nlohmann::ordered_json;

// Writing.

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json json_of(const Timing& t) {
  return {{"median_us", number(t.median_us)},
          {"low_us", number(t.low_us)},
          {"high_us", number(t.high_us)},
          {"samples", t.samples}};
}

Json json_of(const Accuracy& a) {
  return {{"max_abs", number(a.max_abs)}, {"max_rel", number(a.max_rel)}, {"allowed_rel", number(a.allowed_rel)},
          {"worst", number(a.worst)},     {"compared", a.compared},       {"passed", a.passed},
          {"failure", a.failure}};
}

Json json_of(const SourceReport& s) {
  return {{"name", s.name}, {"version", s.version}, {"supported", s.supported}, {"reason", s.reason}};
}

Json json_of(const CandidateReport& c) {
  return {{"source", c.source},
          {"config", c.config},
          {"state", name_of(c.state)},
          {"reason", c.reason},
          {"predicted_us", number(c.predicted_us)},
          {"build_ms", number(c.build_ms)},
          {"timing", c.timing ? json_of(*c.timing) : Json()},
          {"accuracy", c.accuracy ? json_of(*c.accuracy) : Json()}};
}

Json json_of(const Provenance& p) {
  return {{"device", p.device}, {"sources", p.sources}, {"gemmsmith", p.gemmsmith}, {"measured_at", p.measured_at}};
}

Json json_of(const TuneReport&);

template <class T>
Json json_of(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(json_of(item));
  return array;
}

// Members that later versions added are left out where they are empty, so that what earlier ones saved reads as it did.
Json json_of(const TuneReport& r) {
  Json json = {{"problem", r.problem.print()},   {"winner", r.winner < 0 ? Json() : Json(r.winner)},
               {"margin", number(r.margin)},     {"decision", r.decision},
               {"floor_us", number(r.floor_us)}, {"seconds", number(r.seconds)},
               {"conditions", r.conditions}};
  if (!r.memory.empty()) json["memory"] = r.memory;
  if (!r.isolation.empty()) json["isolation"] = r.isolation;
  if (r.load) json["load"] = {{"load_average", number(r.load->load_average)}, {"others", number(r.load->others)}};
  json.update(Json{{"from_store", r.from_store},
                   {"store_note", r.store_note},
                   {"interrupted", r.interrupted},
                   {"provenance", json_of(r.provenance)},
                   {"sources", json_of(r.sources)},
                   {"candidates", json_of(r.candidates)}});
  return json;
}

Json json_of(const DeviceFacts& d) {
  return {{"kind", d.kind},
          {"vendor", d.vendor},
          {"model", d.model},
          {"features", d.features},
          {"cores", d.cores},
          {"threads", d.threads},
          {"vector_bytes", d.vector_bytes},
          {"l1_bytes", d.l1_bytes},
          {"l2_bytes", d.l2_bytes},
          {"last_level_bytes", d.last_level_bytes},
          {"memory_bytes", d.memory_bytes},
          {"peak_f32_gflops", number(d.peak_f32_gflops)},
          {"peak_bf16_gflops", number(d.peak_bf16_gflops)},
          {"peak_i8_gops", number(d.peak_i8_gops)},
          {"read_gbytes_per_s", number(d.read_gbytes_per_s)},
          {"fingerprint", d.fingerprint()}};
}

std::string print(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Reading. The first value that is missing or of the wrong kind is kept as the error; after it everything reads as
// empty.
class Reader {
 public:
  Reader(const Json& json, std::string path, std::optional<Error>& error)
      : json_(json), path_(std::move(path)), error_(error) {}

  void read(const char* key, std::string& out) const {
    if (const Json* v = find(key, "a string", &Json::is_string)) out = v->get<std::string>();
  }
  void read(const char* key, bool& out) const {
    if (const Json* v = find(key, "true or false", &Json::is_boolean)) out = v->get<bool>();
  }
  void read(const char* key, double& out) const {
    const Json* v = value(key);
    if (!v) return;
    if (v->is_number())
      out = v->get<double>();
    else if (*v == "nan")
      out = std::numeric_limits<double>::quiet_NaN();
    else if (*v == "inf" || *v == "-inf")
      out = (*v == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
    else
      fail(key, *v, "is not a number");
  }
  void read(const char* key, int64_t& out) const {
    if (const Json* v = find(key, "an integer", &Json::is_number_integer)) out = v->get<int64_t>();
  }
  void read(const char* key, int& out) const {
    int64_t wide = out;
    read(key, wide);
    if (wide != int(wide)) return fail(key, *value(key), "is out of range");
    out = int(wide);
  }
  bool is_null(const char* key) const {
    const Json* v = value(key);
    return !v || v->is_null();
  }
  bool is_absent(const char* key) const { return !json_.contains(key); }
  Reader object(const char* key) const {
    const Json* v = find(key, "an object", &Json::is_object);
    return {v ? *v : kEmpty, concat(path_, ".", key), error_};
  }
  template <class T, class Read>
  void read(const char* key, std::vector<T>& out, const Read& read_item) const {
    const Json* array = find(key, "an array", &Json::is_array);
    for (size_t i = 0; array && i < array->size() && !error_; ++i) {
      const std::string path = concat(path_, ".", key, "[", i, "]");
      if (!(*array)[i].is_object()) return fail(path, (*array)[i], "is not an object");
      out.push_back(read_item(Reader((*array)[i], path, error_)));
    }
  }
  template <class Value>
  void fail(const char* key, const Value& given, const char* limit, std::string remedy = {}) const {
    fail(concat(path_, ".", key), Json(given), limit, std::move(remedy));
  }
  void fail(const std::string& path, const Json& given, const char* limit, std::string remedy = {}) const {
    if (!error_) error_ = Error{path, shown(print(given, -1)), limit, std::move(remedy), {}};
  }

 private:
  const Json* value(const char* key) const {
    if (error_) return nullptr;
    const auto it = json_.find(key);
    if (it != json_.end()) return &*it;
    error_ = Error{path_, concat("key \"", key, "\""), "is missing", {}, {}};
    return nullptr;
  }
  const Json* find(const char* key, const char* kind, bool (Json::*is)() const noexcept) const {
    const Json* v = value(key);
    if (!v || (v->*is)()) return v;
    fail(key, *v, concat("is not ", kind).c_str());
    return nullptr;
  }

  inline static const Json kEmpty = Json::object();
  const Json& json_;
  std::string path_;
  std::optional<Error>& error_;
};

Timing read_timing(const Reader& r) {
  Timing t;
  r.read("median_us", t.median_us);
  r.read("low_us", t.low_us);
  r.read("high_us", t.high_us);
  r.read("samples", t.samples);
  return t;
}

Accuracy read_accuracy(const Reader& r) {
  Accuracy a;
  r.read("max_abs", a.max_abs);
  r.read("max_rel", a.max_rel);
  r.read("allowed_rel", a.allowed_rel);
  r.read("worst", a.worst);
  r.read("compared", a.compared);
  r.read("passed", a.passed);
  r.read("failure", a.failure);
  return a;
}

SourceReport read_source(const Reader& r) {
  SourceReport s;
  r.read("name", s.name);
  r.read("version", s.version);
  r.read("supported", s.supported);
  r.read("reason", s.reason);
  return s;
}

CandidateReport read_candidate(const Reader& r) {
  CandidateReport c;
  std::string state;
  r.read("source", c.source);
  r.read("config", c.config);
  r.read("state", state);
  if (const auto known = candidate_state_named(state))
    c.state = *known;
  else
    r.fail("state", state, "is not a candidate's state",
           "known: won, measured, eliminated, dropped, failed, crashed, quarantined, wrong, not_reached");
  r.read("reason", c.reason);
  r.read("predicted_us", c.predicted_us);
  r.read("build_ms", c.build_ms);
  if (!r.is_null("timing")) c.timing = read_timing(r.object("timing"));
  if (!r.is_null("accuracy")) c.accuracy = read_accuracy(r.object("accuracy"));
  return c;
}

Provenance read_provenance(const Reader& r) {
  Provenance p;
  r.read("device", p.device);
  r.read("sources", p.sources);
  r.read("gemmsmith", p.gemmsmith);
  r.read("measured_at", p.measured_at);
  return p;
}

// All but the problem, which has its own parser and errors.
TuneReport read_report(const Reader& r) {
  TuneReport report;
  if (!r.is_null("winner")) r.read("winner", report.winner);
  r.read("margin", report.margin);
  r.read("decision", report.decision);
  r.read("floor_us", report.floor_us);
  r.read("seconds", report.seconds);
  r.read("conditions", report.conditions);
  if (!r.is_absent("memory")) r.read("memory", report.memory);
  if (!r.is_absent("isolation")) r.read("isolation", report.isolation);
  if (!r.is_absent("load")) {
    const Reader load = r.object("load");
    report.load.emplace();
    load.read("load_average", report.load->load_average);
    load.read("others", report.load->others);
  }
  r.read("from_store", report.from_store);
  r.read("store_note", report.store_note);
  r.read("interrupted", report.interrupted);
  report.provenance = read_provenance(r.object("provenance"));
  r.read("sources", report.sources, read_source);
  r.read("candidates", report.candidates, read_candidate);
  if (report.winner < -1 || report.winner >= int(report.candidates.size()))
    r.fail("winner", report.winner, "is not the index of a candidate");
  return report;
}

}  // namespace

std::string to_json(const TuneReport& report, int indent) { return print(json_of(report), indent); }
std::string to_json(const std::vector<TuneReport>& reports, int indent) { return print(json_of(reports), indent); }
std::string to_json(const DeviceFacts& facts, int indent) { return print(json_of(facts), indent); }
std::string to_json(const std::vector<SourceReport>& sources, int indent) { return print(json_of(sources), indent); }

Result<TuneReport> report_from_json(std::string_view text) {
  // What is nested deeper than any report is passed over: an error that prints it would take a stack as deep.
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < 64; };
  const Json json = Json::parse(text, shallow, /*allow_exceptions=*/false);
  if (!json.is_object()) return Error{"report", {}, "is not a JSON object", {}, {}};
  std::optional<Error> error;
  const Reader reader(json, "report", error);
  std::string problem;
  reader.read("problem", problem);
  TuneReport report = read_report(reader);
  if (error) return *std::move(error);
  auto parsed = GemmProblem::parse(problem);
  if (!parsed.ok()) return std::move(parsed).error().note("in report.problem");
  report.problem = *std::move(parsed);
  return report;
}

}  // namespace gemmsmith
