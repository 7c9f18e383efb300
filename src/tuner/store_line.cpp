#include "tuner/store_line.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gemmsmith/json.h"
#include "support/hash.h"
#include "support/text.h"
#include "tuner/stamp.h"

namespace gemmsmith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormatKey = "gemmsmith_store_lines";

void drop_sign_of_zeros(Json& json) {
  if (json.is_number_float() && json.get<double>() == 0) json = 0.0;
  if (json.is_structured())
    for (Json& part : json) drop_sign_of_zeros(part);
}

Error wrong(std::string where, std::string given, std::string limit, std::string remedy = {}) {
  return Error{std::move(where), std::move(given), std::move(limit), std::move(remedy), {}};
}

Status check_header(const Json& version) {
  if (!version.is_number_integer()) return wrong("header", shown(version.dump()), "is not a version");
  if (version.get<int64_t>() > kLinesVersion || version.get<int64_t>() < 1)
    return wrong("header", concat("version ", shown(version.dump()), " of the lines"),
                 concat("is not one that gemmsmith " GEMMSMITH_VERSION " knows, 1 to ", kLinesVersion),
                 "use the gemmsmith that exported them, or a newer one");
  return Done{};
}

Status check_counts(const TuneReport& r) {
  for (size_t i = 0; i < r.candidates.size(); ++i) {
    const CandidateReport& c = r.candidates[i];
    const std::string where = concat("report.candidates[", i, "]");
    if (c.timing && c.timing->samples < 1)
      return wrong(where + ".timing.samples", format_integer(c.timing->samples), "is less than 1");
    if (c.accuracy && c.accuracy->compared < 0)
      return wrong(where + ".accuracy.compared", format_integer(c.accuracy->compared), "is less than 0");
    if (c.state == CandidateState::won && int(i) != r.winner)
      return wrong(where + ".state", "\"won\"", concat("but report.winner is ", r.winner));
  }
  return Done{};
}

Status check_winner(const TuneReport& r) {
  if (r.winner < -1 || r.winner >= int(r.candidates.size()))
    return wrong("report.winner", format_integer(r.winner),
                 concat("is not one of its ", r.candidates.size(), " candidates"));
  const CandidateReport* best = r.best();
  if (!best) return Done{};
  const std::string given = concat("candidate ", r.winner, ", ", best->source, " ", best->config, ",");
  if (best->state != CandidateState::won)
    return wrong("report.winner", given, concat("has the state ", name_of(best->state), ", not won"));
  if (!best->timing || !std::isfinite(best->timing->median_us) || best->timing->median_us <= 0)
    return wrong("report.winner", given, "has no time", "tune the problem again");
  if (!best->accuracy || !best->accuracy->passed)
    return wrong("report.winner", given, "has not passed the numeric gate", "tune the problem again");
  return Done{};
}

}  // namespace

std::string print_lines_header() { return concat("{\"", kFormatKey, "\":", kLinesVersion, "}"); }

std::string print_line(const TuneReport& report, std::string_view stamp) {
  Json json = Json::parse(to_json(report, -1));
  json.erase("from_store");
  json["stamp"] = stamp;
  drop_sign_of_zeros(json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // a damaged stamp may be any bytes
}

std::string hash_of_line(std::string_view line) { return hash_hex(line); }

Result<std::optional<Decision>> parse_line(std::string_view line) {
  if (trim(line).empty()) return std::optional<Decision>();
  // What is nested deeper than any report is passed over: printing it would take a stack as deep.
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < 64; };
  Json json = Json::parse(line, shallow, /*allow_exceptions=*/false);
  if (!json.is_object())
    return wrong("report", {}, "is not a JSON object",
                 "give one decision a line, as gemmsmith store export writes them; a merge may have left marks");
  if (const auto version = json.find(kFormatKey); version != json.end()) {
    GS_CHECK(check_header(*version));
    return std::optional<Decision>();
  }
  Decision decision;
  if (const auto stamp = json.find("stamp"); stamp != json.end()) {
    if (!stamp->is_string()) return wrong("report.stamp", shown(stamp->dump()), "is not a string");
    decision.stamp = stamp->get<std::string>();
  }
  json["from_store"] = true;
  GS_TRY(decision.report, report_from_json(json.dump()));
  if (decision.stamp.empty()) decision.stamp = stamp_after({}, decision.report.provenance.measured_at);
  GS_CHECK(check_decision(decision));
  return std::optional<Decision>(std::move(decision));
}

Status check_decision(const Decision& decision) {
  const TuneReport& r = decision.report;
  if (r.provenance.device.empty()) return wrong("report.provenance.device", "\"\"", "is empty");
  if (!is_timestamp(r.provenance.measured_at))
    return wrong("report.provenance.measured_at", concat('"', r.provenance.measured_at, '"'),
                 "is not a time in UTC, as 2026-12-01T11:08:14Z");
  if (!is_stamp(decision.stamp))
    return wrong("report.stamp", concat('"', decision.stamp, '"'), "is not a stamp, as 2026-12-01T11:08:14Z+000000",
                 "leave it out to have that of measured_at");
  GS_CHECK(check_winner(r));
  return check_counts(r);
}

}  // namespace gemmsmith
