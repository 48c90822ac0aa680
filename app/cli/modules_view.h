// `msdbg info --modules`: the modules of the network, what they hold, as a table and as JSON. Pure.
#pragma once

#include "app/cli/json_output.h"

namespace msdbg::app {

Json modulesJson(const core::Graph& graph);
/// One line a module and a parameter; a sentence where the run has none.
std::string modulesText(const core::Graph& graph);

}  // namespace msdbg::app
