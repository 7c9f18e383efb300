#include "targets/simulator/runtime/entries.h"

#include <type_traits>

namespace gemmsmith::simulator {

namespace {

template <class T>
constexpr ValueKind kind_of() {
  if constexpr (std::is_void_v<T>)
    return ValueKind::none;
  else if constexpr (std::is_pointer_v<T>)
    return ValueKind::pointer;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ValueKind::i32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ValueKind::i64;
  else {
    static_assert(std::is_same_v<T, float>, "entries take and give i32, i64, f32 and pointers");
    return ValueKind::f32;
  }
}

template <class R, class... P>
Entry entry(std::string_view name, R (*function)(P...)) {
  return {name, reinterpret_cast<void*>(function), kind_of<R>(), {kind_of<P>()...}};
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table{
#define SIM_ENTRY(result, name, parameters) entry(#name, &name),
#include "targets/simulator/runtime/entries.def"
#undef SIM_ENTRY
  };
  return table;
}

}  // namespace gemmsmith::simulator
