#include "sources/reference/reference_source.h"

#include <gtest/gtest.h>

#include "sources/sources_under_test.h"

namespace gemmsmith {
namespace {

TEST(ReferenceSource, refuses_only_what_is_no_problem) {
  const auto source = make_reference_source();
  GemmProblem p = make_problem(4, 4, 4, DataType::f32);
  EXPECT_TRUE(source->supports(p, device_under_test()));
  p.d.row_stride = 2;  // rows of 4 elements overlap
  const Supports answer = source->supports(p, device_under_test());
  EXPECT_FALSE(answer);
  EXPECT_EQ(answer.reason, p.validate().error().text());
  EXPECT_FALSE(source->build(p, device_under_test(), {"reference", "float64", 0}).ok());
}

TEST(ReferenceSource, names_its_only_configuration) {
  const auto source = make_reference_source();
  const auto built = source->build(make_problem(4, 4, 4, DataType::f32), device_under_test(), {"reference", "fast", 0});
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().text(), "reference: \"fast\" is not a configuration; known: float64");
}

}  // namespace
}  // namespace gemmsmith
