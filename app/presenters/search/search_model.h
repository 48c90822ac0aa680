// SearchModel: nodes as a table: name, type, phase, shape of the output, line. UI thread only.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::app {

class SearchModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kNode, kType, kPhase, kOutput, kLine, kColumns };
  enum Role {
    kPhaseRole = Qt::UserRole,  // core::Phase as int
    kBriefRole                  // the name without the scopes that all rows have in common
  };

  explicit SearchModel(std::shared_ptr<const core::Graph> graph, QObject* parent = nullptr);

  void setNodes(std::vector<core::NodeId> nodes);
  const std::vector<core::NodeId>& nodes() const { return m_nodes; }
  int rowOf(core::NodeId node) const;  // -1: not among them

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::shared_ptr<const core::Graph> m_graph;
  std::vector<core::NodeId> m_nodes;
  std::size_t m_shared = 0;  // characters at the beginning of every name
};

}  // namespace msdbg::app
