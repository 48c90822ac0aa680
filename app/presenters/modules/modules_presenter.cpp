#include "app/presenters/modules/modules_presenter.h"

#include "replay/describe.h"

namespace msdbg::app {

ModulesPresenter::ModulesPresenter(Document& document, QObject* parent)
    : QObject(parent), m_document(document), m_model(document.sharedFacts()->graph) {
  connect(&document.cursor(), &Cursor::selectionChanged, this, &ModulesPresenter::selectionChanged);
  connect(&document.findings(), &Findings::changed, this, &ModulesPresenter::mark);
  mark();
}

QString ModulesPresenter::summary() const {
  std::int64_t trainable = 0, others = 0;
  for (const int root : m_model.tree().roots()) {
    trainable += m_model.tree().at(root).trainable;
    others += m_model.tree().at(root).others;
  }
  const auto modules = static_cast<std::int64_t>(m_model.tree().modules().size());
  return tr("%1, %2 trainable elements, %3 others")
      .arg(QString::fromStdString(replay::counted(modules, "module")),
           QString::fromStdString(replay::groupedNumber(trainable)),
           QString::fromStdString(replay::groupedNumber(others)));
}

// A module is marked by what is wrong in it and below.
void ModulesPresenter::mark() {
  const Findings& findings = m_document.findings();
  if (m_markedReport == findings.reportNumber()) return;
  m_markedReport = findings.reportNumber();
  std::vector<ModuleMarks> ofModules(m_model.tree().modules().size());
  std::map<core::TensorId, ModuleMarks> ofParameters;
  // Everything around the hit: the parameter that it is of, its module, and what that is in.
  const auto around = [&](const watch::Hit& hit, const auto& change) {
    if (hit.tensor.valid() && m_model.indexOf(hit.tensor).isValid()) change(ofParameters[hit.tensor]);
    int module = hit.node.valid() ? m_model.tree().of(hit.node) : m_model.tree().of(hit.tensor);
    for (; module >= 0; module = m_model.tree().at(module).parent)
      change(ofModules[static_cast<std::size_t>(module)]);
  };
  for (const watch::Hit& hit : findings.hits()) {
    const bool fault = hit.effectiveSeverity == watch::Severity::kFault;
    around(hit, [fault](ModuleMarks& marks) { ++(fault ? marks.faults : marks.hints); });
  }
  if (findings.report() && findings.report()->first)
    around(*findings.report()->first, [](ModuleMarks& marks) { marks.first = true; });
  m_model.setMarks(std::move(ofModules), std::move(ofParameters));
}

Place ModulesPresenter::placeOf(const QModelIndex& row) const {
  const core::TensorId parameter = m_model.parameterOf(row);
  Place place = m_document.cursor().place();
  if (parameter.valid()) return withTensor(m_document.graph(), std::move(place), parameter);
  return withNodes(m_document.graph(), std::move(place), m_model.tree().nodesBelow(m_model.moduleOf(row)));
}

void ModulesPresenter::select(const QModelIndex& row) {
  if (!row.isValid()) return;
  Place place = placeOf(row);
  m_chosen = m_model.parameterOf(row).valid() ? -1 : m_model.moduleOf(row);
  m_chosenNodes = place.nodes;
  m_document.cursor().moveTo(std::move(place));
}

QModelIndex ModulesPresenter::currentRow() const {
  const Place& place = m_document.cursor().place();
  if (m_chosen >= 0 && place.nodes == m_chosenNodes) return m_model.indexOf(m_chosen);
  if (const QModelIndex row = m_model.indexOf(place.tensor); row.isValid()) return row;
  if (!place.nodes.empty()) return m_model.indexOf(m_model.tree().of(place.nodes.front()));
  return m_model.indexOf(m_model.tree().of(place.tensor));
}

}  // namespace msdbg::app
