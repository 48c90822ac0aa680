#include "app/cli/command.h"

namespace msdbg::app {

Command armCommand();
Command benchCommand();
Command checkCommand();
Command compileCommand();
Command conditionsCommand();
Command diffCommand();
Command dumpCommand();
Command historyCommand();
Command infoCommand();
Command mergeCommand();
Command modelsCommand();
Command openCommand();
Command opsCommand();
Command replayCommand();
Command runRankCommand();
Command searchCommand();
Command showCommand();
Command statsCommand();
Command trainModelCommand();
Command verifyCommand();
Command whyCommand();

// In the order of the help: record, find, look closer, the tables, the rest.
std::span<const CommandFactory> builtinCommands() {
  static constexpr CommandFactory kCommands[] = {
      dumpCommand,  armCommand,        infoCommand,   checkCommand,      searchCommand, showCommand,
      statsCommand, historyCommand,    whyCommand,    diffCommand,       replayCommand, verifyCommand,
      mergeCommand, openCommand,       modelsCommand, conditionsCommand, opsCommand,    compileCommand,
      benchCommand, trainModelCommand, runRankCommand};
  return kCommands;
}

}  // namespace msdbg::app
