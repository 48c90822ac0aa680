// The Engine that is msdbg's own: what main() gives to the command line of the whole program.
#pragma once

#include "app/cli/engine.h"

namespace msdbg::app {

const Engine& builtinEngine();

}  // namespace msdbg::app
