#include "core_engine/graph/names.h"

#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

bool aliasEndsWith(std::string_view alias, std::string_view end) {
  const std::size_t open = end.find('(');
  if (open == std::string_view::npos) return endsAtBorder(alias, end);
  return alias.starts_with(end.substr(0, open + 1)) &&
         endsAtBorder(alias.substr(open + 1), end.substr(open + 1));
}

std::vector<TensorId> tensorsEndingWith(const Graph& graph, std::string_view end) {
  std::vector<TensorId> found;
  for (const TensorInfo& info : graph.tensors()) {
    const bool alias = !info.alias.empty() && aliasEndsWith(info.alias, end);
    const bool bare = info.slot == 0 && aliasEndsWith(info.name, end);  // a bare node name means slot 0
    if (alias || bare || aliasEndsWith(info.fullName(), end)) found.push_back(info.id);
  }
  return found;
}

// "fc/Gemm-op1" also ends the names of what the backward pass computes in grad/network/fc.
void keepForward(const Graph& graph, std::vector<TensorId>& found) {
  const auto computedIn = [&](bool forward) {
    return [&graph, forward](TensorId id) {
      const NodeId producer = graph.tensor(id).producer;
      return producer.valid() && (graph.node(producer).phase == Phase::kForward) == forward;
    };
  };
  if (std::ranges::count_if(found, computedIn(true)) != 1) return;
  if (std::ranges::count_if(found, computedIn(false)) + 1 != std::ssize(found)) return;
  std::erase_if(found, computedIn(false));
}

std::vector<std::string> parameterNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kParameter) names.push_back(info.name);
  return names;
}

void addOnce(std::vector<std::string>& all, std::string one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
}

/// "net/fc1/weight" -> "net/*", "net/fc1/*".
void addScopeGlobs(std::vector<std::string>& globs, const std::string& name) {
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1))
    addOnce(globs, name.substr(0, at) + "/*");
}

/// What is one step deeper than `scope` ("" or "net/"): scopes as globs, parameters by name.
std::vector<std::string> childrenOf(std::string_view scope, std::span<const std::string> names) {
  std::vector<std::string> children;
  for (const std::string& name : names) {
    if (!name.starts_with(scope)) continue;
    const std::size_t end = name.find('/', scope.size());
    addOnce(children, end == std::string::npos ? name : name.substr(0, end) + "/*");
  }
  return children;
}

/// As far as the glob leads along scopes that there are, and on while there is but one.
std::vector<std::string> whereItLeads(std::string_view glob, std::span<const std::string> names) {
  std::vector<std::string> children = childrenOf("", names);
  for (std::size_t start = 0;;) {
    const std::size_t end = glob.find('/', start);
    const std::string named = std::string(glob.substr(0, end)) + "/*";
    const bool leads = end != std::string_view::npos && std::ranges::find(children, named) != children.end();
    if (!leads && (children.size() != 1 || !children.front().ends_with("/*"))) return children;
    const std::string next = leads ? named : children.front();
    if (!leads) glob = {};
    start = leads ? end + 1 : 0;
    children = childrenOf(next.substr(0, next.size() - 1), names);
  }
}

}  // namespace

bool endsAtBorder(std::string_view name, std::string_view end) {
  if (end.empty() || !name.ends_with(end)) return false;
  return name.size() == end.size() || name[name.size() - end.size() - 1] == '/';
}

bool namesTensor(std::string_view nameOrGlob, const TensorInfo& tensor) {
  const bool bareName = tensor.slot == 0 || isGlob(nameOrGlob);
  return (bareName && globMatch(nameOrGlob, tensor.name)) || globMatch(nameOrGlob, tensor.fullName()) ||
         (!tensor.alias.empty() && globMatch(nameOrGlob, tensor.alias));
}

std::vector<TensorId> tensorsMeant(const Graph& graph, std::string_view nameOrGlob) {
  std::vector<TensorId> found;
  for (const TensorInfo& info : graph.tensors())
    if (namesTensor(nameOrGlob, info)) found.push_back(info.id);
  if (found.empty() && !isGlob(nameOrGlob)) {
    found = tensorsEndingWith(graph, nameOrGlob);
    keepForward(graph, found);
  }
  if (found.empty() && nameOrGlob == "loss")
    for (const TensorInfo& info : graph.tensors())
      if (info.role == TensorRole::kLoss) found.push_back(info.id);
  return found;
}

std::string nearestEnds(std::string_view wanted, const std::vector<std::string>& names) {
  const auto components = std::ranges::count(wanted, '/') + 1;
  std::vector<std::string> shortened;
  for (const std::string& name : names) {
    std::size_t begin = name.size();
    for (std::ptrdiff_t i = 0; i < components && begin != std::string::npos && begin > 0; ++i)
      begin = name.rfind('/', begin - 1);
    std::string tail = begin == std::string::npos || begin == 0 ? name : name.substr(begin + 1);
    const std::size_t open = name.find('(');  // grad(conv1/weight): what ends in it names it too
    if (tail.size() < name.size() && open < name.size() - tail.size()) tail.insert(0, name, 0, open + 1);
    if (std::ranges::find(shortened, tail) == shortened.end()) shortened.push_back(std::move(tail));
  }
  return didYouMean(wanted, shortened);
}

std::string nearestTensors(const Graph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (const TensorInfo& info : graph.tensors()) {
    names.push_back(info.slot == 0 ? info.name : info.fullName());
    if (!info.alias.empty()) names.push_back(info.alias);
  }
  return nearestEnds(name, names);
}

std::string nearestParameters(const Graph& graph, std::string_view glob) {
  constexpr std::size_t kShown = 8;
  const std::vector<std::string> names = parameterNames(graph);
  std::vector<std::string> candidates = names;
  for (const std::string& name : names) addScopeGlobs(candidates, name);
  if (const std::string near = didYouMean(glob, candidates); !near.empty()) return near;
  std::vector<std::string> there = whereItLeads(glob, names);
  if (there.empty()) return "; there are no parameters";
  const std::size_t all = there.size();
  if (all > kShown) there.resize(kShown);
  return "; there are " + join(there, ", ") +
         (all > kShown ? " and " + std::to_string(all - kShown) + " more" : "");
}

std::string ambiguousName(std::string_view name, std::vector<std::string> candidates) {
  constexpr std::size_t kShown = 5;
  const std::size_t all = candidates.size();
  if (all > kShown) candidates.resize(kShown);
  return "'" + std::string(name) + "' may mean " + join(candidates, ", ") +
         (all > kShown ? " or " + std::to_string(all - kShown) + " more" : "") + "; give more of the name";
}

}  // namespace msdbg::core
