// GraphPresenter: what the graph panel shows of a document: which scopes are open and where everything lies,
// the health of the nodes at the cursor, hits, the selection, a path or the way of an answer. UI thread;
// layout and reading happen on other threads, and their answers come as signals.
#pragma once

#include <QJsonObject>
#include <QObject>
#include <memory>
#include <optional>
#include <unordered_map>

#include "app/presenters/graph/badges.h"
#include "app/presenters/graph/blocks.h"
#include "app/presenters/graph/layout_worker.h"

namespace msdbg::app {

class GraphPresenter : public QObject {
  Q_OBJECT
 public:
  explicit GraphPresenter(GraphMetrics metrics, QObject* parent = nullptr);
  ~GraphPresenter() override;

  /// An opened document; nullptr forgets it.
  void setDocument(Document* document);
  Document* document() const { return m_document; }

  // The picture; nullptr until the first one is laid out.
  const graphview::FoldedGraph* folded() const { return m_folded.get(); }
  std::shared_ptr<const graphview::Placement> placement() const { return m_placement; }

  // Folding. Each lays out anew when something changed; `anchor` of pictureChanged() is the scope.
  void setExpanded(graphview::ScopeId scope, bool expanded);
  void toggle(graphview::ScopeId scope);
  void expandAll(graphview::ScopeId scope);
  void collapseAll();

  // Selection. The current item is where the keyboard is: a selected node, or a scope or input of this panel.
  void choose(graphview::Item item);  // invalid: nothing
  graphview::Item current() const { return m_current; }
  const std::vector<core::NodeId>& selected() const;
  /// The scope that "expand all" means: the current one, else that around the current item, else the root.
  graphview::ScopeId currentScope() const;

  // The path of the first selected node; empty when none is asked for or nothing is selected.
  void setPath(std::optional<graphview::Direction> direction);
  std::optional<graphview::Direction> pathDirection() const { return m_pathDirection; }
  /// What the shown answer goes through, from what was asked for to its cause, instead: by itself when there
  /// is a new one. Nothing where there is none.
  void setWayShown(bool shown);
  bool hasWay() const { return !m_way.empty(); }
  bool wayShown() const { return m_wayShown; }
  const std::vector<bool>& path() const { return m_path; }

  // By node. Hits of any rank and iteration.
  enum class Mark { kHint, kFault, kFirst };
  std::vector<graphview::Health> health() const;
  const std::unordered_map<core::NodeId, Mark>& hits() const { return m_hits; }
  QString problem() const;  // why badges are missing; "" when nothing is
  QString tooltip(graphview::Item item) const;

  bool settled() const;
  QString command() const;
  QJsonObject state() const;
  void restore(const QJsonObject& state);

 signals:
  void pictureChanged(msdbg::graphview::Item anchor);
  void revealAsked(msdbg::graphview::Item item);  // bring it into sight
  void selectionChanged();
  void pathChanged();  // path(), or what it is of
  void healthChanged();
  void hitsChanged();

 private:
  void forget();
  void layOut(graphview::Item anchor);
  void takePlacement(std::shared_ptr<const graphview::Placement> placement);
  void followCursor();
  void takeHits();
  void mark(const watch::Hit& hit, Mark mark);
  void takeWay();
  void computePath();
  void revealSelection();
  QString hitsText(graphview::Item item) const;
  GraphMetrics m_metrics;
  Document* m_document = nullptr;
  std::unique_ptr<graphview::FoldedGraph> m_folded;
  std::shared_ptr<const graphview::Placement> m_placement;
  std::unique_ptr<LayoutWorker> m_worker;
  std::unique_ptr<Badges> m_badges;
  std::unordered_map<core::NodeId, Mark> m_hits;
  graphview::Item m_current, m_anchor;
  bool m_revealDue = false, m_choosing = false;
  std::optional<graphview::Direction> m_pathDirection;
  std::vector<core::NodeId> m_way;
  bool m_wayShown = false;
  std::vector<bool> m_path;
  std::optional<QJsonObject> m_restored;  // given before there was a document
};

}  // namespace msdbg::app
