// The accumulated errors of `replay --dtype float64` against NumPy in float64, from the recorded weights and
// batch of a convolutional network.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using nlohmann::json;

namespace {

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kIteration = "3";

bool hasNumPy() {
  return std::filesystem::exists(kPython) && runCommand({kPython, "-c", "import numpy"}).exitStatus == 0;
}

void run(const std::vector<std::string>& arguments) {
  const RunResult result = runMsdbg(arguments);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
}

/// Of the file's name: "fc1.weight.grad" -> "grad(network/fc1/weight)".
std::string tensorOf(std::string name) {
  if (name == "fc3") return "network/fc3/Gemm-op1";
  const bool gradient = name.ends_with(".grad");
  if (gradient) name.resize(name.size() - 5);
  if (const auto dot = name.find('.'); dot != std::string::npos) name[dot] = '/';
  return gradient ? "grad(network/" + name + ")" : "network/" + name;
}

std::vector<std::string> files() {
  std::vector<std::string> names = {"x", "label", "fc3"};
  for (const std::string layer : {"conv1", "conv2", "fc1", "fc2", "fc3"})
    for (const std::string part : {".weight", ".bias", ".weight.grad", ".bias.grad"})
      names.push_back(layer + part);
  return names;
}

}  // namespace

TEST_CASE("Accumulated errors of a convolutional network are those that NumPy finds in float64", "[slow]") {
  if (!hasNumPy()) {
    WARN("skipped: " << kPython << " has no numpy (Debian: python3-numpy)");
    return;
  }
  const TempDir folder;
  const std::string recorded = (folder / "r.msdbg").string();
  run({"dump", "lenet5", "--batch", "8", "--steps", "4", "--policy", "full", "-o", recorded});
  for (const std::string& name : files())
    run({"show", recorded, "--tensor", tensorOf(name), "--iteration", kIteration, "--npy",
         (folder / (name + ".npy")).string()});
  const std::string script = (sourceDir() / "tests/oracle/lenet5_float64.py").string();
  const RunResult python = runCommand({kPython, script, folder.path().string()});
  INFO(python.err);
  REQUIRE(python.exitStatus == 0);
  const json expected = json::parse(python.out);
  CHECK(expected.size() == 11);
  for (const auto& [name, error] : expected.items()) {
    CAPTURE(name);
    const RunResult found = runMsdbg({"replay", recorded, "--iteration", kIteration, "--dtype", "float64",
                                      "--tensors", tensorOf(name), "--json"});
    REQUIRE(found.exitStatus == 0);
    const json rows = json::parse(found.out)["rows"];
    REQUIRE(rows.size() == 1);
    CHECK(error.get<double>() < 1e-5);
    CHECK(rows[0]["accumulated"]["relative"].get<double>() == Approx(error.get<double>()).epsilon(1e-6));
  }
}
