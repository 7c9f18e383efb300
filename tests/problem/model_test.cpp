#include "gemmsmith/model.h"

#include <gtest/gtest.h>

#include "support/file.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// "qkv 28x 128x4096x1024 dtype=bf16 b=col", a line a problem.
std::string listing(const std::vector<NamedProblem>& problems) {
  std::string text;
  for (const NamedProblem& p : problems) text += concat(p.name, " ", p.count, "x ", p.problem.print(), "\n");
  return text;
}

std::string config(const std::string& name) { return read_file(GEMMSMITH_SOURCE_DIR "/models/" + name).value(); }

std::string listing_of(const std::string& name, int64_t tokens) {
  const auto problems = model_problems(config(name), tokens, name);
  return problems.ok() ? listing(*problems) : problems.error().text();
}

TEST(Model, Qwen3) {
  EXPECT_EQ(listing_of("qwen3-0.6b.json", 128),
            "qkv 28x 128x4096x1024 dtype=bf16 b=col\n"
            "o 28x 128x1024x2048 dtype=bf16 b=col\n"
            "gate_up 28x 128x6144x1024 dtype=bf16 b=col\n"
            "down 28x 128x1024x3072 dtype=bf16 b=col\n"
            "lm_head 1x 128x151936x1024 dtype=bf16 b=col\n");
  EXPECT_EQ(listing_of("qwen3-32b.json", 1).substr(0, 42), "qkv 64x 1x10240x5120 dtype=bf16 b=col\no 64");
}

TEST(Model, Llama) {
  EXPECT_EQ(listing_of("llama-3-8b.json", 16),
            "qkv 32x 16x6144x4096 dtype=bf16 b=col\n"
            "o 32x 16x4096x4096 dtype=bf16 b=col\n"
            "gate_up 32x 16x28672x4096 dtype=bf16 b=col\n"
            "down 32x 16x4096x14336 dtype=bf16 b=col\n"
            "lm_head 1x 16x128256x4096 dtype=bf16 b=col\n");
}

TEST(Model, Gpt2) {
  EXPECT_EQ(listing_of("gpt2.json", 64),
            "qkv 12x 64x2304x768 dtype=bf16 epilogue=acc + bias[n]\n"
            "o 12x 64x768x768 dtype=bf16 epilogue=acc + bias[n]\n"
            "fc1 12x 64x3072x768 dtype=bf16 epilogue=gelu_tanh(acc + bias[n])\n"
            "fc2 12x 64x768x3072 dtype=bf16 epilogue=acc + bias[n]\n"
            "lm_head 1x 64x50257x768 dtype=bf16 b=col\n");
}

TEST(Model, Bert) {
  EXPECT_EQ(listing_of("bert-base-uncased.json", 512),
            "qkv 12x 512x2304x768 dtype=bf16 b=col epilogue=acc + bias[n]\n"
            "o 12x 512x768x768 dtype=bf16 b=col epilogue=acc + bias[n]\n"
            "fc1 12x 512x3072x768 dtype=bf16 b=col epilogue=gelu(acc + bias[n])\n"
            "fc2 12x 512x768x3072 dtype=bf16 b=col epilogue=acc + bias[n]\n"
            "lm_head_transform 1x 512x768x768 dtype=bf16 b=col epilogue=gelu(acc + bias[n])\n"
            "lm_head 1x 512x30522x768 dtype=bf16 b=col epilogue=acc + bias[n]\n");
}

TEST(Model, MixtralSpreadsTokensOverItsExperts) {
  EXPECT_EQ(listing_of("mixtral-8x7b.json", 128),
            "qkv 32x 128x6144x4096 dtype=bf16 b=col\n"
            "o 32x 128x4096x4096 dtype=bf16 b=col\n"
            "router 32x 128x8x4096 dtype=bf16 b=col\n"
            "gate_up, 8 experts x 32 tokens 256x 32x28672x4096 dtype=bf16 b=col\n"
            "down, 8 experts x 32 tokens 256x 32x4096x14336 dtype=bf16 b=col\n"
            "lm_head 1x 128x32000x4096 dtype=bf16 b=col\n");
  EXPECT_NE(listing_of("mixtral-8x7b.json", 1).find("gate_up, 2 experts x 1 token 64x 1x28672x4096"),
            std::string::npos);
  EXPECT_NE(listing_of("mixtral-8x7b.json", 5).find("gate_up, 8 experts x 2 tokens 256x 2x28672x4096"),
            std::string::npos);
}

TEST(Model, AllSpellingsOfTheNumberOfExpertsGiveTheSameShapes) {
  const std::string text = config("mixtral-8x7b.json");
  const std::string expected = listing(model_problems(text, 100).value());
  for (const char* key : {"num_experts", "n_routed_experts"}) {
    std::string other = text;
    other.replace(other.find("num_local_experts"), 17, key);
    EXPECT_EQ(listing(model_problems(other, 100).value()), expected) << key;
  }
}

constexpr const char* kTiny =
    R"("hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100)";

TEST(Model, FamiliesOfTheLlamaLine) {
  const auto of = [](const std::string& rest) {
    return listing(model_problems("{" + rest + ", " + kTiny + "}", 3).value());
  };
  const std::string llama = of(R"("model_type": "llama")");
  EXPECT_EQ(llama,
            "qkv 2x 3x192x64 dtype=bf16 b=col\no 2x 3x64x64 dtype=bf16 b=col\ngate_up 2x 3x256x64 dtype=bf16 b=col\n"
            "down 2x 3x64x128 dtype=bf16 b=col\nlm_head 1x 3x100x64 dtype=bf16 b=col\n");
  for (const char* family : {"mistral", "phi3", "gemma", "qwen3"})
    EXPECT_EQ(of(concat(R"("model_type": ")", family, "\"")), llama) << family;
  EXPECT_EQ(of(R"("model_type": "qwen2")").substr(0, 82),
            "qkv 2x 3x192x64 dtype=bf16 b=col epilogue=acc + bias[n]\no 2x 3x64x64 dtype=bf16 b=");
  EXPECT_NE(of(R"("model_type": "llama", "attention_bias": true)")
                .find("o 2x 3x64x64 dtype=bf16 b=col epilogue=acc + bias[n]"),
            std::string::npos);
  EXPECT_EQ(of(R"("model_type": "llama", "num_key_value_heads": 1, "head_dim": 32)").substr(0, 68),
            "qkv 2x 3x192x64 dtype=bf16 b=col\no 2x 3x64x128 dtype=bf16 b=col\ngate");
  EXPECT_EQ(of(R"("model_type": "llama", "torch_dtype": "float32")").substr(0, 32),
            "qkv 2x 3x192x64 dtype=f32 b=col\n");
}

TEST(Model, ErrorsNameFileKeyAndWhatIsKnown) {
  const auto error = [](const std::string& text, int64_t tokens = 1) {
    return model_problems(text, tokens, "m/config.json").error().text();
  };
  const std::string known = "known: bert, gemma, gpt2, llama, mistral, mixtral, phi3, qwen2, qwen3";
  EXPECT_EQ(error(R"({"model_type": "mamba"})"),
            "m/config.json: model_type = \"mamba\" is not a known family; " + known);
  EXPECT_EQ(error("{}"), "m/config.json: model_type is missing; " + known);
  EXPECT_EQ(error(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4})"),
            "m/config.json: num_hidden_layers, intermediate_size, vocab_size are missing; model_type llama needs them");
  EXPECT_EQ(
      error(concat(R"({"model_type": "mixtral", "num_experts_per_tok": 2, )", kTiny, "}")),
      "m/config.json: num_local_experts or num_experts or n_routed_experts is missing; model_type mixtral needs it");
  EXPECT_EQ(
      error("{\n  \"model_type\": \"llama\",\n  oops\n}"),
      "m/config.json:3:3: the text is not JSON from here on; expected a model's config.json in the Hugging Face form");
  EXPECT_EQ(
      error(""),
      "m/config.json:1:1: the text is not JSON from here on; expected a model's config.json in the Hugging Face form");
  EXPECT_EQ(error("[1]"),
            "m/config.json: the JSON value is not an object; expected a model's config.json in the Hugging Face form");
  const auto tiny = [](const char* key, const char* value) {
    std::string text = concat(R"({"model_type": "llama", )", kTiny, "}");
    const size_t at = text.find(':', text.find(key)) + 1;
    return text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  EXPECT_EQ(error(tiny("num_attention_heads", "0")),
            "m/config.json: num_attention_heads = 0 is not a whole number from 1 to 1048576");
  EXPECT_EQ(error(tiny("hidden_size", "-64")),
            "m/config.json: hidden_size = -64 is not a whole number from 1 to 1099511627776");
  EXPECT_EQ(error(tiny("vocab_size", "1e30")),
            "m/config.json: vocab_size = 1e+30 is not a whole number from 1 to 1099511627776");
  EXPECT_EQ(error(tiny("vocab_size", "18446744073709551615")),
            "m/config.json: vocab_size = 18446744073709551615 is not a whole number from 1 to 1099511627776");
  EXPECT_EQ(error(tiny("vocab_size", "\"big\"")),
            "m/config.json: vocab_size = \"big\" is not a whole number from 1 to 1099511627776");
  EXPECT_EQ(error(tiny("num_attention_heads", "5")),
            "m/config.json: hidden_size = 64 is not a multiple of num_attention_heads = 5; give head_dim");
  EXPECT_EQ(error(concat(R"({"model_type": "llama", "torch_dtype": "int4", )", kTiny, "}")),
            "m/config.json: torch_dtype = \"int4\" is not a known type; use bfloat16, float16 or float32");
  EXPECT_EQ(error(concat(R"({"model_type": "bert", "hidden_act": "gelu_neew", )", kTiny, "}")),
            "m/config.json: hidden_act = \"gelu_neew\" is not a known activation; did you mean gelu_new?");
  EXPECT_EQ(error(concat(R"({"model_type": "llama", )", kTiny, "}"), 0),
            "tokens: 0 is not a whole number from 1 to 1099511627776");
  EXPECT_EQ(model_problems(tiny("hidden_size", "1099511627776"), int64_t(1) << 40, "c").error().text(),
            "problem: a of 1099511627776 x 1099511627776 bf16 with strides (1099511627776,1,0) spans 2^63 bytes or "
            "more; use smaller sizes "
            "or strides\n  in qkv of c");
}

TEST(Model, NoTextBreaksIt) {
  const std::string texts[] = {config("mixtral-8x7b.json"), config("gpt2.json"), config("qwen3-0.6b.json")};
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string text = texts[random.below(3)];
    for (uint64_t edits = 1 + random.below(6); edits > 0; --edits) {
      const size_t at = size_t(random.below(text.size()));
      if (random.below(2))
        text[at] = char(random.below(256));
      else
        text.insert(at, 1, "0123456789-e.\"{}[],:"[random.below(20)]);
    }
    const auto problems = model_problems(text, 1 + int64_t(random.below(1000)));
    if (problems.ok()) {
      for (const NamedProblem& p : *problems) ASSERT_TRUE(p.problem.validate().ok() && p.count > 0);
    } else {
      ASSERT_FALSE(problems.error().text().empty());
    }
  }
  EXPECT_FALSE(model_problems(std::string(100000, '['), 1).ok());
}

TEST(Csv, ReadsWhatTheHeaderSays) {
  EXPECT_EQ(
      listing(csv_problems("name,m,n,k,note\nllama8b_o,1,4096,4096,decode\n\"a, \"\"b\"\"\",2,3,4,\"two\nlines\"\r\n\n")
                  .value()),
      "llama8b_o 1x 1x4096x4096 dtype=bf16 b=col\na, \"b\" 1x 2x3x4 dtype=bf16 b=col\n");
  EXPECT_EQ(listing(csv_problems("op,B,M,N,K,dtype,layA,layB,calls\nmm,1,0,91,1024,f16,R,C,1\nbmm,3,2,4,8,f16,C,R,"
                                 "7\nmm,1,2,4,8,f32,B0,R,2\n")
                        .value()),
            "mm 1x 0x91x1024 dtype=f16 b=col\nbmm 7x 3x2x4x8 dtype=f16 a=col\nmm 2x 2x4x8 dtype=f32 a=strides(0,1)\n");
  EXPECT_EQ(listing(csv_problems("\xef\xbb\xbfk,n,m,dtype\n1,2,3,i8\n").value()), " 1x 3x2x1 dtype=i8 b=col\n");
  EXPECT_EQ(listing(csv_problems("m,n,k\n").value()), "");
}

TEST(Csv, ErrorsSayLineAndColumn) {
  const auto error = [](std::string_view text) { return csv_problems(text, "s.csv").error().text(); };
  EXPECT_EQ(error(""), "s.csv: the file is empty; expected a header with the columns m, n and k");
  EXPECT_EQ(error("name,m,k\nx,1,2\n"), "s.csv:1: column n is missing in the header; it has name, m, k");
  EXPECT_EQ(error("m,n,k\n1,2,3\n1,x,3\n"), "s.csv:3, column n: \"x\" is not a whole number of 0 or more");
  EXPECT_EQ(error("m,n,k\n1,2,-3\n"), "s.csv:2, column k: \"-3\" is not a whole number of 0 or more");
  EXPECT_EQ(error("m,n,k\n\n1,2\n"), "s.csv:3: 2 fields where the header has 3");
  EXPECT_EQ(error("m,n,k,dtype\n1,2,3,fp8\n"),
            "s.csv:2, column dtype: \"fp8\" is not an element type of A and B; use f32, f16, bf16 or i8");
  EXPECT_EQ(error("m,n,k,layA\n1,2,3,X\n"),
            "s.csv:2, column laya: \"X\" is not a layout; use R (row-major), C (column-major), B0 (one row for all) or "
            "B1 (one column for all)");
  EXPECT_EQ(error("m,n,k,note\n1,2,3,\"open\n"),
            "s.csv:2: a quote is never closed; quotes inside a field are written twice");
  EXPECT_EQ(error("m,n,k\n4294967296,1,4294967296\n"),
            "problem: a of 4294967296 x 4294967296 bf16 with strides (4294967296,1,0) spans 2^63 bytes or more; use "
            "smaller sizes or strides\n"
            "  in s.csv:2");
}

}  // namespace
}  // namespace gemmsmith
