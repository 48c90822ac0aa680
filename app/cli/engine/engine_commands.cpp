#include "app/cli/engine/engine_commands.h"

namespace msdbg::app {

Command benchCommand();
Command compileCommand();
Command modelsCommand();
Command opsCommand();
Command replayCommand();
Command trainModelCommand();

std::span<const CommandFactory> engineCommands() {
  static constexpr CommandFactory kCommands[] = {replayCommand,  modelsCommand, opsCommand,
                                                 compileCommand, benchCommand,  trainModelCommand};
  return kCommands;
}

}  // namespace msdbg::app
