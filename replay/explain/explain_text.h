// What explain() found, in words, the same in every face. Pure functions of the graph of the run.
#pragma once

#include <string>
#include <vector>

#include "replay/explain/explain.h"

namespace msdbg::replay {

/// "network/fc/Gemm-op1[13, 2] = nan"
std::string stepHead(const core::Graph& graph, const ExplainedStep& step);
/// What made it: one line, and one for each of the largest terms where there are several.
std::vector<std::string> stepLines(const core::Graph& graph, const Explanation& all, std::size_t step);
/// Why it is so: where it ceased to be finite, and where the way ends; one sentence each.
std::vector<std::string> causeLines(const core::Graph& graph, const Explanation& all);
/// "sample", "operator", "not_reproduced": for documents.
std::string causeName(CauseKind kind);
std::string relationName(Relation relation);

}  // namespace msdbg::replay
