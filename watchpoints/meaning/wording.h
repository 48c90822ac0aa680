// What a finding says, in the words of whoever wrote the program. Texts of conditions and of the rules of
// blame name functions of our own engine here and there; a user of PyTorch knows others. The table is in
// wording.cpp; a text without such a name stays as it is. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// Whether a graph was recorded from PyTorch: it has nodes of its domains.
bool isOfTorch(const core::Graph& graph);

/// "keep … away from 0, as by clip(x, 1e-7, …)" -> "… as by x.clamp(min=1e-7)".
std::string inTorchWords(std::string_view text);

}  // namespace msdbg::watch
