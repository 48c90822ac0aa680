// What `msdbg dump` does for programs in Python: variables, names, and why nothing was recorded. torch is not
// needed: programs print their environment, and notes are those that the package would write.
#include "app/cli/python_program.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

RunResult dump(const TempDir& folder, Words options, const Words& program, RunOptions how = {}) {
  options.insert(options.begin(), {"dump", "--force", "-o", folder / "run.msdbg"});
  options.push_back("--");
  options.insert(options.end(), program.begin(), program.end());
  how.folder = folder.path();
  return runMsdbg(options, how);
}

// Runs what leaves these notes, as Python processes would.
RunResult dumpNoting(const TempDir& folder, const std::string& lines) {
  return dump(folder, {}, {"sh", "-c", "cat > \"$MSDBG_DUMP/python_notes\""}, {.input = lines});
}

}  // namespace

TEST_CASE("A program finds the injection folder first on PYTHONPATH, and the level that is asked for",
          "[cli]") {
  const TempDir folder;
  const std::string inject = buildDir() / "python/inject";
  const Words show = {"sh", "-c", "echo $PYTHONPATH; echo level=$MSDBG_LEVEL compile=$MSDBG_COMPILE"};
  const RunOptions clean{.environment = {{"PYTHONPATH", ""}, {"MSDBG_LEVEL", ""}}};
  CHECK_THAT(dump(folder, {}, show, clean).out, Contains("\n" + inject + "\nlevel= compile=\n"));
  const RunOptions own{.environment = {{"PYTHONPATH", "/mine:/yours"}, {"MSDBG_LEVEL", "modules"}}};
  CHECK_THAT(dump(folder, {}, show, own).out,
             Contains("\n" + inject + ":/mine:/yours\nlevel=modules compile=\n"));
  CHECK_THAT(dump(folder, {"--level", "ops", "--compile", "eager"}, show, own).out,
             Contains("\nlevel=ops compile=eager\n"));
}

TEST_CASE("Levels that there are not, and levels of models, are refused before anything is written",
          "[cli]") {
  const TempDir folder;
  const auto refused = [&](const Words& options, const RunOptions& how = {}) {
    const RunResult result = dump(folder, options, {"true"}, how);
    CHECK(result.exitStatus == 2);
    CHECK_FALSE(fs::exists(folder / "run.msdbg"));
    return result.err;
  };
  CHECK_THAT(refused({"--level", "deep"}), Contains("--level deep: there are train, modules or ops"));
  CHECK_THAT(refused({}, {.environment = {{"MSDBG_LEVEL", "deep"}}}), Contains("MSDBG_LEVEL deep"));
  CHECK_THAT(refused({"--compile", "never"}), Contains("there is eager only"));
  const RunResult steps = dump(folder, {"--steps", "5"}, {"python3", "-c", "pass"});
  CHECK(steps.exitStatus == 2);
  CHECK_THAT(steps.err, Contains("--steps means nothing to a program in Python"));
  const RunResult model = runMsdbg({"dump", "mlp", "--level", "ops"}, {.folder = folder.path()});
  CHECK(model.exitStatus == 2);
  CHECK_THAT(model.err, Contains("for PyTorch programs"));
}

TEST_CASE("Python is recognised by the looks of a command", "[cli]") {
  using app::startsPython;
  const TempDir folder;
  std::ofstream(folder / "script") << "#!/usr/bin/env python3\nprint(1)\n";
  for (const char* name : {"python", "python3", "/opt/venv/bin/python3.13t", "pypy3", "torchrun",
                           "accelerate", "train.py", "./train.py"})
    CHECK(startsPython({name}));
  CHECK(startsPython({folder / "script"}));
  for (const char* name : {"sh", "./train", "pythonic", "python-config", "/no/such/program"})
    CHECK_FALSE(startsPython({name}));
}

TEST_CASE("The run of a Python program is named after its script or module", "[cli]") {
  using app::pythonRunName;
  CHECK(pythonRunName({"python", "src/train.py", "--model", "b.py"}) == "train");
  CHECK(pythonRunName({"torchrun", "--nproc-per-node", "2", "train.py"}) == "train");
  CHECK(pythonRunName({"python", "-m", "package.pretrain", "x"}) == "pretrain");
  CHECK(pythonRunName({"accelerate", "launch"}) == "accelerate");
  const TempDir folder;
  const RunResult result = runMsdbg(
      {"dump", "--dry-run", "--json", "--", "python3", "lib/train.py", "--steps", "5", "--backend", "cuda"},
      {.folder = folder.path()});
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["run"] == "train-1.msdbg");
  CHECK(json["steps"].is_null());  // what its own options mean is its own affair
  CHECK(json["backend"] == "cpu");
  CHECK(json["rules"] == nlohmann::json{"*=stats"});  // as its recorder will do it
}

TEST_CASE("What Python processes noted says why nothing was recorded, and is not left in the run", "[cli]") {
  const std::string started = R"({"pid": 1, "event": "started", "python": "3.11.7", "program": "a"})"
                              "\n";
  const std::string torch = R"({"pid": 1, "event": "torch", "version": "2.15.0+cpu"})"
                            "\n";
  const auto reason = [](const std::string& text) {
    return R"({"pid": 1, "event": "reason", "text": ")" + text + "\"}\n";
  };
  struct Case {
    std::string notes, why;
  };
  const TempDir folder;
  for (const Case& c : {Case{started, "the program's Python process did not import torch"},
                        {started + started, "none of 2 Python processes imported torch"},
                        {started + torch, "torch 2.15.0+cpu was imported, but no iteration ended"},
                        {started + torch + reason("no optimizer step was seen") + "torn {\n" +
                             reason("no optimizer step was seen"),
                         "nothing was recorded: no optimizer step was seen\n"},
                        {reason("first") + reason("second"), "first; second"}}) {
    const RunResult result = dumpNoting(folder, c.notes);
    CAPTURE(c.notes, result.err);
    CHECK(result.exitStatus == 1);
    CHECK_THAT(result.err, Contains(c.why));
    CHECK_FALSE(fs::exists(folder / "run.msdbg/python_notes"));
  }
  CHECK_THAT(runMsdbg({"info", folder / "run.msdbg"}).err, Contains("first; second"));
}

TEST_CASE("A Python that did not look at PYTHONPATH is told from one that did", "[cli]") {
  const TempDir folder;
  const auto why = [&](const Words& program) {
    const RunResult result = dump(folder, {}, program);
    CHECK(result.exitStatus == 1);
    return result.err;
  };
  for (const char* flag : {"-I", "-E", "-S", "-uI"})
    CHECK_THAT(why({"python3", flag, "-c", "pass"}),
               Contains(std::string("python -") + flag[std::string(flag).size() - 1] +
                        " does not look at PYTHONPATH") &&
                   Contains("python -m msdbg"));
  CHECK_THAT(why({"python3", "-c", "pass"}), Contains("did not import torch"));
  CHECK_THAT(why({"python3", "-c", "import subprocess as s; s.run(['python3', '-c', 'pass'])"}),
             Contains("none of 2 Python processes imported torch"));
  CHECK_THAT(why({"true"}), Contains("the program made no msdbg::Session"));
}

}  // namespace msdbg::test
