#include "app/presenters/graph/graph_presenter.h"

#include <QJsonArray>
#include <algorithm>

#include "app/presenters/answer/questions.h"
#include "app/presenters/findings/finding_text.h"

namespace msdbg::app {

using graphview::Item;
using graphview::ScopeId;

namespace {

constexpr int kMostHitsListed = 4;

}  // namespace

GraphPresenter::GraphPresenter(GraphMetrics metrics, QObject* parent)
    : QObject(parent), m_metrics(std::move(metrics)) {}

GraphPresenter::~GraphPresenter() = default;

void GraphPresenter::forget() {
  if (m_document) {
    m_document->cursor().disconnect(this);
    m_document->findings().disconnect(this);
    m_document->questions().disconnect(this);
  }
  m_document = nullptr;
  m_worker.reset(), m_badges.reset();
  m_placement.reset(), m_folded.reset();
  m_hits.clear(), m_path.clear(), m_way.clear();
  m_wayShown = false;
  m_current = m_anchor = {};
  m_revealDue = false;
}

void GraphPresenter::setDocument(Document* document) {
  if (document == m_document) return;
  // Views let go of the old graph before it is gone.
  const auto old = std::move(m_folded);
  forget();
  emit pictureChanged({});
  m_document = document;
  if (!document) return;
  m_folded = std::make_unique<graphview::FoldedGraph>(document->sharedFacts()->graph);
  m_folded->expandInitially();
  m_worker = std::make_unique<LayoutWorker>();
  connect(m_worker.get(), &LayoutWorker::done, this, &GraphPresenter::takePlacement);
  m_badges = std::make_unique<Badges>(*document);
  connect(m_badges.get(), &Badges::changed, this, &GraphPresenter::healthChanged);
  connect(&document->cursor(), &Cursor::selectionChanged, this, &GraphPresenter::followCursor);
  connect(&document->findings(), &Findings::changed, this, &GraphPresenter::takeHits);
  connect(&document->questions(), &Questions::changed, this, &GraphPresenter::takeWay);
  m_badges->refresh();
  takeHits();
  takeWay();
  if (m_restored) restore(*std::exchange(m_restored, std::nullopt));
  layOut({});
  if (!selected().empty()) followCursor();
}

void GraphPresenter::layOut(Item anchor) {
  m_anchor = anchor;
  m_worker->request(blockOf(*m_folded, m_metrics));
}

void GraphPresenter::takePlacement(std::shared_ptr<const graphview::Placement> placement) {
  m_placement = std::move(placement);
  emit pictureChanged(std::exchange(m_anchor, Item()));
  if (std::exchange(m_revealDue, false)) revealSelection();
}

void GraphPresenter::setExpanded(ScopeId scope, bool expanded) {
  if (!m_folded || !m_folded->setExpanded(scope, expanded)) return;
  // The keyboard does not stay inside what was folded away.
  if (!expanded && m_current.isCopy()) m_current = m_current.original();
  if (!expanded && m_current.valid() && !m_folded->isVisible(m_current)) {
    m_current = Item::of(scope);
    emit selectionChanged();
  }
  layOut(Item::of(scope));
}

void GraphPresenter::toggle(ScopeId scope) {
  if (m_folded && scope.valid()) setExpanded(scope, !m_folded->isExpanded(scope));
}

void GraphPresenter::expandAll(ScopeId scope) {
  if (m_folded && m_folded->expandAll(scope)) layOut(Item::of(scope));
}

void GraphPresenter::collapseAll() {
  if (!m_folded || !m_folded->collapseAll(m_folded->root())) return;
  layOut({});
}

const std::vector<core::NodeId>& GraphPresenter::selected() const {
  static const std::vector<core::NodeId> kNone;
  return m_document ? m_document->cursor().place().nodes : kNone;
}

ScopeId GraphPresenter::currentScope() const {
  if (!m_folded) return {};
  if (m_current.isScope()) return m_current.scope();
  const ScopeId around = m_current.valid() ? m_folded->scopeOf(m_current) : ScopeId();
  return around.valid() ? around : m_folded->root();
}

void GraphPresenter::choose(Item item) {
  if (!m_document || !m_folded) return;
  m_current = item;
  m_choosing = true;
  if (item.isNode()) m_document->cursor().selectNode(item.node());
  if (item.isInput()) m_document->cursor().selectTensor(item.input());
  if (!item.valid()) m_document->cursor().clearSelection();
  m_choosing = false;
  if (m_pathDirection) computePath();
  emit selectionChanged();
}

// Somebody else selected: the scopes around the first node open, and it comes into sight. When many nodes are
// selected the others are marked on the scopes that hold them.
void GraphPresenter::followCursor() {
  if (m_choosing) return;
  const auto& nodes = selected();
  m_current = nodes.empty() ? Item() : Item::of(nodes.front());
  if (m_pathDirection) computePath();
  emit selectionChanged();
  if (nodes.empty()) return;
  const bool opened = m_folded->expandTo(m_current);
  m_revealDue = true;
  if (opened) {
    layOut({});
  } else if (m_placement && !m_worker->busy()) {
    m_revealDue = false;
    revealSelection();
  }
}

void GraphPresenter::revealSelection() {
  if (!selected().empty()) emit revealAsked(m_folded->visible(selected().front()));
}

void GraphPresenter::setPath(std::optional<graphview::Direction> direction) {
  m_pathDirection = direction;
  if (direction) m_wayShown = false;
  computePath();
}

void GraphPresenter::setWayShown(bool shown) {
  m_wayShown = shown && hasWay();
  if (m_wayShown) m_pathDirection.reset();
  computePath();
}

void GraphPresenter::takeWay() {
  const Questions::Asked* asked = m_document->questions().shown();
  std::vector<core::NodeId> way = asked ? asked->way : std::vector<core::NodeId>();
  if (way == m_way) return;
  m_way = std::move(way);
  setWayShown(hasWay());
}

void GraphPresenter::computePath() {
  m_path.clear();
  if (m_pathDirection && !selected().empty())
    m_path = graphview::pathOf(m_folded->graph(), selected().front(), *m_pathDirection);
  if (m_wayShown) m_path.resize(m_folded->graph().nodes().size());
  for (const core::NodeId node : m_wayShown ? m_way : std::vector<core::NodeId>())
    m_path[node.index()] = true;
  emit pathChanged();
}

std::vector<graphview::Health> GraphPresenter::health() const {
  return m_badges && m_badges->current() ? m_badges->current()->nodes : std::vector<graphview::Health>();
}

QString GraphPresenter::problem() const {
  return m_badges && m_badges->current() ? m_badges->current()->problem : QString();
}

// A hit of a source (a parameter, a batch) is marked where the tensor is read.
void GraphPresenter::mark(const watch::Hit& hit, Mark mark) {
  std::vector<core::NodeId> nodes = {hit.node};
  if (!hit.node.valid())
    nodes = hit.tensor.valid() ? m_document->graph().consumers(hit.tensor) : std::vector<core::NodeId>();
  for (const core::NodeId node : nodes) {
    Mark& known = m_hits.try_emplace(node, mark).first->second;
    known = std::max(known, mark);
  }
}

void GraphPresenter::takeHits() {
  m_hits.clear();
  for (const watch::Hit& hit : m_document->findings().hits())
    mark(hit, hit.effectiveSeverity == watch::Severity::kFault ? Mark::kFault : Mark::kHint);
  const watch::CheckReport* report = m_document->findings().report();
  if (report && report->first) mark(*report->first, Mark::kFirst);
  emit hitsChanged();
}

QString GraphPresenter::tooltip(Item item) const {
  if (!m_folded || !item.valid()) return {};
  QString text = QString::fromStdString(graphview::tooltip(*m_folded, item));
  if (item.isNode() && m_badges && m_badges->current()) {
    const BadgeSet& badges = *m_badges->current();
    text += QStringLiteral("\niteration %1, rank %2: %3")
                .arg(m_document->facts().iterationText(badges.iteration))
                .arg(badges.rank.value)
                .arg(QLatin1String(graphview::healthName(badges.nodes[item.node().index()])));
  }
  return text + hitsText(item);
}

QString GraphPresenter::hitsText(Item item) const {
  QString text;
  int more = 0, listed = 0;
  for (const watch::Hit& hit : m_document->findings().hits()) {
    if (!item.isNode() || hit.node != item.node()) continue;
    if (listed++ >= kMostHitsListed) {
      ++more;
      continue;
    }
    text += QStringLiteral("\nhit: %1, iteration %2, rank %3")
                .arg(titleOf(hit))
                .arg(m_document->facts().iterationText(hit.iteration))
                .arg(hit.rank.value);
  }
  return more > 0 ? text + QStringLiteral("\nand %1 hits more").arg(more) : text;
}

bool GraphPresenter::settled() const {
  return !m_document || (!m_worker->busy() && m_placement && !m_badges->busy());
}

QString GraphPresenter::command() const {
  if (!m_document) return {};
  if (selected().empty()) return QStringLiteral("msdbg info %1").arg(m_document->runArgument());
  const QString name = QString::fromStdString(m_document->graph().node(selected().front()).name);
  return QStringLiteral("msdbg search %1 %2").arg(m_document->runArgument(), shellQuoted(name));
}

QJsonObject GraphPresenter::state() const {
  if (!m_folded) return m_restored.value_or(QJsonObject());
  QJsonArray open;
  for (const ScopeId scope : m_folded->expanded())
    open.append(QString::fromStdString(m_folded->scope(scope).path));
  return {{"open", open}};
}

void GraphPresenter::restore(const QJsonObject& state) {
  if (!state.value("open").isArray()) return;
  if (!m_folded) {
    m_restored = state;
    return;
  }
  m_folded->collapseAll(m_folded->root());
  for (const auto& path : state.value("open").toArray())
    m_folded->setExpanded(m_folded->findScope(path.toString().toStdString()), true);
  layOut({});
}

}  // namespace msdbg::app
