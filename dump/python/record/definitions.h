// Definitions: everything that a program of another framework was seen to compute, ever: nodes, their
// outputs, sources, frames, with ids of their own, dense from 0, which nothing else has and which stay.
// A graph of the run (GraphVersion) is made of some of them. What a node reads may change from iteration to
// iteration: it stays the node that it is, at another revision, so that a program whose iterations all differ
// defines no more than it has names. A name whose outputs are of another kind is another node, a variant, and
// so is an operator of the forward pass that is called on another line; one graph has one of them. Not
// synchronised.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core_engine/graph/graph.h"
#include "watchpoints/activation_preset.h"

namespace msdbg::dump {

class Definitions {
 public:
  struct DefinedTensor {
    core::TensorInfo info;  // producer, gradientOf, updateOf and frames as they are here
    std::optional<watch::ActivationPreset> range;  // its elements are counted in
  };

  core::FrameId frame(core::Frame frame);  // equal ones have one id
  /// kUsage: the name or alias is taken, a frame is not known.
  core::Result<core::TensorId> source(core::TensorInfo info);
  /// `node.outputs` is what it gets, its scope follows from the name. kUsage: an input, a frame, what it is
  /// derived from, what an output is of: not known; no name.
  /// One that is there already, by its name, operator and kinds of outputs, now has these inputs, frames and
  /// attributes.
  core::Result<core::NodeId> node(core::Node node, std::vector<core::TensorInfo> outputs);
  /// What it reads turned out to be these. kUsage: no such node, no such tensor.
  core::Status setInputs(core::NodeId node, std::vector<core::TensorId> inputs);
  /// Counts how often what the node reads or comes from was another.
  std::int64_t revision(core::NodeId node) const { return m_revisions[node.index()]; }
  /// What turns out later. kUsage: no such tensor. True: it was another.
  core::Result<bool> setRole(core::TensorId tensor, core::TensorRole role);
  /// Where the tensor lies. The first that is said stays. kUsage: no such tensor.
  core::Status setDevice(core::TensorId tensor, std::string device);
  /// A module of the program and its class; the first that is said stays.
  void module(std::string path, std::string className) {
    m_modules.emplace(std::move(path), std::move(className));
  }
  const std::map<std::string, std::string>& modules() const { return m_modules; }
  /// A value of this shape was seen: dimensions that differ from what they were become unknown (-1). True:
  /// some did. Where even their number differs, one dimension is left, unknown.
  bool widen(core::TensorId tensor, std::span<const std::int64_t> dims);

  /// Variants of one name have one number, from 0.
  std::size_t nameOf(core::NodeId node) const { return m_nameOf[node.index()]; }
  std::size_t names() const { return m_names.size(); }

  bool has(core::TensorId tensor) const { return tensor.valid() && tensor.index() < m_tensors.size(); }
  bool has(core::NodeId node) const { return node.valid() && node.index() < m_nodes.size(); }
  const DefinedTensor& tensor(core::TensorId id) const { return m_tensors[id.index()]; }
  const core::Node& node(core::NodeId id) const { return m_nodes[id.index()]; }
  const core::Frame& frame(core::FrameId id) const { return m_frames[id.index()]; }
  std::span<const DefinedTensor> tensors() const { return m_tensors; }
  std::span<const core::Node> nodes() const { return m_nodes; }

 private:
  core::Status checkFrames(const std::vector<core::FrameId>& frames, const std::string& of) const;
  core::Status check(const core::Node& node, const std::vector<core::TensorInfo>& outputs) const;
  void revise(core::NodeId id, core::Node node);

  std::map<std::string, std::string> m_modules;  // class by path
  std::vector<core::Frame> m_frames;
  std::unordered_map<std::string, core::FrameId> m_frameIds;  // by all that a frame says
  std::vector<DefinedTensor> m_tensors;
  std::vector<core::Node> m_nodes;
  std::vector<std::int64_t> m_revisions;                  // by node
  std::unordered_map<std::string, core::NodeId> m_kinds;  // nodes by all that makes a variant
  std::vector<std::size_t> m_nameOf;                      // by node
  std::unordered_map<std::string, std::size_t> m_names;   // of nodes
  std::unordered_set<std::string> m_sourceNames;          // and aliases
};

}  // namespace msdbg::dump
