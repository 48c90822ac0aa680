// LineIndex: how many nodes each line of each source file made, counted as replay::search finds them, for all
// lines in one pass over the graph. A value; const use is thread-safe.
#pragma once

#include <map>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::app {

class LineIndex {
 public:
  using Counts = std::map<std::int32_t, int>;  // line (1-based) -> nodes; lines without nodes are absent

  explicit LineIndex(const core::Graph& graph);

  /// Empty for files that no frame names.
  const Counts& of(const std::string& file) const;
  /// Every file that a frame names, also those whose lines made no node.
  const std::map<std::string, Counts>& files() const { return m_files; }

 private:
  std::map<std::string, Counts> m_files;
};

}  // namespace msdbg::app
