// Element types of matrices, vectors and accumulators.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace gemmsmith {

enum class DataType : uint8_t { f64, f32, f16, bf16, i8, i32 };

int bytes_of(DataType);  // of one element
bool is_float(DataType);
std::string_view name_of(DataType);                         // "bf16"
std::optional<DataType> data_type_named(std::string_view);  // the inverse of name_of

}  // namespace gemmsmith
