// ModuleModel: the modules of a run as a tree: below a module its own parameters, then the modules in it. UI
// thread only.
#pragma once

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>
#include <map>
#include <memory>
#include <vector>

#include "replay/modules.h"

namespace msdbg::app {

/// What was found in a module and below, or of a parameter.
struct ModuleMarks {
  std::int64_t faults = 0, hints = 0;
  bool first = false;  // what went wrong first of all is among them
  bool operator==(const ModuleMarks&) const = default;
};

class ModuleModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column { kName, kClass, kElements, kType, kDevice, kColumns };
  enum Role {
    kMarkRole = Qt::UserRole,  // 0: nothing was found, 1: hints, 2: faults, 3: the first of all
    kSearchRole,               // all that the filter looks at
    kIsModuleRole
  };

  explicit ModuleModel(std::shared_ptr<const core::Graph> graph, QObject* parent = nullptr);

  const replay::ModuleTree& tree() const { return m_tree; }
  bool anyDevice() const { return m_anyDevice; }
  bool anyClass() const { return m_anyClass; }
  int size() const { return static_cast<int>(m_rows.size()); }  // rows in all

  /// -1 where the row is none such.
  int moduleOf(const QModelIndex& index) const;                // the one that it is, or whose parameter it is
  core::TensorId parameterOf(const QModelIndex& index) const;  // invalid: it is a module
  QModelIndex indexOf(int module) const;
  QModelIndex indexOf(core::TensorId parameter) const;
  /// By module, and of parameters; those that are not there have none.
  void setMarks(std::vector<ModuleMarks> ofModules, std::map<core::TensorId, ModuleMarks> ofParameters);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    int module = -1;
    core::TensorId parameter = {};  // invalid: the module itself
    int parent = -1, place = 0;
    std::vector<int> children = {};
  };
  int add(int module, int parent);
  int addRow(Row row);
  const Row& rowOf(const QModelIndex& index) const { return m_rows[index.internalId()]; }
  const std::vector<int>& childrenOf(const QModelIndex& parent) const;
  QString text(const Row& row, int column) const;
  QString toolTip(const Row& row) const;
  ModuleMarks marksOf(const Row& row) const;

  std::shared_ptr<const core::Graph> m_graph;
  replay::ModuleTree m_tree;
  std::vector<Row> m_rows;
  std::vector<int> m_top, m_ofModule;
  std::map<core::TensorId, int> m_ofParameter;
  std::vector<ModuleMarks> m_moduleMarks;
  std::map<core::TensorId, ModuleMarks> m_parameterMarks;
  bool m_anyDevice = false, m_anyClass = false;
};

/// Rows that hold all words of a text, what is around them, and what is in them.
class ModuleFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit ModuleFilter(QObject* parent = nullptr);
  void setText(const QString& text);
  bool empty() const { return m_words.isEmpty(); }
  /// The row itself has all words.
  bool holds(const QModelIndex& index) const { return hasWords(mapToSource(index)); }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  bool hasWords(const QModelIndex& source) const;
  QStringList m_words;
};

}  // namespace msdbg::app
