#include "core_engine/graph/verify.h"

#include <algorithm>
#include <unordered_set>

#include "core_engine/graph/graph_text.h"
#include "core_engine/ops/op_facts.h"

namespace msdbg::core {
namespace {

/// The first broken rule stops the check; every method returns at once when one was found before.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : m_graph(graph) {}

  Status run() {
    for (std::size_t i = 0; i < m_graph.tensors().size(); ++i) checkTensor(m_graph.tensors()[i], i);
    for (std::size_t i = 0; i < m_graph.nodes().size(); ++i) checkNode(m_graph.nodes()[i], i);
    checkTensorNames();
    checkNodeNames();
    checkKernels();
    return m_status;
  }

 private:
  void fail(const std::string& who, const std::string& rule) {
    if (m_status.ok())
      m_status = Error(ErrorCode::kInternal, "graph " + m_graph.name() + ": " + who + " " + rule);
  }
  bool ok() const { return m_status.ok(); }
  template <typename T>
  static bool inRange(T id, std::size_t count) {
    return id.valid() && id.index() < count;
  }
  /// An id that may be missing.
  template <typename T>
  static bool inRangeOrNone(T id, std::size_t count) {
    return id.value == -1 || inRange(id, count);
  }
  static std::string nameOf(const Node& node) { return "node " + node.name; }
  static std::string nameOf(const TensorInfo& info) { return "tensor " + info.fullName(); }

  void checkFrames(const std::string& who, const std::vector<FrameId>& frames) {
    for (const FrameId id : frames)
      if (!inRange(id, m_graph.frames().size())) fail(who, "names a source frame that does not exist");
  }

  void checkShape(const TensorInfo& info) {
    std::int64_t bytes = std::max<std::int64_t>(static_cast<std::int64_t>(dtypeSize(info.dtype)), 1);
    for (const std::int64_t d : info.shape.dims()) {
      if (d < -1) return fail(nameOf(info), "has a dimension below -1: " + info.shape.text());
      if (d > 0 && __builtin_mul_overflow(bytes, d, &bytes))
        return fail(nameOf(info), "is too large: " + info.shape.text());
    }
  }

  void checkTensor(const TensorInfo& info, std::size_t index) {
    const std::string who = nameOf(info);
    const std::size_t count = m_graph.tensors().size();
    if (info.id.value != static_cast<std::int64_t>(index)) fail(who, "has an id that is not its place");
    if (info.name.empty()) fail(who, "has no name");
    checkShape(info);
    if (!inRangeOrNone(info.gradientOf, count)) fail(who, "is the gradient of a tensor that does not exist");
    if (!inRangeOrNone(info.updateOf, count)) fail(who, "is the update of a tensor that does not exist");
    checkFrames(who, info.frames);
    checkProducer(info);
  }

  void checkProducer(const TensorInfo& info) {
    if (info.producer.value == -1 && info.slot != 0)
      fail(nameOf(info), "is a source with a slot other than 0");
    if (info.producer.value == -1) return;
    if (!inRange(info.producer, m_graph.nodes().size()))
      return fail(nameOf(info), "has a producer that does not exist");
    const Node& node = m_graph.node(info.producer);
    const auto slot = static_cast<std::size_t>(info.slot);
    if (info.slot < 0 || slot >= node.outputs.size() || node.outputs[slot] != info.id)
      fail(nameOf(info), "is not the output of " + nameOf(node) + " that it says it is");
  }

  void checkNode(const Node& node, std::size_t index) {
    const std::string who = nameOf(node);
    if (node.id.value != static_cast<std::int64_t>(index)) fail(who, "has an id that is not its place");
    if (node.name.empty() || node.opType.empty()) fail(who, "has no name or no type");
    const std::size_t slash = node.name.rfind('/');
    if (node.scope != (slash == std::string::npos ? "" : node.name.substr(0, slash)))
      fail(who, "has the scope " + node.scope + ", not that of its name");
    checkInputs(node);
    checkOutputs(node);
    checkFrames(who, node.frames);
    checkDerivation(node);
    if (ok()) checkOperator(node);
  }

  void checkInputs(const Node& node) {
    for (const TensorId id : node.inputs) {
      if (!inRange(id, m_graph.tensors().size()))
        return fail(nameOf(node), "reads a tensor that does not exist");
      const TensorInfo& info = m_graph.tensor(id);
      if (!info.isSource() && info.producer.value >= node.id.value)
        return fail(nameOf(node), "reads " + info.fullName() + " before it is computed");
    }
  }

  void checkOutputs(const Node& node) {
    for (std::size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!inRange(node.outputs[slot], m_graph.tensors().size()))
        return fail(nameOf(node), "writes a tensor that does not exist");
      const TensorInfo& info = m_graph.tensor(node.outputs[slot]);
      if (info.producer != node.id || info.slot != static_cast<std::int32_t>(slot) || info.name != node.name)
        return fail(nameOf(node), "writes " + info.fullName() + ", which names another producer or slot");
    }
  }

  void checkDerivation(const Node& node) {
    if (node.derivedFrom.value == -1) return;
    if (node.phase == Phase::kForward)
      return fail(nameOf(node), "is a forward node but derived from another");
    if (!inRange(node.derivedFrom, m_graph.nodes().size()) || node.derivedFrom.value >= node.id.value)
      return fail(nameOf(node), "is derived from a node that does not precede it");
    if (m_graph.node(node.derivedFrom).phase != Phase::kForward)
      fail(nameOf(node), "is derived from a node that is not a forward node");
  }

  void checkOperator(const Node& node) {
    const OpDef* op = findOp(node);
    if (!op) return;
    if (node.inputs.size() < op->minInputs || node.inputs.size() > op->maxInputs)
      return fail(nameOf(node), "has " + std::to_string(node.inputs.size()) + " inputs, " + node.opType +
                                    " takes " + std::to_string(op->minInputs) + " to " +
                                    std::to_string(op->maxInputs));
    for (const AttributeDoc& doc : op->attributes) checkAttribute(node, doc);
    if (ok() && op->infer) checkTypes(node, *op);
  }

  void checkAttribute(const Node& node, const AttributeDoc& doc) {
    const auto found = node.attributes.find(doc.name);
    if (found == node.attributes.end()) {
      if (doc.defaultValue == "required") fail(nameOf(node), "lacks the attribute " + std::string(doc.name));
      return;
    }
    static constexpr std::string_view kTypes[] = {"int",  "float",  "string",  "ints",  // the variant's order
                                                  "bool", "floats", "strings", "tensor"};
    const std::string_view type = kTypes[found->second.index()];
    if (type != doc.type)
      fail(nameOf(node), "has the attribute " + std::string(doc.name) + "=" + attributeText(found->second) +
                             " of type " + std::string(type) + ", not " + std::string(doc.type));
  }

  void checkTypes(const Node& node, const OpDef& op) {
    std::vector<TensorType> types;
    for (const TensorId id : node.inputs) {
      types.push_back({m_graph.tensor(id).dtype, m_graph.tensor(id).shape});
      if (!types.back().shape.known()) return;  // nothing can be inferred
    }
    const auto computed = [](const TensorType& type) { return isComputed(type.dtype); };
    if (!std::ranges::all_of(types, computed) || !hasComputedDTypes(m_graph, node))
      return;  // somebody else's kernel may have made this
    const auto inferred = op.infer(types, node.attributes);
    if (!inferred.ok()) return fail(nameOf(node), "is not valid: " + inferred.error().message());
    if (inferred->size() != node.outputs.size())
      return fail(nameOf(node), "has " + std::to_string(node.outputs.size()) + " outputs, not " +
                                    std::to_string(inferred->size()));
    for (std::size_t i = 0; i < inferred->size(); ++i)
      compareType(node, m_graph.tensor(node.outputs[i]), (*inferred)[i]);
  }

  void compareType(const Node& node, const TensorInfo& stored, const TensorType& inferred) {
    if (stored.dtype == inferred.dtype && stored.shape == inferred.shape) return;
    fail(nameOf(node), "has output " + std::to_string(stored.slot) + " " +
                           std::string(dtypeName(stored.dtype)) + " " + stored.shape.text() +
                           ", but its inputs give " + std::string(dtypeName(inferred.dtype)) + " " +
                           inferred.shape.text());
  }

  void checkTensorNames() {
    std::unordered_set<std::string> names;
    for (const TensorInfo& info : m_graph.tensors())
      if (!names.insert(info.fullName()).second) fail(nameOf(info), "has the name of another tensor");
    for (const TensorInfo& info : m_graph.tensors())
      if (!info.alias.empty() && (names.contains(info.alias + ":0") || !names.insert(info.alias).second))
        fail(nameOf(info), "has the alias " + info.alias + ", which names another tensor");
  }

  void checkNodeNames() {
    std::unordered_set<std::string> names;
    for (const Node& node : m_graph.nodes())
      if (!names.insert(node.name).second) fail(nameOf(node), "has the name of another node");
  }

  void checkKernels() {
    std::vector<int> covered(m_graph.nodes().size(), 0);
    for (std::size_t i = 0; i < m_graph.kernels().size(); ++i) {
      const Kernel& kernel = m_graph.kernels()[i];
      if (kernel.id.value != static_cast<std::int64_t>(i))
        fail("kernel " + kernel.name, "has an id that is not its place");
      for (const NodeId id : kernel.nodes) {
        if (inRange(id, covered.size()))
          ++covered[id.index()];
        else
          fail("kernel " + kernel.name, "computes a node that does not exist");
      }
    }
    if (m_graph.kernels().empty()) return;
    for (const Node& node : m_graph.nodes())
      if (covered[node.id.index()] != 1)
        return fail(nameOf(node),
                    "is computed by " + std::to_string(covered[node.id.index()]) + " kernels, not by one");
  }

  const Graph& m_graph;
  Status m_status;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace msdbg::core
