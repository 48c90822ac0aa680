// ONNX's own node tests (the data in PyPI's onnx package) through reference and fast kernels. The table of
// what passes is onnx_conformance.md beside this file: a case that stops passing, and one that starts to,
// shows as a difference. MSDBG_UPDATE_GOLDEN=1 writes it anew. Needs Python with venv and, once per build
// folder, PyPI.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core_engine/runtime/backend.h"
#include "tests/ops/samples.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::core;
using namespace msdbg::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kOnnx = "onnx==1.16.2";

/// ONNX's limits (onnx/backend/test/runner).
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

/// The interpreter of a scratch environment in the build folder; "" with a warning where none can be made.
std::string pythonWithOnnx() {
  const fs::path folder = buildDir() / "onnx_venv", python = folder / "bin/python", stamp = folder / kOnnx;
  if (fs::exists(stamp)) return python.string();
  const RunOptions patient{.timeout = std::chrono::minutes(5)};
  const auto made = runCommand({"python3", "-m", "venv", folder.string()}, patient);
  const auto installed =
      made.exitStatus == 0
          ? runCommand({python.string(), "-m", "pip", "install", "-q", kOnnx, "numpy<2"}, patient)
          : made;
  if (installed.exitStatus == 0) {
    std::ofstream(stamp) << kOnnx;
    return python.string();
  }
  WARN("skipped: no scratch environment with " << kOnnx << ": " << installed.err);
  return "";
}

struct Cases {
  Json list;
  std::string data;
};

Cases readCases(const std::string& python) {
  TempDir folder;
  std::vector<std::string> command{python, (sourceDir() / "tests/ops/onnx_cases.py").string(),
                                   folder.path().string()};
  for (const OpDef& op : allOps()) command.emplace_back(op.name);
  const auto ran = runCommand(command, {.timeout = std::chrono::minutes(2)});
  INFO(ran.err);
  REQUIRE(ran.exitStatus == 0);
  Cases cases;
  cases.list = Json::parse(std::ifstream(folder / "cases.json"))["cases"];
  std::ostringstream data;
  data << std::ifstream(folder / "data.bin", std::ios::binary).rdbuf();
  cases.data = data.str();
  return cases;
}

Tensor tensorFrom(const Json& json, const std::string& data) {
  Tensor t(dtypeFromName(json["dtype"].get<std::string>()).value(), Shape(json["shape"].get<Ints>()));
  if (t.bytes() > 0) std::memcpy(t.raw(), data.data() + json["at"].get<std::size_t>(), t.bytes());
  return t;
}

std::vector<Tensor> tensorsFrom(const Json& list, const std::string& data) {
  std::vector<Tensor> tensors;
  for (const Json& json : list) tensors.push_back(tensorFrom(json, data));
  return tensors;
}

/// Throws std::runtime_error for an attribute that the operator does not have.
Attributes attributesFrom(const Json& json, const OpDef& op) {
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    const auto doc = std::ranges::find(op.attributes, std::string_view(name), &AttributeDoc::name);
    if (doc == op.attributes.end()) throw std::runtime_error("attribute " + name);
    if (value.is_string()) attributes[name] = value.get<std::string>();
    if (value.is_array()) attributes[name] = value.get<Ints>();
    if (value.is_number()) {
      if (doc->type == "float")
        attributes[name] = value.get<double>();
      else
        attributes[name] = value.get<std::int64_t>();
    }
  }
  return attributes;
}

bool close(const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape()) return false;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at(i), b = wanted.at(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::abs(a - b) <= kAbsolute + kRelative * std::abs(b))) return false;
  }
  return true;
}

struct Call {
  std::unique_ptr<Graph> graph;
  NodeId node;
  std::vector<Tensor> inputs, outputs;
};

/// A graph with this one node; throws std::runtime_error with infer's message.
Call buildCall(const OpDef& op, std::vector<Tensor> inputs, Attributes attributes) {
  Call call{std::make_unique<Graph>("network"), {}, std::move(inputs), {}};
  std::vector<Value> values;
  for (const Tensor& input : call.inputs) {  // sources by themselves: Graph::input wants positive dimensions
    TensorInfo info;
    info.name = "in" + std::to_string(values.size());
    info.dtype = input.dtype();
    info.shape = input.shape();
    info.role = TensorRole::kInput;
    values.emplace_back(*call.graph, call.graph->addSource(std::move(info)));
  }
  const auto made = applyOp(op.name, values, std::move(attributes), std::source_location::current());
  call.node = made.front().info().producer;
  for (const Value& v : made) call.outputs.emplace_back(v.dtype(), v.shape());
  return call;
}

/// "passed", "failed", or why not run. `kernel`: runs the call's node.
template <typename Kernel>
std::string outcome(Call& call, const std::vector<Tensor>& wanted, const RunState& state,
                    const Kernel& kernel) {
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  for (const Tensor& t : call.inputs) in.push_back(&t);
  for (Tensor& t : call.outputs) out.push_back(&t);
  const Status status = kernel(KernelArgs{call.graph->node(call.node), in, out, state});
  if (!status.ok()) return "failed: " + status.error().message();
  if (call.outputs.size() < wanted.size())
    return "not supported: " + std::to_string(wanted.size()) + " outputs";
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!close(call.outputs[i], wanted[i])) return "failed";
  return "passed";
}

struct Verdict {
  std::string reference, fast;
};

Verdict runCase(const Json& json, const std::string& data) {
  const OpDef& op = *findOp(json["op"].get<std::string>());
  if (json.contains("unsupported")) return {"not supported: " + json["unsupported"].get<std::string>(), ""};
  try {
    Json given = json["attributes"];
    const bool dropout = op.name == "Dropout";
    const RunState state{.threads = 2, .training = !dropout || given.value("training_mode", 0) != 0};
    if (dropout && state.training && given.value("ratio", 0.5) != 0)
      return {"not supported: other random numbers", ""};
    if (dropout) given.erase("training_mode"), given.erase("seed");
    Call call = buildCall(op, tensorsFrom(json["inputs"], data), attributesFrom(given, op));
    const std::vector<Tensor> wanted = tensorsFrom(json["outputs"], data);
    Verdict verdict{outcome(call, wanted, state, op.reference), ""};
    const auto backend = makeCpuBackend();
    const auto fast = backend->compile(*call.graph, call.graph->node(call.node), 2);
    if (fast.kernel)
      verdict.fast =
          outcome(call, wanted, state, [&](const KernelArgs& args) { return fast.kernel->run(args); });
    return verdict;
  } catch (const std::runtime_error& error) {
    return {std::string("not supported: ") + error.what(), ""};
  }
}

/// A reason without the place in this file that BuildError names, fit for a cell.
std::string cell(std::string text) {
  text = text.substr(0, text.find(" (tests/"));
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string tableOf(const std::vector<std::pair<std::string, Verdict>>& verdicts) {
  std::map<std::string, int> counts;
  for (const auto& [name, v] : verdicts) {
    ++counts["reference " + v.reference.substr(0, v.reference.find(':'))];
    if (!v.fast.empty()) ++counts["fast " + v.fast.substr(0, v.fast.find(':'))];
  }
  std::string text = "# ONNX conformance\n\nNode tests of `" + std::string(kOnnx) +
                     "` for the operators that msdbg has, at ONNX's tolerance; written by\n"
                     "onnx_conformance_test.cpp. An empty cell: the reference kernel runs in both cases.\n\n";
  for (const auto& [what, count] : counts) text += "- " + what + ": " + std::to_string(count) + "\n";
  text += "\n| test | reference | fast |\n| --- | --- | --- |\n";
  for (const auto& [name, v] : verdicts)
    text += "| " + name + " | " + cell(v.reference) + " | " + cell(v.fast) + " |\n";
  return text;
}

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("ONNX's node tests pass as the committed table says", "[slow]") {
  const std::string python = pythonWithOnnx();
  if (python.empty()) return;
  const Cases cases = readCases(python);
  std::vector<std::pair<std::string, Verdict>> verdicts;
  for (const Json& json : cases.list)
    verdicts.emplace_back(json["name"].get<std::string>(), runCase(json, cases.data));
  CHECK(verdicts.size() > 400);
  const std::string table = tableOf(verdicts);
  const fs::path committed = sourceDir() / "tests/ops/onnx_conformance.md";
  if (std::getenv("MSDBG_UPDATE_GOLDEN")) std::ofstream(committed, std::ios::binary) << table;
  std::istringstream now(table), before(contents(committed));
  std::string a, b;
  while (std::getline(now, a)) {
    if (!std::getline(before, b)) b = "";
    CHECK(a == b);
  }
  for (const auto& [name, v] : verdicts) {
    INFO(name);
    CHECK_FALSE(v.reference.starts_with("failed"));
    CHECK_FALSE(v.fast.starts_with("failed"));
  }
}
