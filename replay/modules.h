// ModuleTree: the modules of a network, with the parameters that they hold. Of a PyTorch program they are its
// modules (with their classes where the run knows them); of other runs the scopes of the forward pass. Both
// have a module's parameters below its own name. Immutable, computed once in time linear in the graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::replay {

struct Module {
  std::string path, name;  // "GPT/h/0/attn", "attn"
  std::string className;   // "CausalSelfAttention"; "": not known
  int parent = -1;         // in modules()
  std::vector<int> children = {};
  std::vector<core::TensorId> parameters = {};  // its own, and buffers, as they were declared
  std::vector<core::NodeId> nodes = {};         // of the forward pass, in it and in no module below; in order
  // Of it and all below. Tensors whose shape is not known count nothing.
  std::int64_t trainable = 0, others = 0;  // elements of parameters; others are frozen, or buffers
  std::vector<core::DType> dtypes = {};    // of its parameters, each once
  std::vector<std::string> devices = {};   // the same; those that are known
};

class ModuleTree {
 public:
  explicit ModuleTree(const core::Graph& graph);

  const std::vector<Module>& modules() const { return m_modules; }  // a parent before its children
  const std::vector<int>& roots() const { return m_roots; }
  const Module& at(int module) const { return m_modules.at(static_cast<std::size_t>(module)); }
  /// -1: none.
  int find(std::string_view path) const;
  /// The innermost module that a node, of any phase, or a tensor belongs to; -1: none.
  int of(core::NodeId node) const;
  int of(core::TensorId tensor) const;
  /// Nodes of the forward pass in the module and below, in order; where the run knows none (it recorded
  /// parameters alone), those of the other passes that belong to it.
  std::vector<core::NodeId> nodesBelow(int module) const;
  bool isBelow(int inner, int outer) const;  // or the same

 private:
  int add(const std::string& path);
  int nearest(std::string_view scope) const;
  void addModules();
  void addParameters();
  void placeNodes();
  void sortLists();
  void sumUp();
  const core::Graph& m_graph;  // outlives it
  std::vector<Module> m_modules;
  std::vector<int> m_roots;
  std::map<std::string, int, std::less<>> m_byPath;
  std::vector<int> m_ofNode;  // by node
};

/// "grad/GPT/h#2/0/attn" -> "GPT/h/0/attn": the scope without what says which pass and call it is of.
std::string plainScope(std::string_view scope);

}  // namespace msdbg::replay
