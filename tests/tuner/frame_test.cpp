#include "tuner/frame.h"

#include <gtest/gtest.h>

#include "support/random.h"
#include "tuner/worker_protocol.h"

namespace gemmsmith {
namespace {

Frame random_frame(Random& random) {
  Frame frame{FrameKind(1 + random.below(12)), random.next(), {}};
  for (uint64_t i = random.below(2000); i > 0; --i) frame.text += char(random.next());
  return frame;
}

TEST(Frame, ArriveWholeWhateverPiecesTheyComeIn) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::vector<Frame> sent;
    std::string bytes;
    for (uint64_t i = random.below(20); i > 0; --i) bytes += encode(sent.emplace_back(random_frame(random)));
    FrameReader reader;
    std::vector<Frame> received;
    for (size_t at = 0; at < bytes.size();) {
      const size_t piece = std::min<size_t>(1 + random.below(700), bytes.size() - at);
      reader.add(std::string_view(bytes).substr(at, piece));
      at += piece;
      for (auto frame = reader.next().value(); frame; frame = reader.next().value()) received.push_back(*frame);
    }
    EXPECT_EQ(received, sent);
    EXPECT_FALSE(reader.mid_frame());
  }
}

TEST(Frame, HalfAFrameIsNone) {
  const std::string bytes = encode({FrameKind::sample, 7, R"({"kernel":1,"repeats":3})"});
  for (size_t part = 0; part < bytes.size(); ++part) {
    FrameReader reader;
    reader.add(std::string_view(bytes).substr(0, part));
    EXPECT_FALSE(reader.next().value()) << part;
    EXPECT_EQ(reader.mid_frame(), part > 0);
  }
}

TEST(Frame, GarbageIsFoundAtItsFirstByteAndNeverASurprise) {
  FrameReader reader;
  reader.add("x");
  EXPECT_EQ(reader.next().error().text(), "worker: 1 bytes are no message of the protocol gsw1");
  for (uint64_t seed = 0; seed < 2000; ++seed) {  // a damaged frame is an error, waits for more, or is another frame
    Random random(seed);
    std::string bytes = encode(random_frame(random));
    bytes[random.below(bytes.size())] ^= char(1 + random.below(255));
    FrameReader damaged;
    damaged.add(bytes);
    (void)damaged.next();
  }
  FrameReader large;
  std::string header = encode({FrameKind::done, 1, {}});
  header[7] = '\x7f';
  large.add(header);
  EXPECT_FALSE(large.next().ok()) << "2 GB are not waited for";
}

TEST(WorkerProtocol, WhatIsPrintedReadsBack) {
  const OpenRequest open{"cpu", 3, "/c:/d", {"a", "b"}};
  EXPECT_EQ(print(parse_open(print(open)).value()), print(open));
  const Opened opened{1, "0.1.0", "cpu | x", {{"native", "1a", false, {}}, {"other", "2", false, {}}}};
  EXPECT_EQ(print(parse_opened(print(opened)).value()), print(opened));
  const ProblemRequest problem{"8x8x8", 1.5, 2.5, 0, 77.25};
  EXPECT_EQ(print(parse_problem_request(print(problem)).value()), print(problem));
  const std::vector<SourceOffer> offers = {{"native", {}, {{{"native", "a b=1", 12.5}}, {{"c", "too \"large\""}}}},
                                           {"other", Supports::no("no library"), {}}};
  EXPECT_EQ(print(parse_offers(print(offers)).value()), print(offers));
  const OperandsRequest operands{1 << 20, {{"a", 4096, 8192, 5000, 64, false}}, {1, 2, 3, 4, 5}, 7, true, 1 << 30};
  EXPECT_EQ(print(parse_operands(print(operands)).value()), print(operands));
  const BuildRequest build{uint64_t(1) << 60, "native", "x y=2"};
  EXPECT_EQ(print(parse_build(print(build)).value()), print(build));
  const Error error{"a.cpp:7", "mr = 9", "is too wide", "near it: 8", {"while staging", "while building"}};
  EXPECT_EQ(parse_error(print_error(error)).text(), error.text());
}

TEST(WorkerProtocol, TextsThatAreNoneAreErrors) {
  const std::string good =
      print(OperandsRequest{1 << 20, {{"a", 4096, 8192, 5000, 64, false}}, {1, 2, 3, 4}, 7, true, 1});
  for (size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse_operands(good.substr(0, length)).ok());
  EXPECT_EQ(parse_kernel_request("{\"kernel\":\"x\"}").error().text(),
            "worker, a message: key \"kernel\" is of another kind");
  EXPECT_EQ(parse_opened("{}").error().text(), "worker, a message: key \"protocol\" is missing");
  EXPECT_EQ(parse_error("nonsense").text(), "worker, a message: the text is not a JSON object");
}

}  // namespace
}  // namespace gemmsmith
