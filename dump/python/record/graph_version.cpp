#include "dump/python/record/graph_version.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core_engine/graph/verify.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::NodeId;
using core::Ok;
using core::Result;
using core::Status;
using core::TensorId;

class GraphVersion::Making {
 public:
  Making(const Definitions& definitions, const Used& used, const GraphVersion* previous)
      : m_definitions(definitions), m_used(used), m_previous(previous) {
    m_made.m_nodes.resize(definitions.nodes().size());
    m_made.m_tensors.resize(definitions.tensors().size());
    m_made.m_revisions.resize(definitions.nodes().size());
  }

  Result<GraphVersion> make() {
    for (const TensorId source : m_used.sources) addSource(source);
    if (m_previous)
      for (const TensorId source : m_previous->m_sources) addSource(source);
    for (const NodeId node : order()) MSDBG_TRY(addNode(node));
    m_made.m_graph.setKernels(kernels());
    for (const auto& [path, className] : m_definitions.modules()) m_made.m_graph.addModule(path, className);
    const Status sound = core::verify(m_made.m_graph);
    if (!sound.ok()) return sound.error();
    return std::move(m_made);
  }

 private:
  // What ran, and of the previous graph what did not and still can: each such node after what was before it
  // there, and after its inputs.
  std::vector<NodeId> order() const {
    if (!m_previous) return m_used.nodes;
    struct Placed {
      std::size_t after;  // so many that ran come before it
      NodeId node;
    };
    std::map<NodeId, std::size_t> ran;
    std::unordered_set<std::string> names;
    for (const NodeId node : m_used.nodes) {
      ran.emplace(node, ran.size() + 1);
      names.insert(m_definitions.node(node).name);
    }
    std::vector<Placed> kept;
    std::map<NodeId, std::size_t> places = ran;
    std::size_t after = 0;
    for (const NodeId node : m_previous->m_order) {
      if (const auto found = ran.find(node); found != ran.end()) {
        after = std::max(after, found->second);
        continue;
      }
      if (names.contains(m_definitions.node(node).name)) continue;
      const std::optional<std::size_t> earliest = placeOfInputs(node, places);
      if (!earliest) continue;
      after = std::max(after, *earliest);
      places[node] = after;
      kept.push_back({after, node});
    }
    std::vector<NodeId> all;
    auto next = kept.begin();
    for (std::size_t done = 0; done <= m_used.nodes.size(); ++done) {
      if (done > 0) all.push_back(m_used.nodes[done - 1]);
      for (; next != kept.end() && next->after <= done; ++next) all.push_back(next->node);
    }
    return all;
  }

  std::optional<std::size_t> placeOfInputs(NodeId node, const std::map<NodeId, std::size_t>& places) const {
    std::size_t latest = 0;
    for (const TensorId input : m_definitions.node(node).inputs) {
      const NodeId producer = m_definitions.tensor(input).info.producer;
      if (!producer.valid()) continue;
      const auto found = places.find(producer);
      if (found == places.end()) return std::nullopt;  // another variant of it ran
      latest = std::max(latest, found->second);
    }
    return latest;
  }

  // What is named by two is the first one's: those that ran come first.
  std::string freeAlias(const std::string& alias) {
    return alias.empty() || !m_aliases.insert(alias).second ? std::string() : alias;
  }

  core::TensorInfo translated(const core::TensorInfo& defined) {
    core::TensorInfo info = defined;
    info.alias = freeAlias(info.alias);
    info.frames = frames(defined.frames);
    info.gradientOf = known(defined.gradientOf);
    info.updateOf = known(defined.updateOf);
    return info;
  }

  TensorId known(TensorId defined) const { return defined.valid() ? m_made.tensor(defined) : TensorId(); }

  std::vector<core::FrameId> frames(const std::vector<core::FrameId>& defined) {
    std::vector<core::FrameId> ids;
    for (const core::FrameId frame : defined) {
      const auto [found, added] = m_frames.emplace(frame, core::FrameId());
      if (added) found->second = m_made.m_graph.addFrame(m_definitions.frame(frame));
      ids.push_back(found->second);
    }
    return ids;
  }

  // The backward pass of a backward pass leads to what that was for. What is derived changes with the
  // iterations, so what an older one says may lead back here.
  NodeId forwardOf(NodeId defined) const {
    for (std::size_t i = 0; defined.valid() && i < m_definitions.nodes().size(); ++i) {
      if (m_definitions.node(defined).phase == core::Phase::kForward) return m_made.node(defined);
      defined = m_definitions.node(defined).derivedFrom;
    }
    return {};
  }

  void addSource(TensorId source) {
    if (m_made.m_tensors[source.index()].valid()) return;
    m_made.m_tensors[source.index()] =
        m_made.m_graph.addSource(translated(m_definitions.tensor(source).info));
    m_made.m_sources.push_back(source);
  }

  Status addNode(NodeId id) {
    const core::Node& defined = m_definitions.node(id);
    core::Node node = defined;
    for (TensorId& input : node.inputs) {
      if (!m_definitions.tensor(input).info.producer.valid()) addSource(input);
      const TensorId here = m_made.tensor(input);
      if (!here.valid())
        return Error(ErrorCode::kUsage, node.name + " reads " + m_definitions.tensor(input).info.name +
                                            ", which nothing made before it in this iteration");
      input = here;
    }
    node.frames = frames(defined.frames);
    node.derivedFrom = forwardOf(defined.derivedFrom);
    std::vector<core::TensorInfo> outputs;
    for (const TensorId output : defined.outputs)
      outputs.push_back(translated(m_definitions.tensor(output).info));
    const NodeId made = m_made.m_graph.addNode(std::move(node), std::move(outputs));
    m_made.m_nodes[id.index()] = made;
    m_made.m_revisions[id.index()] = m_definitions.revision(id);
    for (std::size_t slot = 0; slot < defined.outputs.size(); ++slot)
      m_made.m_tensors[defined.outputs[slot].index()] = m_made.m_graph.node(made).outputs[slot];
    m_made.m_order.push_back(id);
    return Ok{};
  }

  // One for each node: what a watchdog names.
  std::vector<core::Kernel> kernels() const {
    std::vector<core::Kernel> all;
    for (const core::Node& node : m_made.m_graph.nodes())
      all.push_back({core::KernelId(node.id.value), node.domain + ":" + node.opType, {node.id}});
    return all;
  }

  const Definitions& m_definitions;
  const Used& m_used;
  const GraphVersion* m_previous;
  GraphVersion m_made;
  std::unordered_set<std::string> m_aliases;
  std::map<core::FrameId, core::FrameId> m_frames;
};

Result<GraphVersion> GraphVersion::make(const Definitions& definitions, const Used& used,
                                        const GraphVersion* previous) {
  return Making(definitions, used, previous).make();
}

bool GraphVersion::has(const Definitions& definitions, const Used& used) const {
  const auto isHere = [&](NodeId node) {
    return this->node(node).valid() && m_revisions[node.index()] == definitions.revision(node);
  };
  return std::ranges::all_of(used.nodes, isHere) &&
         std::ranges::all_of(used.sources, [&](TensorId source) { return tensor(source).valid(); });
}

}  // namespace msdbg::dump
