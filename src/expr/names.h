// The words of the expression language.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gemmsmith {

int arity_of(std::string_view callable);           // of a function, `where` or a cast; 0 if there is none of that name
const std::vector<std::string>& callable_names();  // functions, where, casts
std::string call_form(std::string_view callable);  // "clamp(x, y, z)"
bool reserved_word(std::string_view);              // acc, inf, nan and all callables: no input can have such a name

}  // namespace gemmsmith
