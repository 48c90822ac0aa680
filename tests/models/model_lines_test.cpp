// Every line of every model, both ways: the calls that a line's text holds are exactly the nodes that refer
// to it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core_engine/graph/embedded_sources.h"
#include "core_engine/graph/sources.h"
#include "core_engine/models/model.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"

using namespace msdbg::core;

namespace {

const std::map<std::string, std::string> kOpOfCall = {{"conv(", "Conv"},
                                                      {"linear(", "Gemm"},
                                                      {"relu(", "Relu"},
                                                      {"maxPool(", "MaxPool"},
                                                      {"flatten(", "Flatten"},
                                                      {"dropout(", "Dropout"},
                                                      {"softmaxCrossEntropy(", "SoftmaxCrossEntropyLoss"},
                                                      {"batchNorm(", "BatchNormalization"},
                                                      {"globalAveragePool(", "GlobalAveragePool"},
                                                      {"layerNorm(", "LayerNormalization"},
                                                      {"embedding(", "Gather"},
                                                      {"range(", "Range"},
                                                      {"trilu(", "Trilu"},
                                                      {"reshape(", "Reshape"},
                                                      {"transpose(", "Transpose"},
                                                      {"split(", "Split"},
                                                      {"squeeze(", "Squeeze"},
                                                      {"matmul(", "MatMul"},
                                                      {"softmax(", "Softmax"},
                                                      {"gelu(", "Gelu"},
                                                      {"scores * ", "Mul"},
                                                      {"scores + ", "Add"},
                                                      {"x + ", "Add"},
                                                      {"y + ", "Add"}};

std::vector<std::string> linesOf(std::string_view file) {
  for (const EmbeddedSource& source : embeddedSources()) {
    if (source.path != file) continue;
    std::vector<std::string> lines;
    std::string line;
    for (const char c : source.text) {
      if (c != '\n')
        line += c;
      else
        lines.push_back(std::exchange(line, ""));
    }
    return lines;
  }
  return {};
}

/// Whether the call is there and no longer name ends with it.
bool calls(const std::string& line, const std::string& call) {
  const std::size_t at = line.find(call);
  return at != std::string::npos && (at == 0 || !std::isalnum(static_cast<unsigned char>(line[at - 1]))) &&
         !line.starts_with("Value ") && !line.starts_with("//");
}

bool callsAny(const std::string& line, std::initializer_list<const char*> list) {
  return std::ranges::any_of(list, [&](const char* call) { return calls(line, call); });
}

std::multiset<std::string> opsCalledIn(const std::string& line) {
  std::multiset<std::string> ops;
  for (const auto& [call, op] : kOpOfCall)
    if (calls(line, call)) ops.insert(op);
  return ops;
}

/// The nodes of a line that runs once for each of several blocks: the calls in its text, each equally often.
bool isRepeated(const std::multiset<std::string>& nodes, const std::multiset<std::string>& calls) {
  if (calls.empty()) return nodes.empty();
  const std::size_t times = nodes.size() / calls.size();
  std::multiset<std::string> wanted;
  for (std::size_t i = 0; i < times; ++i) wanted.insert(calls.begin(), calls.end());
  return times > 0 && nodes == wanted;
}

/// The text between the first quotes: the scope's name, or what it begins with; "" when a variable has it.
std::string scopeNameIn(const std::string& line) {
  const std::size_t begin = line.find('"');
  return begin == std::string::npos ? "" : line.substr(begin + 1, line.find('"', begin + 1) - begin - 1);
}

/// Whether the quotes hold all of the name.
bool isWhole(const std::string& line) { return line.find("g.scope(\"") != std::string::npos; }

/// Whether one of the scope's components begins with the name.
bool hasScope(const std::string& scope, const std::string& name) {
  return scope.find("/" + name) != std::string::npos;
}

struct Trainable {
  Graph g{"network"};
  const ModelInfo& model;

  explicit Trainable(const ModelInfo& info) : model(info) {
    const Value loss = model.build(g, {.batch = 2, .dropout = model.hasDropout ? 0.5 : 0});
    const auto compiled = compileTraining(g, loss.id(), model.optimizer, 1);
    if (!compiled.ok()) FAIL(compiled.error().message());
    const auto executor = Executor::create(g, {});
    if (!executor.ok()) FAIL(executor.error().message());
    resolveSources(g);
  }

  bool isOfLine(const std::vector<FrameId>& frames, int line) const {
    return std::ranges::any_of(
        frames, [&](FrameId id) { return g.frame(id).file == model.file && g.frame(id).line == line; });
  }
  /// Trainable parameters whose own line this is.
  std::ptrdiff_t parametersOfLine(int line) const {
    return std::ranges::count_if(
        g.tensors(), [&](const TensorInfo& info) { return info.trainable && isOfLine(info.frames, line); });
  }
  /// 1 where Adam counts its steps: at the loss.
  std::ptrdiff_t countsStepsAt(const std::string& text) const {
    return model.optimizer.name() != "sgd" && calls(text, "softmaxCrossEntropy(");
  }
  std::vector<const Node*> nodesOfLine(int line, bool forward) const {
    std::vector<const Node*> nodes;
    for (const Node& node : g.nodes())
      if ((node.phase == Phase::kForward) == forward && isOfLine(node.frames, line)) nodes.push_back(&node);
    return nodes;
  }
};

}  // namespace

TEST_CASE("a line of a model has the nodes of the calls in its text, and no others") {
  const ModelInfo& model = GENERATE(from_range(builtinModels().begin(), builtinModels().end()));
  const Trainable t(model);
  const std::vector<std::string> lines = linesOf(model.file);
  REQUIRE(lines.size() > 20);
  std::string scopeName;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(model.file << ":" << i + 1 << ": " << lines[i]);
    const auto nodes = t.nodesOfLine(static_cast<int>(i) + 1, true);
    std::multiset<std::string> ops;
    for (const Node* node : nodes) ops.insert(node->opType);
    if (lines[i].find("const Scope ") == std::string::npos) {
      CHECK(isRepeated(ops, opsCalledIn(lines[i])));
      continue;
    }
    CHECK_FALSE(nodes.empty());
    const std::string name = scopeNameIn(lines[i]);
    for (const Node* node : nodes) CHECK(hasScope(node->scope, name));
    if (name.empty()) continue;
    const auto inScope = std::ranges::count_if(t.g.nodes(), [&](const Node& n) {
      return n.phase == Phase::kForward && hasScope(n.scope + "/", name + (isWhole(lines[i]) ? "/" : ""));
    });
    CHECK(static_cast<std::size_t>(inScope) == nodes.size());
  }
}

TEST_CASE("every node of a model leads to the line whose text makes it") {
  const ModelInfo& model = GENERATE(from_range(builtinModels().begin(), builtinModels().end()));
  const Trainable t(model);
  const std::vector<std::string> lines = linesOf(model.file);
  for (const Node& node : t.g.nodes()) {
    INFO(node.name);
    const Node& origin = node.phase == Phase::kForward ? node : t.g.node(node.derivedFrom);
    REQUIRE(origin.phase == Phase::kForward);
    const Frame* frame = t.g.userFrame(node.frames);
    REQUIRE(frame != nullptr);
    CHECK(frame->file == model.file);
    CHECK_FALSE(frame->function.empty());
    CHECK(opsCalledIn(lines.at(static_cast<std::size_t>(frame->line) - 1)).contains(origin.opType));
    CHECK(lines[static_cast<std::size_t>(frame->line) - 1].find(frame->code) != std::string::npos);
    CHECK_FALSE(frame->code.empty());
    CHECK(node.frames == origin.frames);
    CHECK(t.g.kernelsOf(node.id).size() == 1);
  }
}

namespace {

/// Nodes behind which no parameter lies (inputs, labels, constants), and Add, which hands its gradient on.
bool mayHaveNoGradient(const ModelInfo& model, const std::string& line,
                       const std::multiset<std::string>& ops) {
  if (ops.contains("Flatten") && model.name == "mlp") return true;
  if (line.find("reshape(label") != std::string::npos) return true;
  return std::ranges::all_of(
      ops, [](const std::string& op) { return op == "Add" || op == "Range" || op == "Trilu"; });
}

}  // namespace

TEST_CASE(
    "a line of a model that makes nodes also has backward nodes, and update nodes where it has parameters") {
  const ModelInfo& model = GENERATE(from_range(builtinModels().begin(), builtinModels().end()));
  const Trainable t(model);
  const std::vector<std::string> lines = linesOf(model.file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(model.file << ":" << i + 1 << ": " << lines[i]);
    const auto derived = t.nodesOfLine(static_cast<int>(i) + 1, false);
    const auto ops = opsCalledIn(lines[i]);
    const auto updates =
        std::ranges::count_if(derived, [](const Node* n) { return n->phase == Phase::kUpdate; });
    const bool scope = lines[i].find("const Scope ") != std::string::npos;
    if (scope) {
      CHECK_FALSE(derived.empty());
      continue;
    }
    if (!mayHaveNoGradient(model, lines[i], ops)) CHECK(derived.empty() == ops.empty());
    CHECK(updates == t.parametersOfLine(static_cast<int>(i) + 1) + t.countsStepsAt(lines[i]));
  }
}

TEST_CASE("inputs and parameters of a model lead to its lines too") {
  const ModelInfo& model = GENERATE(from_range(builtinModels().begin(), builtinModels().end()));
  const Trainable t(model);
  const std::vector<std::string> lines = linesOf(model.file);
  for (const TensorInfo& info : t.g.tensors()) {
    if (!info.isSource() || info.role == TensorRole::kHyperparameter) continue;
    INFO(info.name);
    const Frame* frame = t.g.userFrame(info.frames);
    REQUIRE(frame != nullptr);
    CHECK(frame->file == model.file);
    const std::string& line = lines.at(static_cast<std::size_t>(frame->line) - 1);
    switch (info.role) {
      case TensorRole::kInput:
      case TensorRole::kLabel:
        CHECK(calls(line, "input("));
        break;
      case TensorRole::kConstant:
        // where gradients begin, and the numbers in a model
        CHECK(callsAny(line, {"softmaxCrossEntropy(", "constant(", "range(", "scores * "}));
        break;
      default:  // parameters and what the optimizer keeps of them; it counts its steps at the loss
        CHECK(callsAny(
            line, {"conv(", "linear(", "batchNorm(", "layerNorm(", "embedding(", "softmaxCrossEntropy("}));
    }
  }
}
