#include "app/cli/python_program.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

#include "app/cli/python_notes.h"
#include "core_engine/base/text.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;

namespace {

constexpr std::array<std::string_view, 3> kLevelNames = {"train", "modules", "ops"};
// Programs in Python whose name does not say so, and that start training.
constexpr std::array<std::string_view, 6> kLaunchers = {"torchrun",  "accelerate", "deepspeed",
                                                        "lightning", "fabric",     "horovodrun"};
const std::regex kInterpreter(R"((python|pypy)[0-9.]*t?)");

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

// In a build, installed, in a wheel.
std::vector<fs::path> possibleFolders() {
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path(), above = bin.parent_path();
  return {above / "python/inject", above / "lib/msdbg/python/inject", above / "_inject"};
}

// "" where the package is missing.
fs::path injectionFolder() {
  std::error_code ignored;
  for (const fs::path& folder : possibleFolders())
    if (fs::exists(folder / "sitecustomize.py", ignored)) return folder;
  return {};
}

bool isInterpreter(const std::string& word) {
  return std::regex_match(fs::path(word).filename().string(), kInterpreter);
}

// `#!/usr/bin/env python3`, `#!/opt/venv/bin/python -I`
bool beginsWithPython(const std::string& program) {
  std::string line;
  std::ifstream file(program);
  if (!std::getline(file, line) || !line.starts_with("#!")) return false;
  return std::ranges::any_of(core::split(line.substr(2), ' '), isInterpreter);
}

// The letters of -I, -E, -S and others up to the script, as in `python -uI train.py`: "" there are none.
std::string interpreterFlags(const std::vector<std::string>& program) {
  std::string flags;
  if (!isInterpreter(program[0])) return flags;
  for (std::size_t i = 1; i < program.size() && program[i].starts_with('-'); ++i) {
    if (program[i] == "-c" || program[i] == "-m" || program[i].starts_with("--")) break;
    flags += program[i].substr(1);
    if (program[i] == "-W" || program[i] == "-X") ++i;
  }
  return flags;
}

// No process of it has come as far as to note that it is there.
std::string notReached(const std::vector<std::string>& program) {
  const std::string flags = interpreterFlags(program);
  const auto defeating = std::ranges::find_if(flags, [](char c) { return c == 'I' || c == 'E' || c == 'S'; });
  const std::string why =
      defeating != flags.end()
          ? fmt::format("python -{} does not look at PYTHONPATH", *defeating)
          : "no Python process looked at PYTHONPATH (-I, -E and -S keep it from that, and "
            "so does a launcher that clears the environment)";
  return why +
         ": start it without, or let it record itself where msdbg is installed by pip: python -m msdbg "
         "train.py";
}

}  // namespace

bool isLevel(std::string_view name) { return std::ranges::find(kLevelNames, name) != kLevelNames.end(); }

void PythonOptions::addOptions(CLI::App& app) {
  app.add_option("--level", level,
                 "of a PyTorch program: train (default: loss, parameters, gradients, optimizer), modules "
                 "(also what modules read and return), ops (every operator)")
      ->type_name("train|modules|ops");
  app.add_option("--compile", compile,
                 "of a PyTorch program at level ops: eager lets what torch.compile has compiled run operator "
                 "by operator; its bits may differ")
      ->type_name("eager");
}

Status PythonOptions::check() const {
  const std::string given = level.empty() ? variable("MSDBG_LEVEL") : level;
  if (!given.empty() && !isLevel(given))
    return Error(ErrorCode::kUsage, fmt::format("{} {}: there are {}",
                                                level.empty() ? "MSDBG_LEVEL" : "--level", given, kLevels));
  if (!compile.empty() && compile != "eager")
    return Error(ErrorCode::kUsage, fmt::format("--compile {}: there is eager only", compile));
  return Ok{};
}

std::vector<std::pair<std::string, std::string>> PythonOptions::environment() const {
  std::vector<std::pair<std::string, std::string>> variables;
  if (!level.empty()) variables.emplace_back("MSDBG_LEVEL", level);
  if (!compile.empty()) variables.emplace_back("MSDBG_COMPILE", compile);
  const std::string folder = injectionFolder().string(), paths = variable("PYTHONPATH");
  if (!folder.empty())
    variables.emplace_back("PYTHONPATH", paths.empty() ? folder : folder + ":" + paths);  // ours is first
  return variables;
}

bool startsPython(const std::vector<std::string>& program) {
  const std::string name = fs::path(program[0]).filename().string();
  return isInterpreter(name) || name.ends_with(".py") ||
         std::ranges::find(kLaunchers, name) != kLaunchers.end() || beginsWithPython(program[0]);
}

std::string pythonRunName(const std::vector<std::string>& program) {
  const auto script = std::ranges::find_if(program, [](const std::string& w) { return w.ends_with(".py"); });
  if (script != program.end()) return fs::path(*script).stem().string();
  const auto module = std::ranges::find(program, "-m");
  if (module != program.end() && module + 1 != program.end()) return core::split(module[1], '.').back();
  return fs::path(program[0]).stem().string();
}

std::string whyPythonRecordedNothing(const fs::path& run, const std::vector<std::string>& program) {
  const PythonNotes notes = PythonNotes::read(run);
  if (notes.any()) return notes.whyNothing();
  if (!startsPython(program)) return {};
  if (injectionFolder().empty())
    return fmt::format("msdbg's Python package is missing ({} is not there): build or install msdbg again",
                       (possibleFolders()[1] / "sitecustomize.py").string());
  return notReached(program);
}

void removePythonNotes(const fs::path& run) {
  std::error_code ignored;
  fs::remove(PythonNotes::fileOf(run), ignored);
}

}  // namespace msdbg::app
