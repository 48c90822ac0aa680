// The IR: one table of nodes (operator instances of all phases), one of tensors, one of source frames, one of
// kernels. Kernels refer to nodes, nodes to frames, so the chain source line <-> node <-> kernel can be
// followed both ways.
//
// Sources (inputs, parameters, optimizer state, constants) are tensors without a producer. Every other tensor
// is `node:slot`. Node ids are the canonical topological order ("order" in DESIGN.md): a node is added after
// its inputs. Unknown operators (no OpDef) and unknown dimensions (-1) are allowed, so that foreign dumps
// fit. A Graph is a value (copies are deep) and not synchronised; share it const.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/graph/init.h"
#include "core_engine/graph/name_index.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

enum class Phase : std::uint8_t { kForward = 1, kBackward = 2, kUpdate = 3, kCollective = 4 };
std::string_view phaseName(Phase phase);  // "forward", "backward", "update", "collective"

enum class TensorRole : std::uint8_t {
  kActivation = 1,  // output of a forward node
  kInput = 2,
  kLabel = 3,
  kParameter = 4,  // its value is what the forward pass of the iteration reads
  kOptimizerState = 5,
  kConstant = 6,
  kLoss = 7,
  kGradient = 8,         // output of a backward or collective node
  kUpdated = 9,          // output of an update node: the value at the next iteration (see updateOf)
  kHyperparameter = 10,  // the learning rate: a scalar source fed by the trainer
};
std::string_view roleName(TensorRole role);  // "activation", "input", … "updated", "hyperparameter"

/// A tensor as an attribute. Equal: the same dtype, shape and bytes.
struct TensorValue {
  Tensor tensor;
  bool operator==(const TensorValue& other) const;
};
/// The first four are what our own operators have; graphs of others hold all of them. What is nested deeper
/// is text (JSON).
using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, bool,
                                    std::vector<double>, std::vector<std::string>, TensorValue>;
using Attributes =
    std::map<std::string, AttributeValue, std::less<>>;  // sorted: its text form is deterministic

struct Frame {
  std::string
      file;  // as compiled, relative to the project where it is inside it: "core_engine/models/alexnet.cpp"
  std::int32_t line = 0;  // 1-based; the first line of the statement
  std::string function;   // unqualified: "alexnet"
  std::string code;       // the trimmed source line(s) of the statement; "" when the source could not be read
  bool engine = false;    // inside the engine's own layers
  bool operator==(const Frame&) const = default;
};

struct TensorInfo {
  TensorId id;
  std::string name;  // full name without slot: the producer's name, or the source's own
  std::int32_t slot = 0;
  DType dtype = DType::Float32;
  std::int32_t dtypeNumber = 0;  // where the dtype is unsupported: its number in graph.proto
  Shape shape;
  TensorRole role = TensorRole::kActivation;
  NodeId producer;      // invalid for sources
  std::string alias;    // "grad(network/conv1/weight)", "momentum(network/conv1/weight)"; unique; may be ""
  TensorId gradientOf;  // for gradients: what it is the gradient of (a parameter or an activation)
  TensorId updateOf;    // for kUpdated: the parameter or state whose next value it is
  bool replicated = false;  // the parallel plan says: equal on all ranks, or on those of `replicas`
  std::vector<std::int32_t> replicas;  // ascending; empty: all ranks
  bool trainable = false;
  bool kept = false;  // for the program to read after a step (train/keep.h); not part of the graph's file
  Initializer initializer;
  std::vector<FrameId> frames;  // of sources: who declared it; node outputs use their node's
  Tensor value;                 // of a constant, where the graph carries it; else invalid: see `initializer`
  std::string device = {};      // where it lay when it was first seen: "cpu", "cuda:0"; "": not known

  std::string fullName() const { return name + ":" + std::to_string(slot); }
  bool isSource() const { return !producer.valid(); }
};

/// Who defines what an operator computes. Of other domains ("aten", "mindspore", "onnx") only the structure
/// is known here: an operator of theirs that carries a name of ours is not ours.
inline constexpr std::string_view kOwnDomain = "msdbg";

struct Node {
  NodeId id;           // == order
  std::string name;    // "network/conv1/Conv-op1", "grad/network/conv1/ConvGradWeight-op1",
                       // "update/network/conv1/SgdUpdate-op1"
  std::string opType;  // ONNX name, or <Op>Grad…, or an update
  std::string scope;   // name without its last component
  Phase phase = Phase::kForward;
  std::vector<TensorId> inputs, outputs;
  Attributes attributes;
  std::vector<FrameId> frames;  // innermost first; a derived node has those of its forward node
  NodeId derivedFrom;  // the forward node a backward, collective or update node exists for; invalid for
                       // forward nodes
  std::string domain{kOwnDomain};  // of opType

  bool isOwn() const { return domain == kOwnDomain; }
};

struct Kernel {
  KernelId id;                      // == the executor's order
  std::string name;                 // "dnnl:Conv", "cpu:Relu", "reference:Gemm"
  std::vector<NodeId> nodes;        // the nodes it computes
  std::vector<int> revisions = {};  // of the code for each of `nodes`, 0 where none runs; empty: not known
  std::string implementation = {};  // a library's own name of what it runs: "jit:avx512_core"
};

class Graph {
 public:
  /// Throws BuildError where the name cannot be the first part of a path (spaces, '/', any of : * ? …).
  explicit Graph(std::string name = "network", DType floating = DType::Float32,
                 std::source_location where = std::source_location::current());

  const std::string& name() const { return m_name; }
  DType floatingDType() const { return m_floating; }
  std::int64_t version() const { return m_version; }  // the NNNN of graph_NNNN.pb
  void setVersion(std::int64_t version) { m_version = version; }

  std::span<const Node> nodes() const { return m_nodes; }
  std::span<const TensorInfo> tensors() const { return m_tensors; }
  std::span<const Frame> frames() const { return m_frames; }
  std::span<const Kernel> kernels() const { return m_kernels; }
  /// Scopes that are modules of another framework's program, and their classes: "GPT/h/0/attn" is a
  /// "CausalSelfAttention". Graphs of our own have none.
  const std::map<std::string, std::string, std::less<>>& modules() const { return m_modules; }
  const Node& node(NodeId id) const { return m_nodes.at(id.index()); }
  const TensorInfo& tensor(TensorId id) const { return m_tensors.at(id.index()); }
  TensorInfo& tensor(TensorId id) { return m_tensors.at(id.index()); }
  const Frame& frame(FrameId id) const { return m_frames.at(id.index()); }

  std::optional<NodeId> findNode(std::string_view fullName) const;
  std::optional<TensorId> findTensor(
      std::string_view fullNameWithOrWithoutSlot) const;  // exact names and aliases only
  /// Nodes that read the tensor, in order.
  std::vector<NodeId> consumers(TensorId id) const;
  /// The innermost frame outside the engine's own layers (else the innermost); nullptr when there is none.
  const Frame* userFrame(std::span<const FrameId> frames) const;
  /// Kernels that compute the node (usually one); empty before kernels are assigned.
  std::vector<KernelId> kernelsOf(NodeId id) const;
  /// Whether training was compiled into it: nothing can be built, frozen or trained by another Trainer then.
  bool hasTrainer() const;

  // --- building (used by Value's functions, autodiff, passes and readers) ---
  TensorId addSource(TensorInfo info);  // id is assigned; name must be unique
  /// Adds a node and its output tensors. `outputs` give dtype, shape, role, …; id, name, slot, producer are
  /// assigned. The node is named scope + "/" + opType + "-op" + N, N counting per scope and type.
  NodeId addNode(std::string opType, std::string scope, Phase phase, std::vector<TensorId> inputs,
                 Attributes attributes, std::vector<TensorInfo> outputs, std::vector<FrameId> frames,
                 NodeId derivedFrom = {}, std::string_view domain = kOwnDomain);
  /// The same with a name of its own, which nothing has yet, and with operands of this graph.
  NodeId addNode(Node node, std::vector<TensorInfo> outputs);
  FrameId addFrame(Frame frame);  // interned: equal frames have one id
  /// Gives a tensor another name ("grad(network/conv1/weight)"), replacing an earlier one; must be unique in
  /// the graph.
  void setAlias(TensorId id, std::string alias);
  void setFrame(FrameId id, Frame frame) { m_frames.at(id.index()) = std::move(frame); }
  void setKernels(std::vector<Kernel> kernels);
  /// The first class that a path was said to have stays.
  void addModule(std::string path, std::string className) {
    m_modules.emplace(std::move(path), std::move(className));
  }
  /// For readers: takes the tables as they are (call verify() after).
  static Graph fromTables(std::string name, DType floating, std::int64_t version, std::vector<Node> nodes,
                          std::vector<TensorInfo> tensors, std::vector<Frame> frames,
                          std::vector<Kernel> kernels);
  /// The same graph with every floating tensor in another floating dtype.
  Graph withFloatingDType(DType dtype) const;

  // --- the user's side: declared here because DESIGN.md's program calls them on Graph; see value.h ---
  class Value input(std::string name, Shape shape, std::optional<DType> dtype = {},
                    std::source_location where = std::source_location::current());
  /// A parameter of one's own in the open scope, trainable; `dtype`: the graph's floating dtype unless given.
  class Value parameter(std::string name, Shape shape, const Init& init, std::optional<DType> dtype = {},
                        std::source_location where = std::source_location::current());
  /// Mixed precision of what is built from now on (precision.h): products in float16 or bfloat16, with sums
  /// in float32; Float32 ends it. Throws BuildError for another dtype, and where the graph is not of float32.
  void mixedPrecision(DType lower, std::source_location where = std::source_location::current());
  std::optional<DType> lowerPrecision() const { return m_lower; }
  [[nodiscard("a scope names what is built while it lives: auto scope = graph.scope(…)")]] class Scope scope(
      std::string name, std::source_location where = std::source_location::current());

  // Open scopes and layer calls, outermost first. Only Scope and LayerScope change them.
  struct OpenFrame {
    std::string scope;
    FrameId frame;
  };
  std::vector<OpenFrame> openFrames;
  std::string scopePath() const;                            // "network/conv1"
  std::vector<FrameId> frameStack(FrameId innermost);       // innermost, then the open ones, outermost last
  std::string uniqueName(const std::string& wanted) const;  // wanted, wanted2, wanted3 …

 private:
  std::optional<TensorId> named(std::string_view fullNameOrAlias) const;
  void index(const TensorInfo& info);
  void index(const Node& node);
  std::string nextNodeName(const std::string& scope, const std::string& opType);
  std::string m_name;
  DType m_floating;
  std::optional<DType> m_lower;  // while it is built
  std::int64_t m_version = 0;
  std::vector<Node> m_nodes;
  std::vector<TensorInfo> m_tensors;
  std::vector<Frame> m_frames;
  std::vector<Kernel> m_kernels;
  std::map<std::string, std::string, std::less<>> m_modules;  // class by path
  NameIndex m_nodeByName;
  NameIndex m_tensorByName;                                  // full name with slot, and aliases
  std::unordered_map<std::string, std::int64_t> m_counters;  // scope/type -> last number
  std::vector<std::vector<NodeId>> m_consumers;    // by tensor; shorter when the last ones have none
  std::vector<std::vector<KernelId>> m_kernelsOf;  // by node; empty before kernels are assigned
};

}  // namespace msdbg::core

#include "core_engine/graph/value.h"  // users of Graph need Value and Scope complete
