#include "app/presenters/modules/module_model.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

std::string dtypesText(const replay::Module& module) {
  std::vector<std::string> names;
  for (const core::DType dtype : module.dtypes) names.emplace_back(core::dtypeName(dtype));
  return core::join(names, ", ");
}

QString countsText(const ModuleMarks& marks) {
  QStringList parts;
  if (marks.faults > 0) parts << text(replay::counted(marks.faults, "fault"));
  if (marks.hints > 0) parts << text(replay::counted(marks.hints, "hint"));
  if (marks.first) parts << QStringLiteral("what went wrong first");
  return parts.join(QStringLiteral(", "));
}

QString elementsText(const replay::Module& module) {
  return text(replay::groupedNumber(module.trainable + module.others));
}

}  // namespace

ModuleModel::ModuleModel(std::shared_ptr<const core::Graph> graph, QObject* parent)
    : QAbstractItemModel(parent), m_graph(std::move(graph)), m_tree(*m_graph) {
  m_ofModule.resize(m_tree.modules().size(), -1);
  for (const int module : m_tree.roots()) m_top.push_back(add(module, -1));
  for (const replay::Module& module : m_tree.modules()) {
    m_anyDevice |= !module.devices.empty();
    m_anyClass |= !module.className.empty();
  }
}

int ModuleModel::addRow(Row row) {
  const int id = static_cast<int>(m_rows.size());
  if (row.parent >= 0) {
    std::vector<int>& siblings = m_rows[static_cast<std::size_t>(row.parent)].children;
    row.place = static_cast<int>(siblings.size());
    siblings.push_back(id);
  } else {
    row.place = static_cast<int>(m_top.size());
  }
  m_rows.push_back(std::move(row));
  return id;
}

int ModuleModel::add(int module, int parent) {
  const int id = addRow({.module = module, .parent = parent});
  m_ofModule[static_cast<std::size_t>(module)] = id;
  for (const core::TensorId parameter : m_tree.at(module).parameters)
    m_ofParameter[parameter] = addRow({.module = module, .parameter = parameter, .parent = id});
  for (const int child : m_tree.at(module).children) add(child, id);
  return id;
}

const std::vector<int>& ModuleModel::childrenOf(const QModelIndex& parent) const {
  return parent.isValid() ? rowOf(parent).children : m_top;
}

int ModuleModel::moduleOf(const QModelIndex& index) const {
  return index.isValid() ? rowOf(index).module : -1;
}

core::TensorId ModuleModel::parameterOf(const QModelIndex& index) const {
  return index.isValid() ? rowOf(index).parameter : core::TensorId();
}

QModelIndex ModuleModel::indexOf(int module) const {
  if (module < 0) return {};
  const int row = m_ofModule[static_cast<std::size_t>(module)];
  return createIndex(m_rows[static_cast<std::size_t>(row)].place, 0, static_cast<quintptr>(row));
}

QModelIndex ModuleModel::indexOf(core::TensorId parameter) const {
  const auto found = m_ofParameter.find(parameter);
  if (found == m_ofParameter.end()) return {};
  return createIndex(m_rows[static_cast<std::size_t>(found->second)].place, 0,
                     static_cast<quintptr>(found->second));
}

void ModuleModel::setMarks(std::vector<ModuleMarks> ofModules,
                           std::map<core::TensorId, ModuleMarks> ofParameters) {
  if (ofModules == m_moduleMarks && ofParameters == m_parameterMarks) return;
  m_moduleMarks = std::move(ofModules);
  m_parameterMarks = std::move(ofParameters);
  for (std::size_t row = 0; row < m_rows.size(); ++row) {
    const QModelIndex changed = createIndex(m_rows[row].place, kName, row);
    emit dataChanged(changed, changed);
  }
}

ModuleMarks ModuleModel::marksOf(const Row& row) const {
  if (row.parameter.valid()) {
    const auto found = m_parameterMarks.find(row.parameter);
    return found == m_parameterMarks.end() ? ModuleMarks() : found->second;
  }
  const auto module = static_cast<std::size_t>(row.module);
  return module < m_moduleMarks.size() ? m_moduleMarks[module] : ModuleMarks();
}

QModelIndex ModuleModel::index(int row, int column, const QModelIndex& parent) const {
  const std::vector<int>& children = childrenOf(parent);
  if (row < 0 || column < 0 || column >= kColumns || row >= static_cast<int>(children.size())) return {};
  return createIndex(row, column, static_cast<quintptr>(children[static_cast<std::size_t>(row)]));
}

QModelIndex ModuleModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || rowOf(index).parent < 0) return {};
  const int parent = rowOf(index).parent;
  return createIndex(m_rows[static_cast<std::size_t>(parent)].place, 0, static_cast<quintptr>(parent));
}

int ModuleModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(childrenOf(parent).size());
}

int ModuleModel::columnCount(const QModelIndex&) const { return kColumns; }

QString ModuleModel::text(const Row& row, int column) const {
  const replay::Module& module = m_tree.at(row.module);
  const core::TensorInfo* tensor = row.parameter.valid() ? &m_graph->tensor(row.parameter) : nullptr;
  switch (column) {
    case kName:
      return app::text(tensor ? tensor->name.substr(module.path.size() + 1) : module.name);
    case kClass:
      return tensor ? QString() : app::text(module.className);
    case kElements:
      if (!tensor) return module.dtypes.empty() ? QString() : elementsText(module);
      return tensor->shape.known() ? app::text(replay::groupedNumber(tensor->shape.elements()))
                                   : QStringLiteral("?");
    case kType:
      return app::text(tensor ? replay::typeText(*tensor) : dtypesText(module));
    case kDevice:
      return app::text(tensor ? tensor->device : core::join(module.devices, ", "));
    default:
      return {};
  }
}

QString ModuleModel::toolTip(const Row& row) const {
  const replay::Module& module = m_tree.at(row.module);
  QStringList lines;
  if (row.parameter.valid()) {
    const core::TensorInfo& tensor = m_graph->tensor(row.parameter);
    lines << app::text(tensor.name)
          << app::text(replay::typeText(tensor)) +
                 (tensor.device.empty() ? QString() : QStringLiteral(" on ") + app::text(tensor.device))
          << (tensor.trainable ? tr("trainable") : tr("not trained: frozen, or a buffer"));
  } else {
    lines << app::text(module.path) + (module.className.empty()
                                           ? QString()
                                           : QStringLiteral("  (") + app::text(module.className) + ')');
    if (!module.dtypes.empty())
      lines << tr("%1 trainable elements, %2 others")
                   .arg(app::text(replay::groupedNumber(module.trainable)),
                        app::text(replay::groupedNumber(module.others)));
    if (!module.nodes.empty())
      lines << app::text(replay::counted(static_cast<std::int64_t>(module.nodes.size()), "operator")) +
                   tr(" of its own");
  }
  if (const QString found = countsText(marksOf(row)); !found.isEmpty()) lines << found;
  return lines.join('\n');
}

QVariant ModuleModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Row& row = rowOf(index);
  const ModuleMarks marks = marksOf(row);
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column());
    case Qt::ToolTipRole:
      return toolTip(row);
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignVCenter | (index.column() == kElements ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::AccessibleDescriptionRole:
      return countsText(marks);
    case kMarkRole:
      return marks.first ? 3 : marks.faults > 0 ? 2 : marks.hints > 0 ? 1 : 0;
    case kSearchRole:
      return app::text(row.parameter.valid() ? m_graph->tensor(row.parameter).name
                                             : m_tree.at(row.module).path) +
             ' ' + text(row, kClass) + ' ' + text(row, kType) + ' ' + text(row, kDevice);
    case kIsModuleRole:
      return !row.parameter.valid();
    default:
      return {};
  }
}

QVariant ModuleModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  static const char* const kTitles[] = {"Module", "Class", "Elements", "Type", "Device"};
  if (role == Qt::DisplayRole) return QString::fromLatin1(kTitles[section]);
  if (role == Qt::TextAlignmentRole && section == kElements)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole && section == kElements)
    return tr("of parameters and buffers, of a module with all that is in it");
  return {};
}

ModuleFilter::ModuleFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setRecursiveFilteringEnabled(true);
  setAutoAcceptChildRows(true);
}

void ModuleFilter::setText(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  if (words == m_words) return;
  m_words = words;
  invalidateFilter();
}

bool ModuleFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  return hasWords(sourceModel()->index(row, 0, parent));
}

bool ModuleFilter::hasWords(const QModelIndex& source) const {
  const QString all = source.data(ModuleModel::kSearchRole).toString();
  return std::ranges::all_of(m_words,
                             [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

}  // namespace msdbg::app
