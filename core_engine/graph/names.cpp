#include "core_engine/graph/names.h"

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
  return found.empty() && !isGlob(nameOrGlob) ? tensorsEndingWith(graph, nameOrGlob) : found;
}

std::string ambiguousName(std::string_view name, std::vector<std::string> candidates) {
  constexpr std::size_t kShown = 5;
  const std::size_t all = candidates.size();
  if (all > kShown) candidates.resize(kShown);
  return "'" + std::string(name) + "' may mean " + join(candidates, ", ") +
         (all > kShown ? " or " + std::to_string(all - kShown) + " more" : "") + "; give more of the name";
}

}  // namespace msdbg::core
