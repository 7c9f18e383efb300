#include "tuner/worker_protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/text.h"

namespace gemmsmith {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Reads members of an object; the first that is missing or of another kind is the error.
class Members {
 public:
  explicit Members(std::string_view text) : own_(Json::parse(text, nullptr, /*allow_exceptions=*/false)), json_(own_) {
    if (!json_.is_object()) fail("the text", "is not a JSON object");
  }
  Members(const Json& json, std::optional<Error>& error) : json_(json), error_(&error) {
    if (!json_.is_object()) fail("an item", "is not a JSON object");
  }

  void read(const char* key, std::string& out) {
    if (const Json* v = find(key, &Json::is_string)) out = v->get<std::string>();
  }
  void read(const char* key, bool& out) {
    if (const Json* v = find(key, &Json::is_boolean)) out = v->get<bool>();
  }
  void read(const char* key, double& out) {
    if (const Json* v = find(key, &Json::is_number)) out = v->get<double>();
  }
  template <std::integral T>
  void read(const char* key, T& out) {
    if (const Json* v = find(key, &Json::is_number_integer)) out = v->get<T>();
  }
  template <class T, class Read>
  void read(const char* key, std::vector<T>& out, const Read& read_item) {
    const Json* array = find(key, &Json::is_array);
    for (size_t i = 0; array && i < array->size() && !*error_; ++i) {
      T item{};
      Members members((*array)[i], *error_);
      read_item(members, item);
      out.push_back(std::move(item));
    }
  }
  const Json* list(const char* key) { return find(key, &Json::is_array); }

  const std::optional<Error>& error() const { return *error_; }
  template <class T>
  Result<T> finish(T value) {
    if (*error_) return **error_;
    return value;
  }

 private:
  const Json* find(const char* key, bool (Json::*is)() const noexcept) {
    if (*error_) return nullptr;
    const auto it = json_.find(key);
    if (it != json_.end() && ((*it).*is)()) return &*it;
    fail(concat("key \"", key, "\""), it == json_.end() ? "is missing" : "is of another kind");
    return nullptr;
  }
  void fail(std::string given, std::string limit) {
    if (!*error_) *error_ = Error{"worker, a message", std::move(given), std::move(limit), {}, {}};
  }

  Json own_;
  const Json& json_;
  std::optional<Error> own_error_;
  std::optional<Error>* error_ = &own_error_;
};

template <class T>
void read_texts(Members& m, const char* key, std::vector<T>& out) {
  if (const Json* array = m.list(key))
    for (const Json& item : *array)
      if (item.is_string()) out.push_back(item.get<std::string>());
}

}  // namespace

std::string print(const OpenRequest& r) {
  return dump({{"device", r.device}, {"threads", r.threads}, {"kernel_cache", r.kernel_cache}, {"without", r.without}});
}

Result<OpenRequest> parse_open(std::string_view text) {
  Members m(text);
  OpenRequest r;
  m.read("device", r.device);
  m.read("threads", r.threads);
  m.read("kernel_cache", r.kernel_cache);
  read_texts(m, "without", r.without);
  return m.finish(std::move(r));
}

std::string print(const Opened& o) {
  Json sources = Json::array();
  for (const SourceReport& s : o.sources) sources.push_back({{"name", s.name}, {"version", s.version}});
  return dump({{"protocol", o.protocol}, {"gemmsmith", o.gemmsmith}, {"device", o.device}, {"sources", sources}});
}

Result<Opened> parse_opened(std::string_view text) {
  Members m(text);
  Opened o;
  m.read("protocol", o.protocol);
  m.read("gemmsmith", o.gemmsmith);
  m.read("device", o.device);
  m.read("sources", o.sources, [](Members& item, SourceReport& s) {
    item.read("name", s.name);
    item.read("version", s.version);
  });
  return m.finish(std::move(o));
}

std::string print(const ProblemRequest& r) {
  return dump({{"problem", r.problem},
               {"peak_f32_gflops", r.peak_f32_gflops},
               {"peak_bf16_gflops", r.peak_bf16_gflops},
               {"peak_i8_gops", r.peak_i8_gops},
               {"read_gbytes_per_s", r.read_gbytes_per_s}});
}

Result<ProblemRequest> parse_problem_request(std::string_view text) {
  Members m(text);
  ProblemRequest r;
  m.read("problem", r.problem);
  m.read("peak_f32_gflops", r.peak_f32_gflops);
  m.read("peak_bf16_gflops", r.peak_bf16_gflops);
  m.read("peak_i8_gops", r.peak_i8_gops);
  m.read("read_gbytes_per_s", r.read_gbytes_per_s);
  return m.finish(std::move(r));
}

std::string print(const std::vector<SourceOffer>& offers) {
  Json array = Json::array();
  for (const SourceOffer& offer : offers) {
    Json kept = Json::array(), dropped = Json::array();
    for (const Candidate& c : offer.candidates.kept)
      kept.push_back({{"config", c.config}, {"us", std::isfinite(c.predicted_us) ? c.predicted_us : 1e300}});
    for (const DroppedCandidate& d : offer.candidates.dropped)
      dropped.push_back({{"config", d.config}, {"rule", d.rule}});
    array.push_back({{"source", offer.source},
                     {"supported", offer.supports.yes},
                     {"reason", offer.supports.reason},
                     {"kept", std::move(kept)},
                     {"dropped", std::move(dropped)}});
  }
  return dump({{"offers", std::move(array)}});
}

Result<std::vector<SourceOffer>> parse_offers(std::string_view text) {
  Members m(text);
  std::vector<SourceOffer> offers;
  m.read("offers", offers, [](Members& item, SourceOffer& offer) {
    item.read("source", offer.source);
    item.read("supported", offer.supports.yes);
    item.read("reason", offer.supports.reason);
    item.read("kept", offer.candidates.kept, [&](Members& kept, Candidate& c) {
      c.source = offer.source;
      kept.read("config", c.config);
      kept.read("us", c.predicted_us);
    });
    item.read("dropped", offer.candidates.dropped, [](Members& dropped, DroppedCandidate& d) {
      dropped.read("config", d.config);
      dropped.read("rule", d.rule);
    });
  });
  return m.finish(std::move(offers));
}

std::string print(const OperandsRequest& r) {
  Json regions = Json::array();
  for (const SharedRegion& region : r.regions)
    regions.push_back({{"name", region.name},
                       {"offset", region.offset},
                       {"bytes", region.bytes},
                       {"data", region.data},
                       {"size", region.size},
                       {"writable", region.writable}});
  return dump({{"bytes", r.bytes},
               {"regions", std::move(regions)},
               {"origins", r.origins},
               {"copies", r.copies},
               {"shared_rotation", r.shared_rotation},
               {"memory_bytes", r.memory_bytes}});
}

Result<OperandsRequest> parse_operands(std::string_view text) {
  Members m(text);
  OperandsRequest r;
  m.read("bytes", r.bytes);
  m.read("regions", r.regions, [](Members& item, SharedRegion& region) {
    item.read("name", region.name);
    item.read("offset", region.offset);
    item.read("bytes", region.bytes);
    item.read("data", region.data);
    item.read("size", region.size);
    item.read("writable", region.writable);
  });
  if (const Json* origins = m.list("origins"))
    for (const Json& origin : *origins)
      if (origin.is_number_integer()) r.origins.push_back(origin.get<int64_t>());
  m.read("copies", r.copies);
  m.read("shared_rotation", r.shared_rotation);
  m.read("memory_bytes", r.memory_bytes);
  return m.finish(std::move(r));
}

std::string print(const BuildRequest& r) {
  return dump({{"kernel", r.kernel}, {"source", r.source}, {"config", r.config}});
}

Result<BuildRequest> parse_build(std::string_view text) {
  Members m(text);
  BuildRequest r;
  m.read("kernel", r.kernel);
  m.read("source", r.source);
  m.read("config", r.config);
  return m.finish(std::move(r));
}

std::string print(const KernelRequest& r) { return dump({{"kernel", r.kernel}, {"repeats", r.repeats}}); }

Result<KernelRequest> parse_kernel_request(std::string_view text) {
  Members m(text);
  KernelRequest r;
  m.read("kernel", r.kernel);
  m.read("repeats", r.repeats);
  return m.finish(r);
}

std::string print_number(const char* key, double value) { return dump(Json::object({{key, value}})); }

Result<double> parse_number_of(std::string_view text, const char* key) {
  Members m(text);
  double value = 0;
  m.read(key, value);
  return m.finish(value);
}

std::string print_error(const Error& e) {
  return dump({{"where", e.where}, {"given", e.given}, {"limit", e.limit}, {"remedy", e.remedy}, {"notes", e.notes}});
}

Error parse_error(std::string_view text) {
  Members m(text);
  Error e;
  m.read("where", e.where);
  m.read("given", e.given);
  m.read("limit", e.limit);
  m.read("remedy", e.remedy);
  read_texts(m, "notes", e.notes);
  return m.error().value_or(e);
}

}  // namespace gemmsmith
