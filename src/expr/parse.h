// The parser behind Expr::parse, for texts that hold an expression among other things.
#pragma once
#include <string_view>

#include "gemmsmith/expr.h"

namespace gemmsmith {

// The whole text is one expression. Errors begin with `where` and a column; `first_column` is that of the text's start.
Result<Expr> parse_expression(std::string_view text, std::string_view where, int64_t first_column = 1);

}  // namespace gemmsmith
