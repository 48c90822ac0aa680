#include "app/panels/graph/graph_panel.h"

#include <QAction>
#include <QEvent>
#include <QLabel>
#include <QMenu>
#include <QToolBar>
#include <QVBoxLayout>
#include <cmath>

#include "app/panels/builtin_panels.h"
#include "app/panels/graph/graph_legend.h"
#include "app/panels/graph/icons.h"
#include "app/panels/place_menu.h"

namespace msdbg::app {

using graphview::Direction;
using graphview::HitMark;
using graphview::Item;

namespace {

constexpr int kCorner = 10;

}  // namespace

PanelDef graphPanel() {
  return {.id = "graph",
          .title = "Graph",
          .area = Qt::NoDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_1).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new GraphPanel(parent); },
          .keys = {{"Up, Down", "along the edges"},
                   {"Enter, Space", "expand or collapse the selected scope"},
                   {"+, -", "expand, collapse"},
                   {"F", "the whole graph into view"},
                   {"Home", "the selection into view"},
                   {"Menu", "what can be done with the selection"},
                   {"U, D", "what leads to the selection, what it leads to"},
                   {"W", "the way of the answer to “Why this value?”"},
                   {"Ctrl++, Ctrl+-, Ctrl+0", "larger, smaller, 100 %"}}};
}

GraphPanel::GraphPanel(QWidget* parent)
    : Panel(parent), m_canvas(new graphview::GraphCanvas(this)), m_presenter(metrics()) {
  setObjectName(QStringLiteral("graphPanel"));
  setAccessibleName(tr("Graph"));
  m_canvas->setObjectName(QStringLiteral("graphCanvas"));
  m_canvas->setAccessibleName(tr("Graph of the training"));
  m_canvas->setAccessibleDescription(
      tr("Arrow keys walk along the edges, Enter opens or folds a scope, F fits the picture."));
  m_canvas->viewport()->installEventFilter(this);
  m_canvas->setTooltips([this](Item item) { return m_presenter.tooltip(item); });
  makeToolbar();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_toolbar);
  layout->addWidget(m_canvas, 1);
  m_legend = new GraphLegend(this);
  layout->addWidget(m_legend);
  // Over the viewport, not in it: what is in it moves when it is scrolled.
  m_notice = new QLabel(m_canvas);
  m_notice->setObjectName(QStringLiteral("graphNotice"));
  m_notice->setWordWrap(true);
  m_notice->setTextFormat(Qt::PlainText);
  m_notice->setMargin(8);
  m_notice->setAutoFillBackground(true);
  m_notice->hide();
  m_hint = new QLabel(tr("Open a run to see its graph."), m_canvas);
  m_hint->setObjectName(QStringLiteral("graphHint"));
  m_hint->setAlignment(Qt::AlignCenter);
  m_hint->setWordWrap(true);
  m_hint->setEnabled(false);
  m_hint->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_legend->hide();
  connectCanvas();
  connectPresenter();
  m_toolbar->setEnabled(false);
}

GraphMetrics GraphPanel::metrics() const {
  const graphview::BoxStyle& style = m_canvas->graphScene().drawing().style;
  return {[style](const graphview::BoxText& text, Item::Kind kind) { return style.size(text, kind); },
          [style](const std::string& text) { return style.labelWidth(text); }};
}

QAction* GraphPanel::addTool(GraphIcon icon, const QString& text, const QString& keys, const char* name) {
  auto* action = m_toolbar->addAction(text);
  action->setObjectName(QLatin1String(name));
  action->setToolTip(keys.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, keys));
  m_icons.emplace_back(action, icon);
  return action;
}

void GraphPanel::makeToolbar() {
  m_toolbar = new QToolBar(this);
  m_toolbar->setObjectName(QStringLiteral("graphToolbar"));
  m_toolbar->setAccessibleName(tr("Graph tools"));
  m_toolbar->setIconSize({16, 16});
  m_toolbar->setToolButtonStyle(Qt::ToolButtonIconOnly);
  m_toolbar->setMovable(false);
  const auto tool = [this](GraphIcon icon, const QString& text, const QString& keys, const char* name,
                           auto done) {
    connect(addTool(icon, text, keys, name), &QAction::triggered, this, done);
  };
  tool(GraphIcon::kFit, tr("Fit the whole picture"), tr("F"), "graphFit", [this] { m_canvas->fit(); });
  tool(GraphIcon::kZoomOut, tr("Zoom out"), tr("Ctrl+-"), "graphZoomOut", [this] { m_canvas->zoomBy(0.8); });
  m_zoom = new QLabel(QStringLiteral("100 %"), m_toolbar);
  m_zoom->setObjectName(QStringLiteral("graphZoom"));
  m_zoom->setToolTip(tr("Zoom; Ctrl+0: 100 %"));
  m_zoom->setAlignment(Qt::AlignCenter);
  m_zoom->setFixedWidth(m_zoom->fontMetrics().horizontalAdvance(QStringLiteral("000 %")) + 8);
  m_toolbar->addWidget(m_zoom);
  tool(GraphIcon::kZoomIn, tr("Zoom in"), tr("Ctrl++"), "graphZoomIn", [this] { m_canvas->zoomBy(1.25); });
  m_toolbar->addSeparator();
  tool(GraphIcon::kExpandAll, tr("Open this scope and all inside"), {}, "graphExpandAll",
       [this] { m_presenter.expandAll(m_presenter.currentScope()); });
  tool(GraphIcon::kCollapseAll, tr("Fold everything"), {}, "graphCollapseAll",
       [this] { m_presenter.collapseAll(); });
  m_toolbar->addSeparator();
  m_upstream =
      addTool(GraphIcon::kUpstream, tr("Show only what the selection comes from"), tr("U"), "graphUpstream");
  m_downstream = addTool(GraphIcon::kDownstream, tr("Show only what the selection goes into"), tr("D"),
                         "graphDownstream");
  m_way = addTool(GraphIcon::kWay, tr("Show only the way of the answer to “Why this value?”"), tr("W"),
                  "graphWay");
  for (QAction* path : {m_upstream, m_downstream, m_way}) path->setCheckable(true);
  connect(m_upstream, &QAction::triggered, this, [this] { askPath(Direction::kUpstream); });
  connect(m_downstream, &QAction::triggered, this, [this] { askPath(Direction::kDownstream); });
  connect(m_way, &QAction::triggered, &m_presenter, &GraphPresenter::setWayShown);
  m_toolbar->addSeparator();
  m_showLegend = addTool(GraphIcon::kLegend, tr("Legend"), {}, "graphShowLegend");
  m_showLegend->setCheckable(true);
  m_showLegend->setChecked(true);
  connect(m_showLegend, &QAction::toggled, this, [this] { placeOverlays(); });
  paintIcons();
}

void GraphPanel::paintIcons() {
  for (const auto& [action, icon] : m_icons) action->setIcon(graphIcon(icon, palette()));
}

void GraphPanel::connectCanvas() {
  connect(m_canvas, &graphview::GraphCanvas::itemChosen, &m_presenter, &GraphPresenter::choose);
  connect(m_canvas, &graphview::GraphCanvas::foldAsked, this, [this](Item scope) {
    m_presenter.choose(scope);
    m_presenter.toggle(scope.scope());
  });
  connect(m_canvas, &graphview::GraphCanvas::expandAsked, this,
          [this](Item scope, bool expand) { m_presenter.setExpanded(scope.scope(), expand); });
  connect(m_canvas, &graphview::GraphCanvas::pathAsked, this, &GraphPanel::askPath);
  connect(m_canvas, &graphview::GraphCanvas::wayAsked, this, [this] {
    m_presenter.setWayShown(!m_presenter.wayShown());
    if (!m_presenter.hasWay())
      emit status(tr("Ask “Why this value?” of a cell in the Tensor panel (W) first."));
  });
  connect(m_canvas, &graphview::GraphCanvas::revealAsked, this,
          [this] { m_canvas->reveal(m_presenter.current()); });
  connect(m_canvas, &graphview::GraphCanvas::menuAsked, this, &GraphPanel::showMenu);
  connect(m_canvas, &graphview::GraphCanvas::zoomChanged, this,
          [this](double zoom) { m_zoom->setText(QStringLiteral("%1 %").arg(std::lround(zoom * 100))); });
}

// Of what is under the pointer, which becomes the selection: its neighbours' menus act on the selection too.
void GraphPanel::showMenu(Item item, const QPoint& at) {
  Document* document = m_presenter.document();
  if (!document || !item.valid()) return;
  m_presenter.choose(item);
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName(QStringLiteral("graphMenu"));
  if (item.isScope()) {
    menu->addAction(tr("Expand"), this, [this, item] { m_presenter.setExpanded(item.scope(), true); });
    menu->addAction(tr("Collapse"), this, [this, item] { m_presenter.setExpanded(item.scope(), false); });
    menu->addAction(tr("Expand all inside"), this, [this, item] { m_presenter.expandAll(item.scope()); });
  } else {
    menu->addAction(tr("What leads here"), this, [this] { askPath(Direction::kUpstream); });
    menu->addAction(tr("What it leads to"), this, [this] { askPath(Direction::kDownstream); });
    menu->addSeparator();
    addPlaceActions(*menu, *this, *document, document->cursor().place());
  }
  menu->popup(at);
}

void GraphPanel::connectPresenter() {
  connect(&m_presenter, &GraphPresenter::pictureChanged, this, &GraphPanel::showPicture);
  connect(&m_presenter, &GraphPresenter::revealAsked, this, [this](Item item) { m_canvas->reveal(item); });
  connect(&m_presenter, &GraphPresenter::selectionChanged, this, &GraphPanel::showSelection);
  connect(&m_presenter, &GraphPresenter::pathChanged, this, &GraphPanel::showPath);
  connect(&m_presenter, &GraphPresenter::hitsChanged, this, &GraphPanel::showHits);
  connect(&m_presenter, &GraphPresenter::healthChanged, this, [this] {
    m_canvas->graphScene().setHealth(m_presenter.health());
    showNotice();
  });
}

void GraphPanel::setDocument(Document* document) {
  m_presenter.setDocument(document);
  m_toolbar->setEnabled(document != nullptr);
  m_hint->setVisible(!document);
  placeOverlays();
}

void GraphPanel::showPicture(Item anchor) {
  const bool first = m_canvas->graphScene().picture().isNull();
  m_canvas->setPicture(m_presenter.folded(), m_presenter.placement(), anchor);
  if (first && m_presenter.placement()) {
    m_canvas->graphScene().setHealth(m_presenter.health());
    showHits();
    showPath();
    if (m_restoredZoom) m_canvas->setZoom(*std::exchange(m_restoredZoom, std::nullopt));
  }
  showSelection();
  placeOverlays();
}

void GraphPanel::showSelection() {
  m_canvas->setCurrent(m_presenter.current());
  if (m_presenter.placement())
    m_canvas->graphScene().setSelection(m_presenter.selected(), m_presenter.current());
}

void GraphPanel::showHits() {
  std::unordered_map<core::NodeId, HitMark> marks;
  for (const auto& [node, mark] : m_presenter.hits())
    marks[node] = mark == GraphPresenter::Mark::kFirst   ? HitMark::kFirst
                  : mark == GraphPresenter::Mark::kFault ? HitMark::kFault
                                                         : HitMark::kHint;
  m_canvas->graphScene().setHits(std::move(marks));
}

void GraphPanel::showPath() {
  m_canvas->graphScene().setPath(m_presenter.path());
  const std::optional<Direction> direction = m_presenter.pathDirection();
  m_upstream->setChecked(direction == Direction::kUpstream);
  m_downstream->setChecked(direction == Direction::kDownstream);
  m_way->setEnabled(m_presenter.hasWay());
  m_way->setChecked(m_presenter.wayShown());
}

void GraphPanel::askPath(Direction direction) {
  const bool off = m_presenter.pathDirection() == direction;
  m_presenter.setPath(off ? std::nullopt : std::optional(direction));
  if (!off && m_presenter.selected().empty()) emit status(tr("Select a node to see its path."));
}

void GraphPanel::showNotice() {
  m_notice->setText(m_presenter.problem());
  placeOverlays();
}

void GraphPanel::placeOverlays() {
  const QRect area = m_canvas->viewport()->rect();
  m_hint->setGeometry(area);
  const bool shown = m_presenter.placement() != nullptr;
  m_legend->setVisible(shown && m_showLegend->isChecked());
  m_notice->setVisible(shown && !m_notice->text().isEmpty());
  const int wide = std::min(area.width() - 2 * kCorner, 520);
  const int high = m_notice->heightForWidth(wide);
  m_notice->setGeometry(kCorner, kCorner, wide, high);
}

void GraphPanel::takeFocus() { m_canvas->setFocus(Qt::ShortcutFocusReason); }

QJsonObject GraphPanel::state() const {
  QJsonObject state = m_presenter.state();
  state["zoom"] = m_canvas->following() ? 0 : m_canvas->zoom();  // 0: fitted
  state["legend"] = m_showLegend->isChecked();
  return state;
}

void GraphPanel::restore(const QJsonObject& state) {
  const double zoom = state.value("zoom").toDouble();
  if (zoom > 0 && std::isfinite(zoom)) m_restoredZoom = zoom;
  if (state.value("legend").isBool()) m_showLegend->setChecked(state.value("legend").toBool());
  m_presenter.restore(state);
}

void GraphPanel::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paintIcons();
}

void GraphPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  placeOverlays();
}

bool GraphPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_canvas->viewport() && event->type() == QEvent::Resize) placeOverlays();
  return Panel::eventFilter(watched, event);
}

}  // namespace msdbg::app
