#include "core_engine/plan/recompute_scopes.h"

#include <algorithm>
#include <set>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

bool matches(const std::string& glob, const std::string& scope) {
  return globMatch(glob, scope) || globMatch("*/" + glob, scope);
}

/// "network", "network/block1", … : the scopes around a node, outermost first.
std::vector<std::string> scopesAround(const Node& node) {
  std::vector<std::string> scopes;
  for (std::size_t slash = node.scope.find('/'); slash != std::string::npos;
       slash = node.scope.find('/', slash + 1))
    scopes.push_back(node.scope.substr(0, slash));
  scopes.push_back(node.scope);
  return scopes;
}

}  // namespace

std::string recomputedScope(const Node& node, std::span<const std::string> globs) {
  for (const std::string& scope : scopesAround(node))
    if (std::ranges::any_of(globs, [&](const std::string& glob) { return matches(glob, scope); }))
      return scope;
  return "";
}

Status checkRecomputed(const Graph& graph, std::span<const std::string> globs) {
  for (const std::string& glob : globs) {
    std::set<std::string> scopes;
    for (const Node& node : graph.nodes())
      if (node.phase == Phase::kForward)
        for (const std::string& scope : scopesAround(node)) scopes.insert(scope);
    const std::vector<std::string> names(scopes.begin(), scopes.end());
    if (std::ranges::none_of(names, [&](const std::string& scope) { return matches(glob, scope); }))
      return Error(ErrorCode::kNotFound, "--recompute: no scope of the forward pass matches '" + glob + "'" +
                                             didYouMean(glob, names));
  }
  return Ok{};
}

}  // namespace msdbg::core
