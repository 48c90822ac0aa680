// The accumulated errors of `replay --dtype float64`, and what `history` tells, against others in float64,
// from the recorded weights and batches: NumPy for a convolutional network, PyTorch for a transformer.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core_engine/tensor/index_text.h"
#include "replay/npy.h"
#include "replay/run.h"
#include "tests/oracle/peer.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
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

json jsonOf(const std::vector<std::string>& arguments) {
  const RunResult result = runMsdbg(arguments);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return json::parse(result.out);
}

/// What pytorch_precision.py takes: the start, the batches of three iterations, the gradients of the first.
void exportFor(replay::Run& run, const std::vector<core::TensorId>& parameters,
               const std::filesystem::path& folder) {
  const core::Graph& graph = run.graph();
  const auto write = [&](const std::string& stem, std::int64_t iteration, core::TensorId id) {
    const core::Tensor value = run.value(core::Rank(0), core::Iteration(iteration), id).orThrow();
    REQUIRE(replay::writeNpy(folder / (stem + ".npy"), value).ok());
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    write(numbered("parameter", i), 0, parameters[i]);
    write(numbered("recorded", i), 0, *graph.findTensor("grad(" + graph.tensor(parameters[i]).name + ")"));
  }
  for (std::int64_t iteration = 0; iteration < 3; ++iteration)
    for (const core::TensorInfo& info : graph.tensors()) {
      if (info.role == core::TensorRole::kInput) write("x_" + std::to_string(iteration), iteration, info.id);
      if (info.role == core::TensorRole::kLabel)
        write("label_" + std::to_string(iteration), iteration, info.id);
    }
}

}  // namespace

TEST_CASE("Errors and histories of a transformer are those that PyTorch finds in float64", "[slow]") {
  const std::string python = pythonWithTorch();
  if (python.empty()) return;
  const TempDir folder;
  const std::string recorded = (folder / "r.msdbg").string();
  run({"dump", "gpt", "--batch", "4", "--steps", "3", "--policy", "full", "-o", recorded});
  const auto opened = replay::Run::open(recorded).orThrow();
  std::vector<core::TensorId> parameters;
  for (const core::TensorInfo& info : opened->graph().tensors())
    if (info.trainable) parameters.push_back(info.id);
  exportFor(*opened, parameters, folder.path());
  const std::size_t asked = parameters.size() / 2;  // of a block in the middle
  const core::TensorInfo& weight = opened->graph().tensor(parameters[asked]);
  REQUIRE(weight.shape.rank() > 0);
  const std::int64_t element = weight.shape.elements() / 3;
  const RunResult ran =
      runCommand({python, (sourceDir() / "tests/oracle/pytorch_precision.py").string(), peers().string(),
                  "gpt", folder.path().string(), std::to_string(asked), std::to_string(element)},
                 {.timeout = std::chrono::minutes(5)});
  INFO(ran.err);
  REQUIRE(ran.exitStatus == 0);
  const json expected = json::parse(ran.out);

  const json rows = jsonOf({"replay", recorded, "--iteration", "0", "--dtype", "float64", "--tensors",
                            "grad(*)", "--json"})["rows"];
  std::size_t compared = 0;
  for (const json& row : rows)
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const core::TensorId gradient =
          *opened->graph().findTensor("grad(" + opened->graph().tensor(parameters[i]).name + ")");
      if (row["tensor"] != opened->graph().tensor(gradient).fullName()) continue;
      CAPTURE(row["tensor"]);
      const double error = expected["errors"][i];
      CHECK(error < 1e-4);
      CHECK(row["accumulated"]["relative"].get<double>() == Approx(error).epsilon(1e-6));
      ++compared;
    }
  CHECK(compared == parameters.size());

  const json history = jsonOf({"history", recorded, "--tensor", weight.name, "--index",
                               core::indexText(weight.shape, element), "--json"})["rows"];
  REQUIRE(history.size() == 3);
  REQUIRE(expected["history"].size() == 3);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t column = 0; column < 5; ++column) {
      CAPTURE(weight.name, k, column);
      CHECK(history[k]["values"][column].get<double>() ==
            Approx(expected["history"][k][column].get<double>()).epsilon(1e-3).margin(1e-12));
    }
}

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
