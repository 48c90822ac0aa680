#include <algorithm>
#include <charconv>

#include "core_engine/base/text.h"
#include "replay/modules.h"

namespace msdbg::replay {
namespace {

bool isParameter(const core::TensorInfo& tensor) {
  return tensor.isSource() && tensor.role == core::TensorRole::kParameter;
}

std::string parentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

template <typename T>
void addOnce(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

// What the number behind a module's name says: its second call in an iteration is "relu#2".
std::string_view withoutCall(std::string_view name) {
  const std::size_t mark = name.rfind('#');
  if (mark == std::string_view::npos || mark + 1 == name.size()) return name;
  const bool number = std::ranges::all_of(name.substr(mark + 1), [](char c) { return c >= '0' && c <= '9'; });
  return number ? name.substr(0, mark) : name;
}

// The number that a list's element is named by; -1: another name.
int numberOf(const std::string& name) {
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

}  // namespace

std::string plainScope(std::string_view scope) {
  std::vector<std::string> parts;
  for (const std::string& part : core::split(scope, '/')) {
    const bool ofPass = parts.empty() && (part == "grad" || part == "update" || part == "state");
    if (!ofPass) parts.emplace_back(withoutCall(part));
  }
  return core::join(parts, "/");
}

ModuleTree::ModuleTree(const core::Graph& graph) : m_graph(graph) {
  addModules();
  addParameters();
  placeNodes();
  sortLists();
  sumUp();
}

// A list that holds modules without parameters or nodes, too: 0, 1, 2, as it was declared.
void ModuleTree::sortLists() {
  const auto number = [this](int module) { return numberOf(at(module).name); };
  for (Module& module : m_modules)
    if (std::ranges::none_of(module.children, [&](int child) { return number(child) < 0; }))
      std::ranges::sort(module.children, {}, number);
}

int ModuleTree::add(const std::string& path) {
  if (path.empty()) return -1;
  if (const auto known = m_byPath.find(path); known != m_byPath.end()) return known->second;
  const int parent = add(parentOf(path));
  const int id = static_cast<int>(m_modules.size());
  const auto named = m_graph.modules().find(path);
  m_modules.push_back({.path = path,
                       .name = path.substr(parent < 0 ? 0 : path.rfind('/') + 1),
                       .className = named == m_graph.modules().end() ? "" : named->second,
                       .parent = parent});
  (parent < 0 ? m_roots : m_modules[static_cast<std::size_t>(parent)].children).push_back(id);
  m_byPath.emplace(path, id);
  return id;
}

// In the order of the forward pass, then of the declarations: what the program lists last may run first.
void ModuleTree::addModules() {
  const bool told = !m_graph.modules().empty();
  for (const core::Node& node : m_graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    std::string path = plainScope(node.scope);
    while (told && !path.empty() && !m_graph.modules().contains(path)) path = parentOf(path);
    add(path);
  }
  for (const core::TensorInfo& tensor : m_graph.tensors())
    if (isParameter(tensor)) add(parentOf(tensor.name));
  for (const auto& [path, className] : m_graph.modules()) add(path);
}

void ModuleTree::addParameters() {
  for (const core::TensorInfo& tensor : m_graph.tensors()) {
    if (!isParameter(tensor)) continue;
    const int module = find(parentOf(tensor.name));
    if (module >= 0) m_modules[static_cast<std::size_t>(module)].parameters.push_back(tensor.id);
  }
}

void ModuleTree::placeNodes() {
  m_ofNode.reserve(m_graph.nodes().size());
  for (const core::Node& node : m_graph.nodes()) {
    const int module = nearest(plainScope(node.scope));
    m_ofNode.push_back(module);
    if (module >= 0 && node.phase == core::Phase::kForward)
      m_modules[static_cast<std::size_t>(module)].nodes.push_back(node.id);
  }
}

// Children come after their parents.
void ModuleTree::sumUp() {
  for (auto module = m_modules.rbegin(); module != m_modules.rend(); ++module) {
    for (const core::TensorId id : module->parameters) {
      const core::TensorInfo& tensor = m_graph.tensor(id);
      addOnce(module->dtypes, tensor.dtype);
      if (!tensor.device.empty()) addOnce(module->devices, tensor.device);
      if (!tensor.shape.known()) continue;
      (tensor.trainable ? module->trainable : module->others) += tensor.shape.elements();
    }
    for (const int child : module->children) {
      const Module& below = at(child);
      module->trainable += below.trainable;
      module->others += below.others;
      for (const core::DType dtype : below.dtypes) addOnce(module->dtypes, dtype);
      for (const std::string& device : below.devices) addOnce(module->devices, device);
    }
  }
}

int ModuleTree::find(std::string_view path) const {
  const auto found = m_byPath.find(path);
  return found == m_byPath.end() ? -1 : found->second;
}

int ModuleTree::nearest(std::string_view scope) const {
  for (std::string path(scope); !path.empty(); path = parentOf(path))
    if (const int found = find(path); found >= 0) return found;
  return -1;
}

int ModuleTree::of(core::NodeId node) const { return node.valid() ? m_ofNode.at(node.index()) : -1; }

int ModuleTree::of(core::TensorId tensor) const {
  if (!tensor.valid()) return -1;
  const core::TensorInfo& info = m_graph.tensor(tensor);
  return info.isSource() ? nearest(plainScope(parentOf(info.name))) : of(info.producer);
}

bool ModuleTree::isBelow(int inner, int outer) const {
  for (; inner >= 0; inner = at(inner).parent)
    if (inner == outer) return true;
  return false;
}

std::vector<core::NodeId> ModuleTree::nodesBelow(int module) const {
  std::vector<core::NodeId> forward, others;
  for (const core::Node& node : m_graph.nodes())
    if (isBelow(of(node.id), module))
      (node.phase == core::Phase::kForward ? forward : others).push_back(node.id);
  return forward.empty() ? others : forward;
}

}  // namespace msdbg::replay
