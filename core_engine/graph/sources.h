// Where source text comes from, and which statement a line belongs to. Used once, when a graph is complete:
// resolveSources() snaps every frame to the first line of its statement and fills in `code`.
#pragma once

#include <map>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// Text by frame file name. Embedded sources (built-in models) first, then the file system (as compiled, else
/// relative to the current folder). Files that cannot be read are absent.
using SourceTexts = std::map<std::string, std::string>;

/// First and last line (1-based) of the statement that contains `line`; {line, line} if it cannot be told.
/// Understands strings, comments, nested braces, initialiser lists and lambdas.
struct LineRange {
  std::int32_t first, last;
};
LineRange statementAt(std::string_view text, std::int32_t line);

/// Snaps frames to their statement's first line, fills Frame::code, and returns the texts of all files that
/// frames name.
SourceTexts resolveSources(Graph& graph);

}  // namespace msdbg::core
