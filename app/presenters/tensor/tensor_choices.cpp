#include "app/presenters/tensor/tensor_choices.h"

#include <QStringList>
#include <algorithm>

#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

// The last two parts say enough beside the others of one node.
QString lastParts(const QString& name) {
  const QStringList parts = name.split('/');
  return parts.mid(std::max<qsizetype>(parts.size() - 2, 0)).join('/');
}

class Choices {
 public:
  explicit Choices(const core::Graph& graph) : m_graph(graph) {}

  void add(core::TensorId id) {
    if (!id.valid() || std::ranges::find(m_choices, id, &TensorChoice::tensor) != m_choices.end()) return;
    const core::TensorInfo& info = m_graph.tensor(id);
    const std::string_view role = core::roleName(info.role);
    m_choices.push_back(
        {id,
         shortTensorName(info) + " · " + QString::fromUtf8(role.data(), static_cast<qsizetype>(role.size())),
         text(replay::tensorName(info) + "\n" + replay::typeText(info))});
  }
  void addGradients() {
    const std::vector<TensorChoice> known = m_choices;
    for (const core::TensorInfo& info : m_graph.tensors())
      if (info.gradientOf.valid() &&
          std::ranges::find(known, info.gradientOf, &TensorChoice::tensor) != known.end())
        add(info.id);
  }
  std::vector<TensorChoice> take() { return std::move(m_choices); }

 private:
  const core::Graph& m_graph;
  std::vector<TensorChoice> m_choices;
};

}  // namespace

QString shortTensorName(const core::TensorInfo& tensor) {
  if (tensor.alias.empty()) return lastParts(text(replay::tensorName(tensor)));
  const QString alias = text(tensor.alias);
  const qsizetype open = alias.indexOf('(');  // grad(network/conv1/weight) -> grad(conv1/weight)
  if (open < 0) return lastParts(alias);
  return alias.left(open + 1) + lastParts(alias.mid(open + 1));
}

std::vector<TensorChoice> tensorChoices(const core::Graph& graph, const Place& place) {
  Choices choices(graph);
  choices.add(place.tensor);
  if (!place.nodes.empty()) {
    const core::Node& node = graph.node(place.nodes.front());
    for (const core::TensorId id : node.outputs) choices.add(id);
    for (const core::TensorId id : node.inputs) choices.add(id);
    choices.addGradients();
  }
  return choices.take();
}

QStringList tensorNames(const core::Graph& graph) {
  QStringList names;
  for (const core::TensorInfo& info : graph.tensors()) {
    names << text(replay::tensorName(info));
    if (!info.alias.empty()) names << text(info.alias);
  }
  return names;
}

}  // namespace msdbg::app
