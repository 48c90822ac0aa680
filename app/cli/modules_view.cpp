#include "app/cli/modules_view.h"

#include <fmt/format.h>

#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/modules.h"

namespace msdbg::app {
namespace {

using replay::groupedNumber;

std::string dtypesText(const replay::Module& module) {
  std::vector<std::string> names;
  for (const core::DType dtype : module.dtypes) names.emplace_back(core::dtypeName(dtype));
  return core::join(names, ", ");
}

std::string elementsText(const core::Shape& shape) {
  return shape.known() ? groupedNumber(shape.elements()) : "?";
}

std::string indented(int depth, const std::string& text) {
  return std::string(static_cast<std::size_t>(2 * depth), ' ') + text;
}

class ModuleTable {
 public:
  explicit ModuleTable(const core::Graph& graph) : m_graph(graph), m_tree(graph) {
    for (const int root : m_tree.roots()) add(root, 0);
  }

  std::string text() const {
    if (m_tree.modules().empty()) return "no modules: nothing is known of scopes or parameters\n";
    std::int64_t trainable = 0, others = 0;
    for (const int root : m_tree.roots()) {
      trainable += m_tree.at(root).trainable;
      others += m_tree.at(root).others;
    }
    return m_table.text() +
           fmt::format("{}, {} trainable elements, {} others (frozen, buffers)\n",
                       replay::counted(static_cast<std::int64_t>(m_tree.modules().size()), "module"),
                       groupedNumber(trainable), groupedNumber(others));
  }

 private:
  void add(int id, int depth) {
    const replay::Module& module = m_tree.at(id);
    m_table.row({indented(depth, module.name), module.className,
                 module.dtypes.empty() ? "" : groupedNumber(module.trainable + module.others),
                 dtypesText(module), core::join(module.devices, ", ")});
    for (const core::TensorId parameter : module.parameters) {
      const core::TensorInfo& tensor = m_graph.tensor(parameter);
      m_table.row({indented(depth + 1, tensor.name.substr(module.path.size() + 1)),
                   tensor.trainable ? "" : "not trained", elementsText(tensor.shape),
                   replay::typeText(tensor), tensor.device});
    }
    for (const int child : module.children) add(child, depth + 1);
  }

  const core::Graph& m_graph;
  const replay::ModuleTree m_tree;
  Table m_table{{"module", "class", ">elements", "type", "device"}};
};

Json parameterJson(const core::TensorInfo& tensor) {
  return {{"name", tensor.name},
          {"dtype", core::dtypeName(tensor.dtype)},
          {"shape", shapeJson(tensor.shape)},
          {"elements", tensor.shape.known() ? Json(tensor.shape.elements()) : Json()},
          {"trainable", tensor.trainable},
          {"device", textOrNull(tensor.device)}};
}

}  // namespace

Json modulesJson(const core::Graph& graph) {
  const replay::ModuleTree tree(graph);
  Json list = Json::array();
  for (const replay::Module& module : tree.modules()) {
    Json parameters = Json::array();
    for (const core::TensorId parameter : module.parameters)
      parameters.push_back(parameterJson(graph.tensor(parameter)));
    list.push_back({{"path", module.path},
                    {"class", textOrNull(module.className)},
                    {"trainable", module.trainable},
                    {"others", module.others},
                    {"operators", module.nodes.size()},
                    {"parameters", std::move(parameters)}});
  }
  return list;
}

std::string modulesText(const core::Graph& graph) { return ModuleTable(graph).text(); }

}  // namespace msdbg::app
