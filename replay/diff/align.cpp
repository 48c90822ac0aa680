#include "replay/diff/align.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>

#include "replay/describe.h"

namespace msdbg::replay {

using core::Node;
using core::NodeId;
using core::TensorId;
using core::TensorInfo;

namespace {

constexpr char kEnd = '\n';  // between the parts of a key: no name has it

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view lastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// What one side is asked while it is aligned.
struct Side {
  explicit Side(const GraphSide& graph) : side(graph) {
    for (std::int64_t i = 0; i < graph.nodeCount(); ++i) {
      nodes.push_back(graph.nodeAt(i).id);
      ++namesakes[withoutCounts(graph.nodeAt(i).name)];
    }
    sources = graph.sources();
    tensorPartner.resize(graph.graph().tensors().size());
    nodePartner.resize(graph.graph().nodes().size());
  }

  const GraphSide& side;
  std::vector<NodeId> nodes;  // in order
  std::vector<TensorId> sources;
  std::vector<TensorId> tensorPartner;             // by id
  std::vector<NodeId> nodePartner;                 // by id
  std::unordered_map<std::string, int> namesakes;  // how many have a name but for its numbers

  const Node& node(NodeId id) const { return side.graph().node(id); }
  const TensorInfo& tensor(TensorId id) const { return side.graph().tensor(id); }
  bool isFree(NodeId id) const { return !nodePartner[id.index()].valid(); }
  bool isFree(TensorId id) const { return !tensorPartner[id.index()].valid(); }

  std::string type(TensorId id) const {
    return std::string(core::dtypeName(tensor(id).dtype)) + side.shape(id).text();
  }
  std::string operatorKey(NodeId id) const {
    std::string key = node(id).domain + kEnd + node(id).opType + kEnd;
    return key + std::string(core::phaseName(node(id).phase)) + kEnd;
  }
  std::string typedKey(NodeId id) const {
    std::string key = operatorKey(id);
    for (const TensorId output : node(id).outputs) key += type(output) + kEnd;
    return key;
  }
  std::string readNames(NodeId id) const {
    std::string key;
    for (const TensorId input : side.inputs(node(id))) key += tensor(input).fullName() + kEnd;
    return key;
  }
  std::string line(NodeId id) const {
    const core::Frame* frame = side.graph().userFrame(node(id).frames);
    return frame ? frame->file + kEnd + frame->code : "";
  }
};

class Aligner {
 public:
  Aligner(const GraphSide& a, const GraphSide& b) : m_a(a), m_b(b) {}

  Alignment run() {
    if (&m_a.side.graph() == &m_b.side.graph()) alignIds();
    alignSources();
    alignNodes();
    alignAliases();
    return result();
  }

 private:
  template <typename Id>
  using Key = std::function<std::string(const Side&, Id)>;

  // Those of equal keys are each other's, in their order, where both sides have equally many. "" fits none.
  template <typename Id, typename Pair>
  void match(const std::vector<Id>& a, const std::vector<Id>& b, const Key<Id>& key, const Pair& pair) {
    std::unordered_map<std::string, std::pair<std::vector<Id>, std::vector<Id>>> groups;
    for (const Id id : a)
      if (m_a.isFree(id)) groups[key(m_a, id)].first.push_back(id);
    for (const Id id : b) {
      if (!m_b.isFree(id)) continue;
      const auto group = groups.find(key(m_b, id));
      if (group != groups.end()) group->second.second.push_back(id);
    }
    for (const auto& [text, group] : groups) {
      if (text.empty() || group.first.size() != group.second.size()) continue;
      for (std::size_t i = 0; i < group.first.size(); ++i) pair(group.first[i], group.second[i]);
    }
  }

  void pairTensors(TensorId a, TensorId b) {
    m_a.tensorPartner[a.index()] = b;
    m_b.tensorPartner[b.index()] = a;
  }
  void pairNodes(NodeId a, NodeId b, AlignedBy by) {
    m_a.nodePartner[a.index()] = b;
    m_b.nodePartner[b.index()] = a;
    m_by[a] = by;
    const auto &left = m_a.node(a).outputs, &right = m_b.node(b).outputs;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) pairTensors(left[i], right[i]);
  }

  // Of one run: what has one id is one.
  void alignIds() {
    for (const TensorId id : m_a.sources)
      if (m_b.side.has(id)) pairTensors(id, id);
    for (const NodeId id : m_a.nodes)
      if (m_b.side.order(id) >= 0) pairNodes(id, id, AlignedBy::kName);
  }

  void alignSources() {
    const auto by = [&](const Key<TensorId>& key) {
      match<TensorId>(m_a.sources, m_b.sources, key, [&](TensorId a, TensorId b) { pairTensors(a, b); });
    };
    const auto kind = [](const Side& side, TensorId id) {
      return std::string(core::roleName(side.tensor(id).role)) + kEnd + side.type(id) + kEnd;
    };
    by([&](const Side& side, TensorId id) { return side.tensor(id).fullName() + kEnd + kind(side, id); });
    by([](const Side& side, TensorId id) { return side.tensor(id).fullName(); });
    by([&](const Side& side, TensorId id) {
      return kind(side, id) + std::string(lastPart(withoutCounts(side.tensor(id).name)));
    });
    by(kind);
  }

  void alignNodes() {
    const auto by = [&](AlignedBy how, const Key<NodeId>& key) {
      match<NodeId>(m_a.nodes, m_b.nodes, key, [&](NodeId a, NodeId b) { pairNodes(a, b, how); });
    };
    by(AlignedBy::kName, [](const Side& side, NodeId id) {
      return side.node(id).name + kEnd + side.typedKey(id) + side.readNames(id);
    });
    sweep(AlignedBy::kCount, [](const Side& side, NodeId id) { return withoutCounts(side.node(id).name); });
    // Where none was added, a number says which one it is.
    by(AlignedBy::kName, [](const Side& side, NodeId id) {
      const std::string& name = side.node(id).name;
      return name + kEnd + side.operatorKey(id) + std::to_string(side.namesakes.at(withoutCounts(name)));
    });
    sweep(AlignedBy::kCount, [](const Side& side, NodeId id) { return withoutCounts(side.node(id).name); });
    by(AlignedBy::kName,
       [](const Side& side, NodeId id) { return side.node(id).name + kEnd + side.operatorKey(id); });
    sweep(AlignedBy::kStructure, [](const Side&, NodeId) { return std::string(); });
    by(AlignedBy::kCount, [](const Side& side, NodeId id) {
      return withoutCounts(side.node(id).name) + kEnd + side.typedKey(id);
    });
    by(AlignedBy::kLine, [](const Side& side, NodeId id) {
      const std::string line = side.line(id);
      return line.empty() ? "" : line + kEnd + side.typedKey(id);
    });
    sweep(AlignedBy::kStructure, [](const Side&, NodeId) { return std::string(); });
  }

  // In order, so that what was aligned says what reads it: the same operator on the same operands.
  void sweep(AlignedBy how, const Key<NodeId>& name) {
    std::unordered_map<std::string, std::deque<NodeId>> open;  // of B
    for (const NodeId id : m_b.nodes)
      if (m_b.isFree(id)) open[name(m_b, id) + kEnd + m_b.typedKey(id) + readByB(id)].push_back(id);
    for (const NodeId a : m_a.nodes) {
      if (!m_a.isFree(a)) continue;
      const std::optional<std::string> reads = readByA(a);
      if (!reads) continue;
      const auto candidates = open.find(name(m_a, a) + kEnd + m_a.typedKey(a) + *reads);
      if (candidates == open.end() || candidates->second.empty()) continue;
      pairNodes(a, candidates->second.front(), how);
      candidates->second.pop_front();
    }
  }

  // By the ids of B. nullopt: it reads nothing, or something that has no partner.
  std::optional<std::string> readByA(NodeId a) const {
    std::string key;
    for (const TensorId input : m_a.side.inputs(m_a.node(a))) {
      if (m_a.isFree(input)) return std::nullopt;
      key += std::to_string(m_a.tensorPartner[input.index()].value) + kEnd;
    }
    return key.empty() ? std::nullopt : std::optional(key);
  }
  std::string readByB(NodeId b) const {
    std::string key;
    for (const TensorId input : m_b.side.inputs(m_b.node(b))) key += std::to_string(input.value) + kEnd;
    return key;
  }

  // An alias says what a tensor is to training.
  void alignAliases() {
    const core::Graph& graph = m_b.side.graph();
    for (const NodeId node : m_a.nodes)
      for (const TensorId a : m_a.node(node).outputs) {
        const std::string& alias = m_a.tensor(a).alias;
        if (alias.empty()) continue;
        const auto b = graph.findTensor(alias);
        if (!b || m_a.tensorPartner[a.index()] == *b || graph.tensor(*b).alias != alias || !m_b.side.has(*b))
          continue;
        if (const TensorId before = m_b.tensorPartner[b->index()]; before.valid())
          m_a.tensorPartner[before.index()] = TensorId();
        if (const TensorId before = m_a.tensorPartner[a.index()]; before.valid())
          m_b.tensorPartner[before.index()] = TensorId();
        pairTensors(a, *b);
      }
  }

  AlignedTensor aligned(TensorId a, std::int64_t order) const {
    const TensorId b = m_a.tensorPartner[a.index()];
    const bool same = m_a.tensor(a).dtype == m_b.tensor(b).dtype && m_a.side.shape(a) == m_b.side.shape(b);
    return {a, b, order, same};
  }

  Alignment result() {
    Alignment found;
    for (const TensorId a : m_a.sources) {
      if (m_a.isFree(a))
        found.sourcesOnlyA.push_back(a);
      else
        found.tensors.push_back(aligned(a, -1));
    }
    for (const TensorId b : m_b.sources)
      if (m_b.isFree(b)) found.sourcesOnlyB.push_back(b);
    for (std::size_t order = 0; order < m_a.nodes.size(); ++order) {
      const NodeId a = m_a.nodes[order];
      if (m_a.isFree(a))
        found.onlyA.push_back(a);
      else
        found.nodes.push_back({a, m_a.nodePartner[a.index()], m_by.at(a)});
      for (const TensorId output : m_a.node(a).outputs)
        if (!m_a.isFree(output)) found.tensors.push_back(aligned(output, static_cast<std::int64_t>(order)));
    }
    for (const NodeId b : m_b.nodes)
      if (m_b.isFree(b)) found.onlyB.push_back(b);
    found.partners = std::move(m_a.tensorPartner);
    return found;
  }

  Side m_a, m_b;
  std::unordered_map<NodeId, AlignedBy> m_by;  // of A's nodes
};

}  // namespace

std::string_view alignedByName(AlignedBy by) {
  switch (by) {
    case AlignedBy::kName:
      return "name";
    case AlignedBy::kCount:
      return "count";
    case AlignedBy::kStructure:
      return "structure";
    case AlignedBy::kLine:
      return "line";
  }
  return "";
}

std::string withoutCounts(std::string_view name) {
  std::string bare;
  constexpr std::string_view kCount = "-op";
  for (std::size_t i = 0; i < name.size();) {
    const bool count = name.substr(i).starts_with(kCount) && i + kCount.size() < name.size() &&
                       isDigit(name[i + kCount.size()]);
    const bool version = name[i] == '@' && i + 1 < name.size() && isDigit(name[i + 1]);
    if (!count && !version) {
      bare += name[i++];
      continue;
    }
    i += count ? kCount.size() : 1;
    while (i < name.size() && isDigit(name[i])) ++i;
  }
  return bare;
}

Alignment align(const GraphSide& a, const GraphSide& b) { return Aligner(a, b).run(); }

}  // namespace msdbg::replay
