// The list of a run's source files. Pure functions; thread-safe.
#pragma once

#include "app/presenters/source/source_presenter.h"

namespace msdbg::app {

/// The run's copies and every other file that a frame names, by path.
std::vector<SourceFile> sourceFiles(const RunFacts& facts, const LineIndex& index);

/// Index of the file whose lines outside the engine's layers made most nodes: what to show first. `files` is
/// not empty.
int mostWritten(const core::Graph& graph, const std::vector<SourceFile>& files);

}  // namespace msdbg::app
