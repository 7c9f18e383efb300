#include "gemmsmith/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "problem/random_problem.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

TEST(Problem, WhatIsPrintedParsesBackToAnEqualProblem) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const GemmProblem p = random_problem(random, i % 2 ? 3 : 100);
    ASSERT_TRUE(p.validate().ok()) << p.print() << "\n" << p.validate().error().text();
    const auto back = GemmProblem::parse(p.print());
    ASSERT_TRUE(back.ok()) << p.print() << "\n" << back.error().text();
    ASSERT_TRUE(*back == p) << p.print() << "\n" << back->print();
    ASSERT_EQ(back->print(), p.print());
  }
}

TEST(Problem, TextsAreEqualOnlyForEqualProblems) {
  Random random(2);
  std::map<std::string, GemmProblem> seen;
  for (int i = 0; i < 20000; ++i) {
    const GemmProblem p = random_problem(random, 2);
    const auto [known, added] = seen.emplace(p.print(), p);
    ASSERT_TRUE(added || known->second == p) << p.print();
  }
}

struct PrintCase {
  const char* text;
  const char* printed;
};
constexpr PrintCase kPrinted[] = {
    {"128x4096x1024 dtype=bf16 b=col", "128x4096x1024 dtype=bf16 b=col"},
    {"m=128 n=4096 k=1024 batch=4 a=f32:row:ld=1032 b=bf16:col d=f32 alpha=0.5 beta=1 acc=f32 bias=bf16 "
     "epilogue=gelu(acc + bias[n])",
     "4x128x4096x1024 dtype=f32 a=ld=1032 b=bf16:col alpha=0.5 beta=1 bias=bf16 epilogue=gelu(acc + bias[n])"},
    {"1x2x3", "1x2x3 dtype=f32"},
    {"  b=col\t1x2x3\n", "1x2x3 dtype=f32 b=col"},
    {"2x3x4 a=bf16", "2x3x4 dtype=bf16"},
    {"2x3x4 dtype=i8", "2x3x4 dtype=i8"},
    {"2x3x4 dtype=i8 d=bf16", "2x3x4 dtype=i8 d=bf16"},
    {"2x3x4 dtype=bf16 d=f32", "2x3x4 dtype=bf16 d=f32"},
    {"2x3x4 b=col:ld=4", "2x3x4 dtype=f32 b=col"},
    {"2x3x4 b=ld=9:col:f16", "2x3x4 dtype=f32 b=f16:col:ld=9"},
    {"25x25x8 a=strides(2,51) b=strides(3,29)", "25x25x8 dtype=f32 a=strides(2,51) b=strides(3,29)"},
    {"3x4x6x5 c=strides(6,1,0) beta=1", "3x4x6x5 dtype=f32 c=strides(6,1,0) beta=1"},
    {"3x4x6x5 a=strides(5,1,20)", "3x4x6x5 dtype=f32"},
    {"2x3x4 alpha=nan beta=inf", "2x3x4 dtype=f32 alpha=nan beta=inf"},
    {"2x3x4 beta=-0", "2x3x4 dtype=f32"},
    {"2x3x4 epilogue=acc", "2x3x4 dtype=f32"},
    {"2x3x4 dtype=bf16 epilogue.c=f32 epilogue=relu(acc)+c[m,n]",
     "2x3x4 dtype=bf16 epilogue.c=f32 epilogue=relu(acc) + c[m,n]"},
    {"0x0x0", "0x0x0 dtype=f32"},
    {"epilogue=gelu( acc+bias[n] ) bias=bf16 1x2x3 b=col",
     "1x2x3 dtype=f32 b=col bias=bf16 epilogue=gelu(acc + bias[n])"},
    {"1x2x3 epilogue=where(acc>= x, acc <=y, acc== z) epilogue.z=bf16 x=f16",
     "1x2x3 dtype=f32 x=f16 z=bf16 epilogue=where(acc >= x, acc <= y, acc == z)"},
};

TEST(Problem, PrintsInOneForm) {
  for (const PrintCase& c : kPrinted) {
    const auto p = GemmProblem::parse(c.text);
    ASSERT_TRUE(p.ok()) << p.error().text();
    EXPECT_EQ(p->print(), c.printed);
  }
}

TEST(Problem, DefaultsAreThoseOfTheHeader) {
  const GemmProblem p = GemmProblem::parse("4x128x256x64 dtype=bf16 b=col d=f32 epilogue=acc + bias[n]").value();
  EXPECT_EQ(p.a, (MatrixSpec{DataType::bf16, 64, 1, 128 * 64}));
  EXPECT_EQ(p.b, (MatrixSpec{DataType::bf16, 1, 64, 64 * 256}));
  EXPECT_EQ(p.c, (MatrixSpec{DataType::f32, 256, 1, 128 * 256}));
  EXPECT_EQ(p.d, p.c);
  EXPECT_EQ(p.acc, DataType::f32);
  EXPECT_EQ(p.inputs, (std::vector<InputSpec>{{"bias", InputIndex::column, DataType::f32}}));
  const GemmProblem integer = GemmProblem::parse("8x8x8 dtype=i8 d=i8 epilogue=acc * scale").value();
  EXPECT_EQ(integer.acc, DataType::i32);
  EXPECT_EQ(integer.c.type, DataType::i8);
  EXPECT_EQ(integer.inputs[0].type, DataType::i32);
}

TEST(Problem, MakeProblemIsWhatTheTextSays) {
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16, DataType::i8})
    for (const Major b : {Major::row, Major::column})
      EXPECT_TRUE(
          make_problem(5, 7, 9, type, b) ==
          GemmProblem::parse(concat("5x7x9 dtype=", name_of(type), b == Major::column ? " b=col" : "")).value());
}

// The words of any printed problem in any order, with the epilogue between them.
TEST(Problem, TheOrderOfWordsDoesNotMatter) {
  Random random(5);
  int with_epilogue = 0;
  for (int i = 0; i < 5000; ++i) {
    const GemmProblem p = random_problem(random);
    const std::string text = p.print();
    const size_t epilogue = std::min(text.find(" epilogue="), text.size());
    std::vector<std::string> words;
    for (const std::string_view word : split_words(std::string_view(text).substr(0, epilogue)))
      words.emplace_back(word);
    if (epilogue < text.size()) words.push_back(text.substr(epilogue + 1));
    with_epilogue += epilogue < text.size() ? 1 : 0;
    for (size_t j = words.size(); j > 1; --j) std::swap(words[j - 1], words[random.below(j)]);
    const auto back = GemmProblem::parse(join(words, random.below(2) ? " " : "\t\n"));
    ASSERT_TRUE(back.ok()) << join(words, " ") << "\n" << back.error().text();
    ASSERT_TRUE(*back == p) << join(words, " ");
  }
  EXPECT_GT(with_epilogue, 1000);
}

struct ErrorCase {
  const char* text;
  const char* error;
};
constexpr ErrorCase kErrors[] = {
    {"", "problem: m, n, k are missing; give the sizes as MxNxK or m= n= k="},
    {"m=1 n=2", "problem: k is missing; give the sizes as MxNxK or m= n= k="},
    {"128x64",
     "problem, column 1: \"128x64\" is not a word of a problem; sizes are MxNxK or BATCHxMxNxK; all other words have "
     "an ="},
    {"1x2x3 bf16", "problem, column 7: \"bf16\" is not a word of a problem; did you mean dtype=bf16?"},
    {"1x2x3 col", "problem, column 7: \"col\" is not a word of a problem; did you mean a=col or b=col?"},
    {"1x2x3 m=4", "problem, column 7: m is given twice; give it once"},
    {"1x2x3 dtype=f32 dtype=f32", "problem, column 17: dtype is given twice; give it once"},
    {"1x2x99999999999999999999",
     "problem, column 5: k=99999999999999999999 is not a whole number below 2^63; write k=128"},
    {"m=-1 n=2 k=3", "problem, column 3: m = -1 is negative; 0 and more are sizes"},
    {"m=1.5 n=2 k=3", "problem, column 3: m=1.5 is not a whole number below 2^63; write m=128"},
    {"1x2x3 epilouge=relu(acc)",
     "problem, column 7: \"epilouge\" is neither a key nor an input of the epilogue; did you mean epilogue?"},
    {"1x2x3 bais=f32 epilogue=acc + bias[n]",
     "problem, column 7: \"bais\" is neither a key nor an input of the epilogue; did you mean bias?"},
    {"1x2x3 --x=1", "problem, column 7: \"--x=1\" is not a word of a problem; words are like dtype=bf16 or b=col"},
    {"1x2x3 dtype=fp16",
     "problem, column 13: dtype=fp16 is not an element type of problems; use one of f32, f16, bf16, i8, i32"},
    {"1x2x3 dtype=f64",
     "problem, column 13: dtype=f64 is not an element type of problems; use one of f32, f16, bf16, i8, i32"},
    {"1x2x3 b=bf16:column",
     "problem, column 14: b=column is not a part of an operand; use a type (f32, f16, bf16, i8, i32), row, col, "
     "strides(ROW,COLUMN[,BATCH]) or ld=N, joined by colons"},
    {"1x2x3 b=col:row",
     "problem, column 13: b=...:row says something for the second time; give type, order and ld once each"},
    {"1x2x3 b=strides(1)",
     "problem, column 9: strides(1) has 1 stride; use strides(ROW,COLUMN) or strides(ROW,COLUMN,BATCH)"},
    {"1x2x3 b=strides(1,x)", "problem, column 19: stride=x is not a whole number below 2^63; write stride=128"},
    {"1x2x3 b=strides(1,2):ld=5",
     "problem, column 9: b=strides(1,2):ld=5 has strides and ld; strides() says it all: leave out ld"},
    {"2x1x2x3 b=strides(1,2)",
     "problem, column 11: b=strides(1,2) has no batch stride, and the batch is 2; use strides(ROW,COLUMN,BATCH); a "
     "BATCH of 0 is one "
     "matrix for all"},
    {"8x8x64 a=ld=63", "problem, column 10: ld=63 of a is less than 64, the length of a row; use ld=64 or more"},
    {"8x8x64 b=col:ld=63", "problem, column 10: ld=63 of b is less than 64, the length of a column; use ld=64 or more"},
    {"1x2x3 epilogue=acc + 1 dtype=f32 * 2",
     "problem, column 34: \"*\" is not a word of a problem; sizes are MxNxK or BATCHxMxNxK; all other words have an ="},
    {"1x2x3 epilogue=acc epilogue=acc", "problem, column 20: epilogue is given twice; give it once"},
    {"1x2x3 \x1b[2J=\xff\x01",
     "problem, column 7: \"\\x1b[2J=\\xff\\x01\" is not a word of a problem; words are like dtype=bf16 or b=col"},
    {"1x2x3 dtype="
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
     "problem, column 13: dtype="
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxx... (141 bytes) is not an element type of problems; use one of f32, f16, bf16, i8, i32"},
    {"1x2x3 alpha=x", "problem, column 13: alpha=x is not a number; write alpha=0.5"},
    {"1x2x3 epilogue=relu(acc + bias[k])",
     "problem, column 31: bias[k] has an index that is not known; use [m] for a value a row, [n] for a value a column, "
     "[m,n] for a full "
     "tensor"},
    {"1x2x3 epilogue=acc + v[n] * v[m]",
     "problem, column 16: input v: v[m] is used as v[n] too; an input has one index; give the second one a name of its "
     "own"},
    {"1x2x3 epilogue=acc * alpha",
     "problem: the epilogue input alpha has the name of a part of the problem; give it another name"},
    {"1x2x3 a=i8 b=f32", "problem: a=i8 and b=f32 cannot be multiplied; a and b are each f32, f16 or bf16, or both i8"},
    {"1x2x3 dtype=i32", "problem: a=i32 and b=i32 cannot be multiplied; a and b are each f32, f16 or bf16, or both i8"},
    {"1x2x3 dtype=i8 acc=f32", "problem: acc=f32 is not the accumulator of a=i8 and b=i8; use acc=i32"},
    {"1x2x3 acc=bf16", "problem: acc=bf16 is not the accumulator of a=f32 and b=f32; use acc=f32"},
    {"1x2x3 d=i8", "problem: d=i8 does not go with a=f32 and b=f32; use f32, f16 or bf16"},
    {"1x2x3 dtype=i8 c=i32 d=f16", "problem: d=f16 does not go with a=i8 and b=i8; use i32, i8, f32 or bf16"},
    {"1x2x3 bias=f64 epilogue=acc + bias",
     "problem, column 12: bias=f64 is not an element type of problems; use one of f32, f16, bf16, i8, i32"},
    {"4x4x4 d=strides(0,1)",
     "problem: d of 1 x 4 x 4 with strides (0,1,0) overlaps itself: a stride is not larger than what the smaller ones "
     "span; give each "
     "element of d its own place"},
    {"2x4x4x4 d=strides(4,1,0)",
     "problem: d of 2 x 4 x 4 with strides (4,1,0) overlaps itself: a stride is not larger than what the smaller ones "
     "span; give each "
     "element of d its own place"},
    {"4294967296x1x4294967296",
     "problem: a of 4294967296 x 4294967296 f32 with strides (4294967296,1,0) spans 2^63 bytes or more; use smaller "
     "sizes or strides"},
    {"2x1x9223372036854775807x1",
     "problem: b of 2 x 1 x 9223372036854775807 f32 with strides (9223372036854775807,1,9223372036854775807) spans "
     "2^63 bytes or more; "
     "use smaller sizes or strides"},
};

TEST(Problem, ErrorsSayWhereAndWhatWouldDo) {
  for (const ErrorCase& c : kErrors) {
    const auto p = GemmProblem::parse(c.text);
    ASSERT_FALSE(p.ok()) << c.text;
    EXPECT_EQ(p.error().text(), c.error) << c.text;
  }
}

TEST(Problem, NoTextBreaksTheParser) {
  Random random(3);
  const std::string alphabet = "0129xmnkabcd=:(),-. \tldstrierowcoepilogue+*[]f16bf32i8\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text = random.below(2) ? random_problem(random).print() : std::string();
    for (uint64_t edits = 1 + random.below(8); edits > 0; --edits)
      text.insert(size_t(random.below(text.size() + 1)), 1, alphabet[random.below(alphabet.size())]);
    const auto p = GemmProblem::parse(text);
    if (p.ok()) {
      ASSERT_TRUE(GemmProblem::parse(p->print()).value() == *p) << text;
    } else {
      ASSERT_FALSE(p.error().text().empty());
    }
  }
}

TEST(Problem, ADThatPassesHasAPlaceForEachElement) {
  Random random(4);
  int refused = 0, passed = 0;
  for (int i = 0; i < 20000; ++i) {
    GemmProblem p = make_problem(random.between(0, 4), random.between(0, 4), 1, DataType::f32);
    p.batch = random.between(0, 3);
    p.d = {DataType::f32, random.between(-12, 12), random.between(-12, 12), random.between(-40, 40)};
    std::set<int64_t> places;
    for (int64_t t = 0; t < p.batch; ++t)
      for (int64_t r = 0; r < p.m; ++r)
        for (int64_t c = 0; c < p.n; ++c)
          places.insert(t * p.d.batch_stride + r * p.d.row_stride + c * p.d.column_stride);
    const bool distinct = int64_t(places.size()) == p.batch * p.m * p.n;
    if (p.validate().ok()) {
      ++passed;
      ASSERT_TRUE(distinct) << p.print();
    } else {
      ++refused;
    }
    if (!places.empty()) {
      const ElementSpan span = span_of(operand_d(p), p.batch);
      ASSERT_EQ(span.low, *places.begin());
      ASSERT_EQ(span.high, *places.rbegin());
    }
  }
  EXPECT_GT(passed, 2000);
  EXPECT_GT(refused, 2000);
}

TEST(Problem, SizesBeyond63BitsAreErrorsNeverWrapped) {
  const int64_t large[] = {
      0, 1, 2, int64_t(1) << 31, int64_t(1) << 32, (int64_t(1) << 62) - 1, std::numeric_limits<int64_t>::max()};
  for (const int64_t m : large)
    for (const int64_t n : large)
      for (const int64_t batch : large) {
        const auto p = GemmProblem::parse(concat("m=", m, " n=", n, " k=3 batch=", batch, " epilogue=acc+x[m,n]"));
        const double bytes = 4.0 * double(m) * double(n) * double(batch);
        if (bytes > 0x1.0001p63) {
          ASSERT_FALSE(p.ok()) << m << " " << n << " " << batch;
        } else if (p.ok()) {
          ASSERT_TRUE(GemmProblem::parse(p->print()).value() == *p);
        }
      }
  EXPECT_EQ(GemmProblem::parse("2x49152x8x65536 dtype=bf16").value().a.batch_stride, int64_t(3221225472));
}

TEST(Problem, BytesCountWhatMoves) {
  EXPECT_EQ(GemmProblem::parse("2x3x4").value().bytes(), 4 * (2 * 4 + 4 * 3 + 2 * 3));
  EXPECT_EQ(GemmProblem::parse("2x3x4 beta=1").value().bytes(), 4 * (2 * 4 + 4 * 3 + 2 * 2 * 3));
  EXPECT_EQ(GemmProblem::parse("2x3x4 dtype=i8").value().bytes(), 2 * 4 + 4 * 3 + 4 * 2 * 3);
  EXPECT_EQ(GemmProblem::parse("5x2x3x4 b=strides(3,1,0)").value().bytes(), 4 * (5 * 2 * 4 + 4 * 3 + 5 * 2 * 3));
  EXPECT_EQ(GemmProblem::parse("2x3x4 bias=bf16 epilogue=acc + bias[n] + x[m,n] + s").value().bytes(),
            4 * (8 + 12 + 6) + 2 * 3 + 4 * (6 + 1));
  EXPECT_EQ(GemmProblem::parse("2x3x4 alpha=0").value().bytes(), 4 * 2 * 3);
  EXPECT_EQ(GemmProblem::parse("0x3x4").value().bytes(), 0);
  EXPECT_EQ(GemmProblem::parse("2x3x4").value().flops(), 48);
}

TEST(Problem, MajorOf) {
  EXPECT_EQ(major_of({DataType::f32, 8, 1, 0}, 4, 8), Major::row);
  EXPECT_EQ(major_of({DataType::f32, 1, 4, 0}, 4, 8), Major::column);
  EXPECT_EQ(major_of({DataType::f32, 2, 51, 0}, 4, 8), Major::none);
  EXPECT_EQ(major_of({DataType::f32, 1, 1, 0}, 1, 8), Major::row);
  EXPECT_EQ(major_of({DataType::f32, 8, 8, 0}, 8, 1), Major::row);
  EXPECT_EQ(major_of({DataType::f32, 8, 3, 0}, 1, 8), Major::column);
}

TEST(Problem, InputsHaveToBeThoseOfTheEpilogue) {
  GemmProblem p = make_problem(2, 3, 4, DataType::f32);
  p.epilogue = Expr::parse("acc + bias[n]").value();
  EXPECT_EQ(
      p.validate().error().text(),
      "problem: the list of epilogue inputs, none, is not what the epilogue uses, bias[n]; set_epilogue() fills it in");
  EXPECT_TRUE(p.set_epilogue(p.epilogue).ok());
  EXPECT_TRUE(p.validate().ok());
}

TEST(Problem, NanEqualsNan) {
  const GemmProblem p = GemmProblem::parse("1x2x3 alpha=nan").value();
  EXPECT_TRUE(p == p);
  EXPECT_FALSE(p == GemmProblem::parse("1x2x3").value());
}

}  // namespace
}  // namespace gemmsmith
