#include "app/presenters/search/search_model.h"

#include <algorithm>

#include "core_engine/graph/graph_text.h"
#include "graph_view/model/box_text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString cell(const core::Graph& graph, const core::Node& node, int column) {
  switch (column) {
    case SearchModel::kNode:
      return QString::fromStdString(node.name);
    case SearchModel::kType:
      return QString::fromStdString(core::qualifiedType(node));
    case SearchModel::kPhase:
      return QString::fromStdString(std::string(core::phaseName(node.phase)));
    case SearchModel::kOutput:
      return node.outputs.empty()
                 ? QString()
                 : QString::fromStdString(replay::typeText(graph.tensor(node.outputs.front())));
    default:
      return QString::fromStdString(replay::placeOf(graph.userFrame(node.frames)));
  }
}

QString toolTip(const core::Graph& graph, const core::Node& node) {
  const core::Frame* frame = graph.userFrame(node.frames);
  return QString::fromStdString(node.name + (frame ? "\n" + replay::sourceLine(frame) : std::string()));
}

}  // namespace

SearchModel::SearchModel(std::shared_ptr<const core::Graph> graph, QObject* parent)
    : QAbstractTableModel(parent), m_graph(std::move(graph)) {}

void SearchModel::setNodes(std::vector<core::NodeId> nodes) {
  if (nodes == m_nodes) return;
  beginResetModel();
  m_nodes = std::move(nodes);
  std::vector<std::string> names;
  for (const core::NodeId node : m_nodes) names.push_back(m_graph->node(node).name);
  m_shared = graphview::sharedScope(names);
  endResetModel();
}

int SearchModel::rowOf(core::NodeId node) const {
  const auto found = std::ranges::find(m_nodes, node);
  return found == m_nodes.end() ? -1 : static_cast<int>(found - m_nodes.begin());
}

int SearchModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_nodes.size());
}

int SearchModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant SearchModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const core::Node& node = m_graph->node(m_nodes[static_cast<std::size_t>(index.row())]);
  if (role == Qt::DisplayRole) return cell(*m_graph, node, index.column());
  if (role == Qt::ToolTipRole) return toolTip(*m_graph, node);
  if (role == kBriefRole) {
    const std::string brief = node.name.substr(m_shared);
    return (m_shared > 0 ? QStringLiteral("\u2026/") : QString()) + QString::fromStdString(brief);
  }
  if (role == kPhaseRole) return static_cast<int>(node.phase);
  return {};
}

QVariant SearchModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const kTitles[] = {"Node", "Type", "Phase", "Output", "Line"};
  return section >= 0 && section < kColumns ? QVariant(QString(kTitles[section])) : QVariant();
}

}  // namespace msdbg::app
