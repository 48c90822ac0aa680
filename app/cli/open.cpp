// msdbg open: the window, started from the command line.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/cli/command.h"
#include "app/cli/run_access.h"
#include "app/cli/step_options.h"
#include "replay/run.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Result;

constexpr auto kProgram = "msdbg-gui";

struct OpenOptions {
  std::string run, node;
  std::optional<std::int64_t> iteration, step, rank;
};

// The one of the same build, else whichever the shell would find.
std::string program() {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / kProgram;
  return fs::exists(beside, error) ? beside.string() : kProgram;
}

std::vector<std::string> words(const OpenOptions& options) {
  std::vector<std::string> words = {program()};
  if (!options.run.empty()) words.push_back(options.run);
  if (!options.node.empty()) words.insert(words.end(), {"--node", options.node});
  if (options.iteration) words.insert(words.end(), {"--iteration", std::to_string(*options.iteration)});
  if (options.step) words.insert(words.end(), {"--step", std::to_string(*options.step)});
  if (options.rank) words.insert(words.end(), {"--rank", std::to_string(*options.rank)});
  return words;
}

// Becomes the window: its end, its messages and Ctrl-C are the terminal's.
Result<int> open(OpenOptions options) {
  if (!options.run.empty()) {
    MSDBG_ASSIGN(options.run, findRun(options.run));  // before the window asks for a display
  } else if (const auto newest = replay::Run::newest("."); newest.ok()) {
    options.run = newest->string();
  }
  const std::vector<std::string> line = words(options);
  std::vector<char*> argv;
  for (const std::string& word : line) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  if (errno == ENOENT)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{} is neither beside msdbg nor in PATH: it was not built or not installed "
                             "(msdbg --version says what is built in)",
                             kProgram));
  return Error(ErrorCode::kIo, fmt::format("{} cannot be started: {}", argv[0], std::strerror(errno)));
}

Command::Run setup(CLI::App& app, Context&) {
  auto options = std::make_shared<OpenOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here, if any)");
  app.add_option("--node", options->node, "start at this node (name, or FILE:LINE)")->type_name("N");
  app.add_option("--iteration", options->iteration, "start at this iteration")->type_name("K");
  addStepOption(app, options->step);
  app.add_option("--rank", options->rank, "start at this rank")->type_name("R");
  return [options] { return open(*options); };
}

}  // namespace

Command openCommand() {
  return {.name = "open",
          .summary = "opens the window (msdbg-gui)",
          .examples =
              "  msdbg open\n"
              "  msdbg open alexnet-1.msdbg --node alexnet.cpp:25 --iteration 7 --rank 1\n",
          .setup = setup};
}

}  // namespace msdbg::app
