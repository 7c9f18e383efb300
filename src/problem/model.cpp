#include "gemmsmith/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

using Json = nlohmann::json;
constexpr int64_t kMostElements = int64_t(1) << 40;  // of a width, a vocabulary, tokens
constexpr int64_t kMostThings = int64_t(1) << 20;    // layers, heads, experts: products of three still fit into 63 bits

// ---- reading the configuration

// nlohmann's parser tells where a text stops being JSON only by an exception; it ends here.
Result<Json> parse_json(std::string_view text, std::string_view file) {
  constexpr const char* kExpected = "expected a model's config.json in the Hugging Face form";
  try {
    // What is nested deeper is in no configuration, and would take a stack as deep to print in an error; it is passed over.
    Json json = Json::parse(text, [](int depth, Json::parse_event_t, const Json&) { return depth < 64; });
    if (!json.is_object()) return Error{std::string(file), "the JSON value", "is not an object", kExpected, {}};
    return json;
  } catch (const Json::parse_error& wrong) {
    const std::string_view before = text.substr(0, std::min(wrong.byte > 0 ? wrong.byte - 1 : 0, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return Error{concat(file, ":", line, ":", column), "the text", "is not JSON from here on", kExpected, {}};
  } catch (const Json::exception& wrong) {
    return Error{std::string(file), "the text", concat("is not JSON: ", wrong.what()), kExpected, {}};
  }
}

// Sizes of a configuration. Collects what is missing, so that one error names it all.
class Config {
 public:
  Config(Json json, std::string_view file, std::string family)
      : json_(std::move(json)), file_(file), family_(std::move(family)) {}

  int64_t size(const char* key) { return required({key}, kMostElements); }
  // The first of several spellings that is there and not null.
  int64_t count(std::initializer_list<const char*> keys) { return required(keys, kMostThings); }
  std::optional<int64_t> optional_size(const char* key) { return optional({key}, kMostElements); }
  std::optional<int64_t> optional_count(const char* key) { return optional({key}, kMostThings); }
  std::optional<std::string> text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  }
  bool flag(const char* key) const {
    const auto found = json_.find(key);
    return found != json_.end() && found->is_boolean() && found->get<bool>();
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::string& file() const { return file_; }

  Status status() const {
    if (!missing_.empty())
      return Error{file_,
                   join(missing_, ", "),
                   missing_.size() == 1 ? "is missing" : "are missing",
                   concat("model_type ", family_, " needs ", missing_.size() == 1 ? "it" : "them"),
                   {}};
    if (error_) return *error_;
    return Done{};
  }

 private:
  int64_t required(std::initializer_list<const char*> keys, int64_t most) {
    const std::optional<int64_t> value = optional(keys, most);
    if (!value) missing_.push_back(join(keys, " or "));
    return value.value_or(1);
  }
  std::optional<int64_t> optional(std::initializer_list<const char*> keys, int64_t most) {
    for (const char* key : keys) {
      const auto found = json_.find(key);
      if (found == json_.end() || found->is_null()) continue;
      if (found->is_number_integer() && *found >= 1 && *found <= most) return found->get<int64_t>();
      fail({file_, concat(key, " = ", shown(found->dump())), concat("is not a whole number from 1 to ", most), {}, {}});
      return 1;
    }
    return std::nullopt;
  }

  Json json_;
  std::string file_, family_;
  std::vector<std::string> missing_;
  std::optional<Error> error_;
};

// ---- families

// Gathers the problems of a model: y = x W with x of m x k.
class ProblemList {
 public:
  ProblemList(int64_t tokens, DataType type, Major weights) : tokens_(tokens), type_(type), weights_(weights) {}

  void add(std::string name, int64_t count, int64_t n, int64_t k, const std::string& epilogue = {}) {
    add(std::move(name), count, make_problem(tokens_, n, k, type_, weights_), epilogue);
  }
  void add_expert(std::string name, int64_t count, int64_t rows, int64_t n, int64_t k) {
    add(std::move(name), count, make_problem(rows, n, k, type_, weights_), {});
  }
  // The embedding is stored vocabulary x hidden in every family.
  void add_lm_head(int64_t vocabulary, int64_t hidden, const std::string& epilogue = {}) {
    add("lm_head", 1, make_problem(tokens_, vocabulary, hidden, type_, Major::column), epilogue);
  }
  int64_t tokens() const { return tokens_; }
  Result<std::vector<NamedProblem>> take(const Config& config) {
    GS_CHECK(config.status());
    for (const NamedProblem& p : problems_) {
      Status valid = p.problem.validate();
      if (!valid.ok()) return std::move(valid).error().note(concat("in ", p.name, " of ", config.file()));
    }
    return std::move(problems_);
  }

 private:
  void add(std::string name, int64_t count, GemmProblem problem, const std::string& epilogue) {
    if (!epilogue.empty()) {
      const Status set = problem.set_epilogue(Expr::parse(epilogue).value());
      GS_ASSERT(set.ok(), "the epilogues of known families are right");
    }
    problems_.push_back({std::move(name), count, std::move(problem)});
  }

  int64_t tokens_;
  DataType type_;
  Major weights_;
  std::vector<NamedProblem> problems_;
};

// How a Hugging Face activation is spelled here.
std::string activation(Config& config, const char* key, const char* by_default) {
  const std::string name = config.text(key).value_or(by_default);
  static constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"gelu", "gelu"},           {"gelu_new", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"gelu_fast", "gelu_tanh"}, {"relu", "relu"},          {"silu", "silu"},
      {"swish", "silu"},          {"tanh", "tanh"},          {"sigmoid", "sigmoid"}};
  for (const auto& [known, function] : kKnown)
    if (name == known) return std::string(function);
  std::vector<std::string> names;
  for (const auto& entry : kKnown) names.emplace_back(entry.first);
  config.fail(
      {config.file(), concat(key, " = ", in_quotes(name)), "is not a known activation", suggest(name, names), {}});
  return "relu";
}

constexpr const char* kBias = "acc + bias[n]";
std::string activated(const std::string& function) { return concat(function, "(acc + bias[n])"); }

// The attention part of the llama line of models. Sizes of heads: head_dim where given, else hidden_size / heads.
struct Attention {
  int64_t hidden, layers, heads, kv_heads, head_dim;

  explicit Attention(Config& config)
      : hidden(config.size("hidden_size")),
        layers(config.count({"num_hidden_layers"})),
        heads(config.count({"num_attention_heads"})),
        kv_heads(config.optional_count("num_key_value_heads").value_or(heads)) {
    const auto given = config.optional_size("head_dim");
    head_dim = given.value_or(hidden / heads);
    if (!given && hidden % heads != 0)
      config.fail({config.file(),
                   concat("hidden_size = ", hidden),
                   concat("is not a multiple of num_attention_heads = ", heads),
                   "give head_dim",
                   {}});
  }
  void add_to(ProblemList& list, const char* qkv_epilogue, const char* o_epilogue) const {
    list.add("qkv", layers, (heads + 2 * kv_heads) * head_dim, hidden, qkv_epilogue);
    list.add("o", layers, hidden, heads * head_dim, o_epilogue);
  }
};

// llama, mistral, qwen, gemma, phi3: gated feed-forward layers without biases.
void add_llama(Config& config, ProblemList& list, bool qkv_bias) {
  const Attention attention(config);
  const int64_t intermediate = config.size("intermediate_size");
  const bool all_biased = config.flag("attention_bias");
  attention.add_to(list, qkv_bias || all_biased ? kBias : "", all_biased ? kBias : "");
  list.add("gate_up", attention.layers, 2 * intermediate, attention.hidden);
  list.add("down", attention.layers, attention.hidden, intermediate);
  list.add_lm_head(config.size("vocab_size"), attention.hidden);
}

void add_mixtral(Config& config, ProblemList& list) {
  const Attention attention(config);
  const int64_t intermediate = config.size("intermediate_size");
  const int64_t experts = config.count({"num_local_experts", "num_experts", "n_routed_experts"});
  const int64_t per_token = config.count({"num_experts_per_tok"});
  if (per_token > experts)
    config.fail({config.file(),
                 concat("num_experts_per_tok = ", per_token),
                 concat("is more than the ", experts, " experts"),
                 {},
                 {}});
  attention.add_to(list, "", "");
  list.add("router", attention.layers, experts, attention.hidden);

  // per_token <= experts from here on, or the configuration fails anyway.
  const double routed = double(list.tokens()) * double(per_token);
  const int64_t active = routed < double(experts) ? int64_t(routed) : experts;
  const int64_t rows = int64_t((routed + double(active) - 1) / double(active));
  const std::string who =
      concat(", ", active, active == 1 ? " expert x " : " experts x ", rows, rows == 1 ? " token" : " tokens");
  list.add_expert("gate_up" + who, attention.layers * active, rows, 2 * intermediate, attention.hidden);
  list.add_expert("down" + who, attention.layers * active, rows, attention.hidden, intermediate);
  list.add_lm_head(config.size("vocab_size"), attention.hidden);
}

void add_bert(Config& config, ProblemList& list) {
  const int64_t hidden = config.size("hidden_size"), layers = config.count({"num_hidden_layers"});
  const int64_t intermediate = config.size("intermediate_size");
  const std::string function = activation(config, "hidden_act", "gelu");
  list.add("qkv", layers, 3 * hidden, hidden, kBias);
  list.add("o", layers, hidden, hidden, kBias);
  list.add("fc1", layers, intermediate, hidden, activated(function));
  list.add("fc2", layers, hidden, intermediate, kBias);
  list.add("lm_head_transform", 1, hidden, hidden,
           activated(function));  // the masked-language head: dense, activation, decoder
  list.add_lm_head(config.size("vocab_size"), hidden, kBias);
}

void add_gpt2(Config& config, ProblemList& list) {
  const int64_t hidden = config.size("n_embd"), layers = config.count({"n_layer"});
  const int64_t intermediate = config.optional_size("n_inner").value_or(4 * hidden);
  list.add("qkv", layers, 3 * hidden, hidden, kBias);
  list.add("o", layers, hidden, hidden, kBias);
  list.add("fc1", layers, intermediate, hidden, activated(activation(config, "activation_function", "gelu_new")));
  list.add("fc2", layers, hidden, intermediate, kBias);
  list.add_lm_head(config.size("vocab_size"), hidden);
}

// A family's name, how its weights are stored, and how its problems are listed.
struct Family {
  std::string_view name;
  Major weights;
  void (*add)(Config&, ProblemList&);
};
constexpr auto kPlainLlama = [](Config& config, ProblemList& list) { add_llama(config, list, false); };
constexpr auto kBiasedLlama = [](Config& config, ProblemList& list) { add_llama(config, list, true); };
constexpr Family kFamilies[] = {
    {"bert", Major::column, add_bert},       {"gemma", Major::column, kPlainLlama},
    {"gpt2", Major::row, add_gpt2},          {"llama", Major::column, kPlainLlama},
    {"mistral", Major::column, kPlainLlama}, {"mixtral", Major::column, add_mixtral},
    {"phi3", Major::column, kPlainLlama},    {"qwen2", Major::column, kBiasedLlama},
    {"qwen3", Major::column, kPlainLlama},
};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  return names;
}

Result<DataType> weight_type(const Config& config) {
  std::optional<std::string> name = config.text("torch_dtype");
  if (!name) name = config.text("dtype");  // its newer spelling
  if (!name || *name == "bfloat16") return DataType::bf16;
  if (*name == "float16") return DataType::f16;
  if (*name == "float32") return DataType::f32;
  return Error{config.file(),
               concat("torch_dtype = ", in_quotes(*name)),
               "is not a known type",
               "use bfloat16, float16 or float32",
               {}};
}

}  // namespace

Result<std::vector<NamedProblem>> model_problems(std::string_view config_json, int64_t tokens, std::string_view file) {
  if (tokens < 1 || tokens > kMostElements)
    return Error{"tokens", format_integer(tokens), concat("is not a whole number from 1 to ", kMostElements), {}, {}};
  GS_TRY(Json json, parse_json(config_json, file));
  const std::vector<std::string> known = family_names();
  const auto type = json.find("model_type");
  if (type == json.end() || !type->is_string())
    return Error{std::string(file), "model_type", "is missing", concat("known: ", join(known, ", ")), {}};
  const std::string name = type->get<std::string>();
  const auto family =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& f) { return f.name == name; });
  if (family == std::end(kFamilies))
    return Error{std::string(file),
                 concat("model_type = ", in_quotes(name)),
                 "is not a known family",
                 concat("known: ", join(known, ", ")),
                 {}};

  Config config(std::move(json), file, name);
  GS_TRY(const DataType weights, weight_type(config));
  ProblemList list(tokens, weights, family->weights);
  family->add(config, list);
  return list.take(config);
}

}  // namespace gemmsmith
