#include "gemmsmith/data_type.h"

#include <cstddef>
#include <iterator>

namespace gemmsmith {
namespace {
struct TypeFacts {
  DataType type;
  std::string_view name;
  int bytes;
  bool is_float;
};
constexpr TypeFacts kTypes[] = {
    {DataType::f64, "f64", 8, true},   {DataType::f32, "f32", 4, true}, {DataType::f16, "f16", 2, true},
    {DataType::bf16, "bf16", 2, true}, {DataType::i8, "i8", 1, false},  {DataType::i32, "i32", 4, false},
};

constexpr bool in_order_of_enum() {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].type != DataType(i)) return false;
  return true;
}
static_assert(in_order_of_enum(), "kTypes is indexed by DataType");
}  // namespace

int bytes_of(DataType type) { return kTypes[size_t(type)].bytes; }
bool is_float(DataType type) { return kTypes[size_t(type)].is_float; }
std::string_view name_of(DataType type) { return kTypes[size_t(type)].name; }

std::optional<DataType> data_type_named(std::string_view name) {
  for (const TypeFacts& facts : kTypes)
    if (facts.name == name) return facts.type;
  return std::nullopt;
}

}  // namespace gemmsmith
