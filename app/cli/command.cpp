#include "app/cli/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "app/cli/engine.h"
#include "app/cli/version.h"
#include "core_engine/base/text.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

std::atomic<core::CancelToken*> g_cancel{nullptr};

std::atomic<int> g_signal{0};

// The first Ctrl-C asks, the second one does not.
void onInterrupt(int signal) {
  core::CancelToken* token = g_cancel;
  if (!token || token->cancelled()) _exit(128 + signal);
  g_signal = signal;
  token->cancel();
}

std::string overview(const Engine& engine) {
  std::string text =
      "msdbg finds the first wrong operator of a training run, and its source line.\n\n"
      "Usage: msdbg COMMAND [options]\n\nCommands:\n";
  for (const CommandRow& row : builtinCommands()) {
    const Command command = commandOf(row, engine);
    if (!command.hidden) text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  return text +
         "\nAll take --json and --help. Without RUN they use the newest *.msdbg in this folder.\n"
         "Exit status: 0 fine, 1 damaged or missing, 2 wrong usage, 3 hits, 4 no answer, 130 Ctrl-C.\n\n" +
         fmt::format("Start with:\n  {}\n  msdbg check\n", engine.firstCommand());
}

std::optional<Command> findCommand(std::string_view name, const Engine& engine) {
  for (const CommandRow& row : builtinCommands())
    if (const Command command = commandOf(row, engine); command.name == name) return command;
  return std::nullopt;
}

Error unknownCommand(const std::string& name, const Engine& engine) {
  std::vector<std::string> names;
  for (const CommandRow& row : builtinCommands())
    if (const Command command = commandOf(row, engine); !command.hidden) names.emplace_back(command.name);
  const std::string near = core::didYouMean(name, names);
  return {ErrorCode::kUsage,
          fmt::format("there is no command '{}'{}", name, near.empty() ? "; see msdbg --help" : near)};
}

std::vector<std::string> optionNames(const CLI::App& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

Error usage(const Command& command, const std::string& what) {
  return {ErrorCode::kUsage, fmt::format("{}: {}; see msdbg {} --help", command.name, what, command.name)};
}

// What CLI11 could not place: an unknown option first, since its value may have become an argument.
Error leftOver(const Command& command, const CLI::App& options, const std::vector<std::string>& words) {
  const auto option = std::ranges::find_if(words, [](const std::string& w) { return w.starts_with("-"); });
  if (option == words.end()) {
    const CLI::Option* tensor = options.get_option_no_throw("--tensor");
    const char* cure = command.takesProgram             ? ": a program goes behind --"
                       : tensor && tensor->count() == 0 ? ": a tensor is named by --tensor"
                                                        : "";
    return usage(command, fmt::format("'{}' is one argument too many{}", words.front(), cure));
  }
  const std::string name = option->substr(0, option->find('='));
  return usage(command,
               fmt::format("there is no option {}{}", name, core::didYouMean(name, optionNames(options))));
}

// CLI11's own texts, made to say what to do.
std::string parseErrorText(const CLI::ParseError& error) {
  std::string text = error.what();
  constexpr std::string_view kConvert = "Could not convert: ";
  if (const std::size_t equals = text.find(" = "); text.starts_with(kConvert) && equals != std::string::npos)
    return fmt::format("{}: '{}' is not a number that fits",
                       text.substr(kConvert.size(), equals - kConvert.size()), text.substr(equals + 3));
  if (const std::size_t at = text.find(": 1 required"); at != std::string::npos)
    return text.substr(0, at) + " needs a value";
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string helpText(const Command& command, const CLI::App& options) {
  return fmt::format("{}\nExamples:\n{}", options.help(), command.examples);
}

// The exit status, or nothing when the command itself is to run.
Result<std::optional<int>> parse(const Command& command, CLI::App& options, std::vector<std::string> words) {
  try {
    std::ranges::reverse(words);  // CLI11 takes them from the back
    options.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", helpText(command, options));
    return std::optional<int>(kExitFine);
  } catch (const CLI::ParseError& error) {
    if (!options.remaining().empty()) return leftOver(command, options, options.remaining());
    return usage(command, parseErrorText(error));
  }
  if (!options.remaining().empty()) return leftOver(command, options, options.remaining());
  return std::optional<int>();
}

Result<int> runOne(const Command& command, std::vector<std::string> words, Context& context) {
  if (command.takesProgram) {
    const auto separator = std::ranges::find(words, "--");
    if (separator != words.end()) context.program.assign(separator + 1, words.end());
    words.erase(separator, words.end());
  }
  CLI::App options(std::string(command.summary), "msdbg " + std::string(command.name));
  options.allow_extras();
  const Command::Run run = command.setup(options, context);
  options.add_flag("--json", context.json, "print JSON");
  MSDBG_ASSIGN(const std::optional<int> done, parse(command, options, std::move(words)));
  if (done) return *done;
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kIo, "out of memory");
  } catch (const std::exception& exception) {
    return Error(ErrorCode::kInternal, exception.what());
  }
}

Result<int> dispatch(std::vector<std::string> words, Context& context) {
  if (words.empty()) {
    fmt::print(stderr, "{}", overview(context.engine));
    return kExitUsage;
  }
  std::string name = words.front();
  words.erase(words.begin());
  if (name == "--version" || name == "version")
    return fmt::print("{}", versionText(context.engine)), kExitFine;
  if (name == "--help" || name == "-h" || name == "help") {
    if (words.empty()) return fmt::print("{}", overview(context.engine)), kExitFine;
    name = words.front();
    words = {"--help"};
  }
  if (name.starts_with("-"))
    return Error(ErrorCode::kUsage, fmt::format("'{}' stands before the command; see msdbg --help", name));
  const std::optional<Command> command = findCommand(name, context.engine);
  if (!command) return unknownCommand(name, context.engine);
  if (!command->setup) return needsEngine(name);
  return runOne(*command, std::move(words), context);
}

void printLine(std::string_view kind, std::string_view message) {
  std::string line(message);
  std::ranges::replace(line, '\n', ' ');
  fflush(stdout);
  fmt::print(stderr, "msdbg: {}: {}\n", kind, core::printable(line));
}

}  // namespace

Command commandOf(const CommandRow& row, const Engine& engine) {
  if (row.make) return row.make();
  Command command = engine.command(row.ofEngine);
  command.hidden |= row.hidden;
  return command;
}

int exitStatus(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kNotFound:
      return kExitUsage;
    case ErrorCode::kUnavailable:
      return kExitNoAnswer;
    case ErrorCode::kCancelled:
      return kExitCtrlC;
    case ErrorCode::kMissing:
    case ErrorCode::kDamaged:
    case ErrorCode::kUnsupported:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return kExitDamaged;
}

void catchSignal(int signal) {
  struct sigaction action {};
  if (signal == SIGHUP && sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = onInterrupt;  // no SA_RESTART: a wait ends at once
  sigaction(signal, &action, nullptr);
}

int interruptSignal() { return g_signal; }

void printError(std::string_view message) { printLine("error", message); }
void printWarning(std::string_view message) { printLine("warning", message); }
Error cancelledError() { return {ErrorCode::kCancelled, "stopped by Ctrl-C"}; }

int runCommandLine(int argc, char** argv, const Engine& engine) {
  Context context(engine);
  context.commandLine.assign(argv, argv + argc);
  g_cancel = &context.cancel;
  catchSignal(SIGINT);
  const Result<int> status = dispatch({context.commandLine.begin() + 1, context.commandLine.end()}, context);
  g_cancel = nullptr;
  if (status.ok()) return *status;
  printError(status.error().message());
  return exitStatus(status.error().code());
}

}  // namespace msdbg::app
