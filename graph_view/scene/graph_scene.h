// GraphScene: the picture of a FoldedGraph: boxes, edges and kernels where a Placement puts them, and their
// state: health, hits, selection, path. It decides nothing: the panel tells it. UI thread.
#pragma once

#include <QGraphicsScene>
#include <deque>
#include <memory>
#include <unordered_map>

#include "graph_view/scene/edge_item.h"

namespace msdbg::graphview {

class GraphScene : public QGraphicsScene {
  Q_OBJECT
 public:
  GraphScene(const QPalette& palette, const QFont& font, QObject* parent = nullptr);

  const Drawing& drawing() const { return m_drawing; }
  void setPalette(const QPalette& palette);
  /// Replaces the picture; keeps the states. `folded` must outlive it; nullptr: nothing. Places are known at
  /// once (rectOf, picture); the items of a large picture come in slices of a few milliseconds.
  void setPicture(const FoldedGraph* folded, std::shared_ptr<const Placement> placement);

  bool filling() const { return !m_todo.empty(); }  // items are still to come
  void fillAll();                                   // without slices

  // States; by node. They hold for pictures shown later, too.
  void setHealth(std::vector<Health> byNode);
  void setHits(std::unordered_map<core::NodeId, HitMark> hits);
  void setSelection(std::vector<core::NodeId> nodes, Item current);
  void setPath(std::vector<bool> nodes);  // what is not on it is dimmed; empty: nothing is dimmed

  const BoxItem* box(Item item) const;          // nullptr: not in the picture
  QRectF picture() const { return m_picture; }  // what all boxes and edges cover
  QRectF rectOf(Item item) const;               // null: not in the picture
  Item itemAt(const QPointF& at, bool* onButton = nullptr) const;
  QString tooltipAt(const QPointF& at) const;  // of the edge on top there; "": none
  /// Where an arrow key leads from an item: along an edge where one goes that way, else to the nearest box.
  Item neighbour(Item item, int key) const;
  std::vector<const BoxItem*> boxes() const;
  std::vector<const EdgeItem*> edges() const { return {m_edges.begin(), m_edges.end()}; }
  std::vector<const KernelItem*> kernels() const { return {m_kernels.begin(), m_kernels.end()}; }

 private:
  // A scope whose items are to come: its boxes, then its edges, its kernels at last.
  struct Block {
    ScopeId scope;
    const Placement* placement;
    QPointF origin;
    std::size_t next = 0;
  };
  void enterBlock(ScopeId scope, const Placement& placement, QPointF origin);
  void fillFor(double milliseconds);
  void addNext(Block& block);
  void addBox(Item item, const QRectF& rect, bool open);
  void addEdge(const Block& block, std::size_t index);
  void addKernels(ScopeId scope, const Placement& placement, QPointF origin);
  void refreshStates();
  BoxItem::State stateOf(const BoxItem& box) const;
  EdgeItem::State stateOf(const EdgeItem& edge) const;
  bool onPath(Item item) const;
  Item alongEdge(Item item, int key) const;

  Drawing m_drawing;
  const FoldedGraph* m_folded = nullptr;
  std::shared_ptr<const Placement> m_placement;
  std::deque<Block> m_todo;
  std::unordered_map<Item, QRectF> m_rects;
  std::unordered_map<Item, BoxItem*> m_boxes;
  std::vector<EdgeItem*> m_edges;
  std::vector<KernelItem*> m_kernels;
  QRectF m_picture;
  std::vector<Health> m_health, m_scopeHealth;
  std::unordered_map<core::NodeId, HitMark> m_hits;
  std::vector<HitMark> m_scopeHit;
  std::vector<bool> m_nodeSelected, m_scopeSelected, m_path, m_scopeOnPath;
  std::vector<core::NodeId> m_selection;
  Item m_current;
};

}  // namespace msdbg::graphview
