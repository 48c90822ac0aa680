#include "app/cli/command.h"

namespace msdbg::app {

Command armCommand();
Command checkCommand();
Command conditionsCommand();
Command diffCommand();
Command dumpCommand();
Command historyCommand();
Command infoCommand();
Command mergeCommand();
Command openCommand();
Command runRankCommand();
Command searchCommand();
Command showCommand();
Command stacksCommand();
Command statsCommand();
Command verifyCommand();
Command whyCommand();

// In the order of the help: record, find, look closer, the tables, the rest.
std::span<const CommandRow> builtinCommands() {
  static constexpr CommandRow kCommands[] = {
      {dumpCommand},
      {armCommand},
      {stacksCommand},
      {infoCommand},
      {checkCommand},
      {searchCommand},
      {showCommand},
      {statsCommand},
      {historyCommand},
      {whyCommand},
      {diffCommand},
      {.ofEngine = "replay"},
      {verifyCommand},
      {mergeCommand},
      {openCommand},
      {.ofEngine = "models"},
      {conditionsCommand},
      {.ofEngine = "ops"},
      {.ofEngine = "compile"},
      {.ofEngine = "bench"},
      {.ofEngine = "train-model", .hidden = true},
      {runRankCommand},
  };
  return kCommands;
}

}  // namespace msdbg::app
