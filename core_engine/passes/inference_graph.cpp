#include "core_engine/passes/inference_graph.h"

#include <algorithm>

#include "core_engine/graph/verify.h"

namespace msdbg::core {
namespace {

class Inference {
 public:
  Inference(const Graph& from, std::span<const TensorId> asked)
      : m_from(from),
        m_asked(asked),
        m_wanted(from.tensors().size()),
        m_tensors(from.tensors().size()),
        m_graph(Graph::fromTables(from.name(), from.floatingDType(), 0, {}, {}, {}, {})) {}

  Result<InferenceGraph> run() {
    const std::vector<bool> needed = neededNodes();
    for (const TensorInfo& info : m_from.tensors())
      if (info.isSource() && m_wanted[info.id.index()]) addSource(info);
    for (const Node& node : m_from.nodes())
      if (needed[node.id.index()]) MSDBG_TRY(add(node));
    MSDBG_TRY(verify(m_graph));
    std::vector<TensorId> wanted;
    for (const TensorId id : m_asked) wanted.push_back(m_tensors[id.index()]);
    return InferenceGraph{std::move(m_graph), std::move(wanted)};
  }

 private:
  // Also marks the tensors that are needed.
  std::vector<bool> neededNodes() {
    std::vector<bool> needed(m_from.nodes().size());
    for (const TensorId id : m_asked) m_wanted[id.index()] = true;
    for (std::size_t i = needed.size(); i-- > 0;) {
      const Node& node = m_from.nodes()[i];
      needed[i] = std::ranges::any_of(node.outputs, [&](TensorId id) { return m_wanted[id.index()]; });
      if (!needed[i]) continue;
      for (const TensorId id : node.inputs) m_wanted[id.index()] = true;
    }
    return needed;
  }

  std::vector<FrameId> framesOf(const std::vector<FrameId>& frames) {
    std::vector<FrameId> mine;
    for (const FrameId id : frames) mine.push_back(m_graph.addFrame(m_from.frame(id)));
    return mine;
  }

  void addSource(TensorInfo info) {
    const std::size_t index = info.id.index();
    info.frames = framesOf(info.frames);
    m_tensors[index] = m_graph.addSource(std::move(info));
  }

  /// Only output 0 is there in evaluation too.
  Status checkOutputs(const Node& node) const {
    for (std::size_t slot = 1; slot < node.outputs.size(); ++slot) {
      if (!m_wanted[node.outputs[slot].index()]) continue;
      const Frame* frame = m_from.userFrame(node.frames);
      const std::string line = frame ? " (" + frame->file + ":" + std::to_string(frame->line) + ")" : "";
      return Error(ErrorCode::kUnsupported, "it needs " + node.name + ":" + std::to_string(slot) + line +
                                                ", which exists in training only");
    }
    return Ok{};
  }

  Status add(const Node& node) {
    const bool dropout = node.opType == "Dropout";
    const bool normalization = node.opType == "BatchNormalization";
    if (dropout || normalization) MSDBG_TRY(checkOutputs(node));
    if (dropout) {
      m_tensors[node.outputs[0].index()] = m_tensors[node.inputs[0].index()];
      return Ok{};
    }
    Attributes attributes = node.attributes;
    if (normalization) attributes["training_mode"] = std::int64_t{0};
    addNode(node, std::move(attributes), normalization ? 1 : node.outputs.size());
    return Ok{};
  }

  void addNode(const Node& node, Attributes attributes, std::size_t outputs) {
    std::vector<TensorId> inputs;
    for (const TensorId id : node.inputs) inputs.push_back(m_tensors[id.index()]);
    std::vector<TensorInfo> made;
    for (std::size_t i = 0; i < outputs; ++i) {
      TensorInfo info = m_from.tensor(node.outputs[i]);
      info.updateOf = {};
      info.alias.clear();
      made.push_back(std::move(info));
    }
    const NodeId id = m_graph.addNode(node.opType, node.scope, Phase::kForward, std::move(inputs),
                                      std::move(attributes), std::move(made), framesOf(node.frames));
    for (std::size_t i = 0; i < outputs; ++i)
      m_tensors[node.outputs[i].index()] = m_graph.node(id).outputs[i];
  }

  const Graph& m_from;
  std::span<const TensorId> m_asked;
  std::vector<bool> m_wanted;       // by tensor of the model
  std::vector<TensorId> m_tensors;  // of the inference graph, by tensor of the model
  Graph m_graph;
};

}  // namespace

Result<InferenceGraph> inferenceGraph(const Graph& graph, std::span<const TensorId> wanted) {
  return Inference(graph, wanted).run();
}

}  // namespace msdbg::core
