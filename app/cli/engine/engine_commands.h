// The commands that need the engine, one file each in this folder. Their places in the help are rows of
// app/cli/builtin_commands.cpp.
#pragma once

#include <span>

#include "app/cli/command.h"

namespace msdbg::app {

std::span<const CommandFactory> engineCommands();  // engine_commands.cpp: the only list

}  // namespace msdbg::app
