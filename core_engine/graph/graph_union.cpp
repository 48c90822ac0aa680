#include "core_engine/graph/graph_union.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace msdbg::core {

namespace {

template <typename Id>
Id at(const std::vector<std::int32_t>& map, std::int64_t count, std::int64_t from) {
  if (from < 0 || (map.empty() ? from >= count : from >= static_cast<std::int64_t>(map.size()))) return {};
  return Id(map.empty() ? from : map[static_cast<std::size_t>(from)]);
}

}  // namespace

bool GraphPart::has(TensorId tensor) const { return localTensor(tensor).valid(); }

std::int64_t GraphPart::order(NodeId node) const {
  return at<NodeId>(m_localNodes, m_nodeCount, node.value).value;
}

TensorId GraphPart::localTensor(TensorId tensor) const {
  return at<TensorId>(m_localTensors, m_tensorCount, tensor.value);
}

NodeId GraphPart::nodeAt(std::int64_t order) const { return at<NodeId>(m_nodes, m_nodeCount, order); }

TensorId GraphPart::tensorAt(std::int64_t localId) const {
  return at<TensorId>(m_tensors, m_tensorCount, localId);
}

TensorId GraphPart::find(const Graph& whole, const std::string& fullName) const {
  if (const auto renamed = m_renamed.find(fullName); renamed != m_renamed.end()) return renamed->second;
  const std::optional<TensorId> found = whole.findTensor(fullName);
  const bool isOurs = found && has(*found) && !m_names.contains(*found);  // else it has another name here
  return isOurs && whole.tensor(*found).fullName() == fullName ? *found : TensorId();
}

std::span<const TensorId> GraphPart::inputs(const Graph& whole, NodeId node) const {
  const auto own = m_inputs.find(node);
  return own == m_inputs.end() ? whole.node(node).inputs : own->second;
}

const Attributes& GraphPart::attributes(const Graph& whole, NodeId node) const {
  const auto own = m_attributes.find(node);
  return own == m_attributes.end() ? whole.node(node).attributes : own->second;
}

TensorInfo GraphPart::info(const Graph& whole, TensorId tensor) const {
  TensorInfo here = whole.tensor(tensor);
  if (const auto name = m_names.find(tensor); name != m_names.end()) here.name = name->second;
  if (const auto own = m_types.find(tensor); own != m_types.end()) {
    here.shape = own->second.shape;
    here.replicas = own->second.replicas;
  }
  here.device = device(whole, tensor);
  return here;
}

const std::string& GraphPart::device(const Graph& whole, TensorId tensor) const {
  if (const auto own = m_deviceOf.find(tensor); own != m_deviceOf.end()) return own->second;
  const std::string& known = whole.tensor(tensor).device;
  const auto here = m_devices.find(known);
  return here == m_devices.end() ? known : here->second;
}

const Shape& GraphPart::shape(const Graph& whole, TensorId tensor) const {
  const auto own = m_types.find(tensor);
  return own == m_types.end() ? whole.tensor(tensor).shape : own->second.shape;
}

std::span<const std::int32_t> GraphPart::replicas(const Graph& whole, TensorId tensor) const {
  const auto own = m_types.find(tensor);
  return own == m_types.end() ? whole.tensor(tensor).replicas : own->second.replicas;
}

GraphPart GraphPart::rewritten(const Graph& whole, const std::function<Node(const Node&)>& rewrite) const {
  GraphPart copy = *this;
  std::vector<NodeId> own;
  for (const auto& [id, inputs] : m_inputs) own.push_back(id);
  for (const auto& [id, attributes] : m_attributes) own.push_back(id);
  for (const NodeId id : own) {
    Node node = whole.node(id);
    const std::span<const TensorId> read = inputs(whole, id);
    node.inputs.assign(read.begin(), read.end());
    node.attributes = attributes(whole, id);
    node = rewrite(node);
    copy.m_inputs[id] = std::move(node.inputs);
    copy.m_attributes[id] = std::move(node.attributes);
  }
  return copy;
}

/// Takes one graph in: sources and nodes in its order, so that what a node reads is there before it.
class GraphUnion::Adding {
 public:
  Adding(Graph& whole, const Graph& graph, GraphPart& part)
      : m_whole(whole), m_graph(graph), m_part(part), m_frames(graph.frames().size()) {
    m_part.m_nodeCount = static_cast<std::int64_t>(graph.nodes().size());
    m_part.m_tensorCount = static_cast<std::int64_t>(graph.tensors().size());
    m_part.m_nodes.resize(graph.nodes().size(), -1);
    m_part.m_tensors.resize(graph.tensors().size(), -1);
    for (std::size_t i = 0; i < whole.frames().size(); ++i)
      m_frameIds.emplace(keyOf(whole.frames()[i]), FrameId(static_cast<std::int64_t>(i)));
    for (const Node& node : whole.nodes())
      if (node.phase == Phase::kBackward && node.derivedFrom.valid())
        m_derived.emplace(node.derivedFrom, node.id);
    m_usedNodes.resize(whole.nodes().size());
    m_usedTensors.resize(whole.tensors().size());
  }

  void run() {
    for (const TensorInfo& info : m_graph.tensors())
      if (info.isSource()) addSource(info);
    for (const Node& node : m_graph.nodes()) addNode(node);
    for (const TensorInfo& info : m_graph.tensors()) link(info);
    for (const auto& [path, className] : m_graph.modules()) m_whole.addModule(path, className);
    addKernels();
    finish();
  }

 private:
  static std::string keyOf(const Frame& frame) {
    return frame.file + '\0' + std::to_string(frame.line) + '\0' + frame.function + '\0' + frame.code +
           (frame.engine ? '1' : '0');
  }
  static bool sameLine(const Graph& a, std::span<const FrameId> ofA, const Graph& b,
                       std::span<const FrameId> ofB) {
    const Frame *here = a.userFrame(ofA), *there = b.userFrame(ofB);
    // One that nobody knows the line of may be any: a recorder that looks closer for a while knows more then.
    return !here || !there || (here->file == there->file && here->line == there->line);
  }
  bool isSame(const TensorInfo& theirs, const TensorInfo& ours) const {
    return ours.isSource() == theirs.isSource() && ours.dtype == theirs.dtype &&
           ours.dtypeNumber == theirs.dtypeNumber && ours.role == theirs.role;
  }
  bool isSameSource(const TensorInfo& theirs, const TensorInfo& ours) const {
    return isSame(theirs, ours) && sameLine(m_graph, theirs.frames, m_whole, ours.frames);
  }
  bool isSameNode(const Node& theirs, const Node& ours) const {
    if (ours.opType != theirs.opType || ours.domain != theirs.domain || ours.phase != theirs.phase ||
        ours.outputs.size() != theirs.outputs.size() ||
        !sameLine(m_graph, theirs.frames, m_whole, ours.frames) || isOfAnother(theirs, ours))
      return false;
    for (std::size_t slot = 0; slot < ours.outputs.size(); ++slot)
      if (!isSame(m_graph.tensor(theirs.outputs[slot]), m_whole.tensor(ours.outputs[slot]))) return false;
    return true;
  }

  /// Whether a backward node comes from another forward node than ours of its name: an operator that ran
  /// before others only once, or a sequence of another length, has shifted their numbers. What a parameter's
  /// gradient comes from last may vary.
  bool isOfAnother(const Node& theirs, const Node& ours) const {
    const bool ofParameter = std::ranges::any_of(
        ours.outputs, [&](TensorId output) { return m_whole.tensor(output).gradientOf.valid(); });
    if (ours.phase != Phase::kBackward || ofParameter || !ours.derivedFrom.valid()) return false;
    const NodeId from = forwardOf(theirs);
    return from.valid() && from != ours.derivedFrom;
  }

  NodeId forwardOf(const Node& theirs) const {
    return theirs.derivedFrom.valid() ? NodeId(m_part.m_nodes[theirs.derivedFrom.index()]) : NodeId();
  }

  /// The backward node that comes from the same forward node, whatever its number: else there would be one
  /// for each pair of numbers, the square of what a sequence's length varies by.
  std::optional<NodeId> ofSameForward(const Node& theirs) {
    if (theirs.phase != Phase::kBackward) return std::nullopt;
    const auto [first, last] = m_derived.equal_range(forwardOf(theirs));
    for (auto each = first; each != last; ++each)
      if (!isIn(m_usedNodes, each->second) && isSameNode(theirs, m_whole.node(each->second)))
        return each->second;
    return std::nullopt;
  }

  template <typename Id>
  static bool isIn(const std::vector<bool>& used, Id id) {
    return id.index() < used.size() && used[id.index()];
  }
  template <typename Id>
  static void use(std::vector<bool>& used, Id id) {
    if (id.index() >= used.size()) used.resize(id.index() + 1);
    used[id.index()] = true;
  }

  /// The first of name, name@2, name@3, … that is free, or whose owner is the same.
  template <typename Find, typename Same>
  auto place(const std::string& name, const Find& find, const Same& same) {
    for (std::int64_t n = 1;; ++n) {
      std::string each = n == 1 ? name : name + '@' + std::to_string(n);
      const auto found = find(each);
      if (found && !same(*found)) continue;
      if (found || isFree(each)) return std::pair(std::move(each), found);
    }
  }
  bool isFree(const std::string& name) const { return !m_whole.findNode(name) && !m_whole.findTensor(name); }

  void addSource(const TensorInfo& info) {
    const auto find = [&](const std::string& name) -> std::optional<TensorId> {
      const std::optional<TensorId> found = m_whole.findTensor(name + ":0");
      return found && m_whole.tensor(*found).name == name ? found : std::nullopt;
    };
    const auto same = [&](TensorId id) {
      return !isIn(m_usedTensors, id) && isSameSource(info, m_whole.tensor(id));
    };
    auto [name, found] = place(info.name, find, same);
    if (!found) {
      TensorInfo copy = copyOf(info);
      copy.name = name;
      copy.frames = framesOf(info.frames);
      found = m_whole.addSource(std::move(copy));
    }
    know(info, *found);
  }

  void addNode(const Node& node) {
    const auto find = [&](const std::string& name) { return m_whole.findNode(name); };
    const auto same = [&](NodeId id) { return !isIn(m_usedNodes, id) && isSameNode(node, m_whole.node(id)); };
    auto [name, found] = place(node.name, find, same);
    if (!found) found = ofSameForward(node);
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(ours(input));
    if (!found)
      found = append(node, std::move(name), std::move(inputs));
    else
      differ(node, *found, std::move(inputs));
    use(m_usedNodes, *found);
    m_part.m_nodes[node.id.index()] = static_cast<std::int32_t>(found->value);
    const Node& known = m_whole.node(*found);
    for (std::size_t slot = 0; slot < node.outputs.size(); ++slot)
      know(m_graph.tensor(node.outputs[slot]), known.outputs[slot]);
  }

  void differ(const Node& node, NodeId id, std::vector<TensorId> inputs) {
    const Node& known = m_whole.node(id);
    if (known.inputs != inputs) m_part.m_inputs.emplace(id, std::move(inputs));
    if (known.attributes != node.attributes) m_part.m_attributes.emplace(id, node.attributes);
  }

  NodeId append(const Node& node, std::string name, std::vector<TensorId> inputs) {
    Node copy = node;
    copy.name = std::move(name);
    copy.inputs = std::move(inputs);
    copy.frames = framesOf(node.frames);
    copy.derivedFrom = forwardOf(node);
    std::vector<TensorInfo> outputs;
    for (const TensorId output : node.outputs) outputs.push_back(copyOf(m_graph.tensor(output)));
    return m_whole.addNode(std::move(copy), std::move(outputs));
  }

  /// Links to other tensors come when all are there.
  TensorInfo copyOf(const TensorInfo& info) {
    TensorInfo copy = info;
    copy.gradientOf = copy.updateOf = {};
    copy.frames.clear();
    if (copy.alias.empty()) return copy;
    for (std::int64_t n = 2; m_whole.findTensor(copy.alias); ++n)
      copy.alias = info.alias + '@' + std::to_string(n);
    return copy;
  }

  void know(const TensorInfo& info, TensorId id) {
    m_part.m_tensors[info.id.index()] = static_cast<std::int32_t>(id.value);
    const TensorInfo& known = m_whole.tensor(id);
    if (known.name != info.name) {
      m_part.m_renamed.emplace(info.fullName(), id);
      m_part.m_names.emplace(id, info.name);
    }
    if (known.shape != info.shape || known.replicas != info.replicas)
      m_part.m_types.emplace(id, GraphPart::Typed{info.shape, info.replicas});
    const auto device = m_part.m_devices.try_emplace(known.device, info.device).first;
    if (device->second != info.device) m_part.m_deviceOf.emplace(id, info.device);
    use(m_usedTensors, id);
  }

  void link(const TensorInfo& info) {
    TensorInfo& known = m_whole.tensor(ours(info.id));
    if (known.id.index() < m_tensorsBefore) return;
    if (info.gradientOf.valid()) known.gradientOf = ours(info.gradientOf);
    if (info.updateOf.valid()) known.updateOf = ours(info.updateOf);
  }

  /// Of what is new; a node has one kernel.
  void addKernels() {
    std::vector<Kernel> all(m_whole.kernels().begin(), m_whole.kernels().end());
    for (const Kernel& kernel : m_graph.kernels()) {
      Kernel copy{KernelId(static_cast<std::int64_t>(all.size())), kernel.name, {}};
      for (const NodeId node : kernel.nodes)
        if (const NodeId known(m_part.m_nodes[node.index()]); known.index() >= m_nodesBefore)
          copy.nodes.push_back(known);
      if (!copy.nodes.empty()) all.push_back(std::move(copy));
    }
    if (all.size() != m_whole.kernels().size()) m_whole.setKernels(std::move(all));
  }

  /// The way back; where local ids are the union's there is no need of either.
  void finish() {
    const auto isOwn = [](const std::vector<std::int32_t>& map) {
      for (std::size_t i = 0; i < map.size(); ++i)
        if (map[i] != static_cast<std::int32_t>(i)) return false;
      return true;
    };
    const auto invert = [](const std::vector<std::int32_t>& map, std::size_t size) {
      std::vector<std::int32_t> back(size, -1);
      for (std::size_t i = 0; i < map.size(); ++i)
        back[static_cast<std::size_t>(map[i])] = static_cast<std::int32_t>(i);
      return back;
    };
    if (isOwn(m_part.m_nodes))
      m_part.m_nodes = {};
    else
      m_part.m_localNodes = invert(m_part.m_nodes, m_whole.nodes().size());
    if (isOwn(m_part.m_tensors))
      m_part.m_tensors = {};
    else
      m_part.m_localTensors = invert(m_part.m_tensors, m_whole.tensors().size());
  }

  TensorId ours(TensorId local) const { return TensorId(m_part.m_tensors[local.index()]); }

  std::vector<FrameId> framesOf(const std::vector<FrameId>& frames) {
    std::vector<FrameId> ids;
    for (const FrameId frame : frames) ids.push_back(ours(frame));
    return ids;
  }
  FrameId ours(FrameId frame) {
    FrameId& known = m_frames[frame.index()];
    if (known.valid()) return known;
    FrameId& id = m_frameIds[keyOf(m_graph.frame(frame))];
    if (!id.valid()) id = m_whole.addFrame(m_graph.frame(frame));
    return known = id;
  }

  Graph& m_whole;
  const Graph& m_graph;
  GraphPart& m_part;
  const std::size_t m_nodesBefore = m_whole.nodes().size(), m_tensorsBefore = m_whole.tensors().size();
  std::vector<FrameId> m_frames;                        // by local id; invalid: not asked for yet
  std::unordered_map<std::string, FrameId> m_frameIds;  // looked up only, never walked
  std::multimap<NodeId, NodeId> m_derived;              // by forward node: backward nodes there were before
  std::vector<bool> m_usedNodes, m_usedTensors;         // of the union, that this graph has
};

GraphUnion::GraphUnion(Graph first) : m_graph(std::move(first)) {
  auto part = std::make_unique<GraphPart>();
  part->m_nodeCount = static_cast<std::int64_t>(m_graph.nodes().size());
  part->m_tensorCount = static_cast<std::int64_t>(m_graph.tensors().size());
  m_parts.push_back(std::move(part));
}

const GraphPart& GraphUnion::add(const Graph& graph) {
  auto part = std::make_unique<GraphPart>();
  Adding(m_graph, graph, *part).run();
  return *m_parts.emplace_back(std::move(part));
}

}  // namespace msdbg::core
