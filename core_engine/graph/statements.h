// Splits C++ source text into statements, without a compiler: just enough to say to which statement a line
// belongs. Used by sources.cpp only. Pure; linear in the text; takes any bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace msdbg::core {

struct Statement {
  std::int32_t first = 0, last = 0;  // lines, 1-based, both included
  std::int32_t depth = 0;  // of the blocks around it: the deepest statement of a line is the one meant
};

/// In the order in which they end. The header of a block (`for (…)`, `int f()`) is a statement of its own,
/// the body of a lambda has its own ones inside that of the lambda.
std::vector<Statement> splitStatements(std::string_view text);

}  // namespace msdbg::core
