#include "app/panels/tensor/pictures_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/panels/elided_label.h"
#include "app/panels/tensor/picture_view.h"

namespace msdbg::app {
namespace {

constexpr const char* kSideNames[] = {"A", "B", "Difference"};

}  // namespace

PicturesPage::PicturesPage(QWidget* parent) : QWidget(parent) {
  m_map = new QComboBox;
  m_map->setObjectName("colourMap");
  m_map->setAccessibleName(tr("Colours"));
  m_map->addItem(tr("by sign"), static_cast<int>(ColourMap::kAuto));
  m_map->addItem(tr("sequential"), static_cast<int>(ColourMap::kSequential));
  m_map->addItem(tr("around zero"), static_cast<int>(ColourMap::kDiverging));
  m_map->setToolTip(tr("By sign: around zero where there are both signs, else sequential"));
  m_splitter = new QSplitter;
  m_splitter->setChildrenCollapsible(false);
  for (const Side side : kSides) makePane(side);
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  line->addWidget(new QLabel(tr("Colours")));
  line->addWidget(m_map);
  line->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 6, 0, 0);
  layout->setSpacing(6);
  layout->addLayout(line);
  layout->addWidget(m_splitter, 1);
  connect(m_map, &QComboBox::currentIndexChanged, this, &PicturesPage::watch);
}

void PicturesPage::makePane(Side side) {
  Pane& pane = m_panes[indexOf(side)];
  pane.widget = new QWidget;
  pane.title = new ElidedLabel;
  pane.view = new PictureView;
  pane.view->setObjectName(QStringLiteral("picture") + kSideNames[indexOf(side)]);
  pane.view->setAccessibleName(tr("Picture of %1").arg(kSideNames[indexOf(side)]));
  auto* layout = new QVBoxLayout(pane.widget);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(pane.title);
  layout->addWidget(pane.view, 1);
  m_splitter->addWidget(pane.widget);
  connect(pane.view, &PictureView::roomChanged, this, &PicturesPage::watch);
  connect(pane.view, &PictureView::cellClicked, this, [this](std::int64_t row, std::int64_t column) {
    if (m_presenter) m_presenter->setCell(row, column);
  });
}

void PicturesPage::setPresenter(TensorPresenter* presenter) {
  if (m_presenter) m_presenter->disconnect(this);
  m_presenter = presenter;
  if (presenter) {
    connect(presenter, &TensorPresenter::picturesChanged, this, &PicturesPage::refresh);
    connect(presenter, &TensorPresenter::answered, this, &PicturesPage::refresh);
    connect(presenter, &TensorPresenter::placeChanged, this, &PicturesPage::refresh);
    connect(presenter, &TensorPresenter::shownChanged, this, &PicturesPage::refresh);
    connect(presenter, &TensorPresenter::cellChanged, this, &PicturesPage::showCell);
  }
  refresh();
  watch();
}

ColourMap PicturesPage::colourMap() const { return static_cast<ColourMap>(m_map->currentData().toInt()); }

void PicturesPage::setColourMap(ColourMap map) {
  const int at = m_map->findData(static_cast<int>(map));
  if (at >= 0) m_map->setCurrentIndex(at);
}

// The smallest of the shown views decides: the pictures stay comparable.
void PicturesPage::watch() {
  if (!m_presenter) return;
  QSize room(Picture::kMostSide, Picture::kMostSide);
  for (const Side side : kSides)
    if (m_presenter->shown(side)) room = room.boundedTo(m_panes[indexOf(side)].view->room());
  m_presenter->watchPictures(isVisible(), {colourMap(), room});
}

void PicturesPage::refresh() {
  const bool comparing = m_presenter && m_presenter->comparing();
  for (const Side side : kSides) {
    const Pane& pane = m_panes[indexOf(side)];
    pane.widget->setVisible(m_presenter ? m_presenter->shown(side) : side == Side::kA);
    pane.title->setVisible(comparing);
    pane.view->setMessage(m_presenter ? m_presenter->message(side) : QString());
    pane.view->setPicture(m_presenter ? m_presenter->picture(side) : Picture());
    if (!m_presenter) continue;
    pane.title->setLine(m_presenter->sideTitle(side), m_presenter->placeText(side));
  }
  showCell();
}

void PicturesPage::showCell() {
  std::optional<QPoint> cell;
  if (m_presenter && m_presenter->cell()) {
    const SlicePlane& plane = m_presenter->plane();
    cell = QPoint(static_cast<int>(plane.columnOf(*m_presenter->cell())),
                  static_cast<int>(plane.rowOf(*m_presenter->cell())));
  }
  for (const Pane& pane : m_panes) pane.view->setCell(cell);
}

void PicturesPage::showEvent(QShowEvent*) { watch(); }
void PicturesPage::hideEvent(QHideEvent*) { watch(); }

void PicturesPage::resizeEvent(QResizeEvent* event) {
  const QSize size = event->size();
  m_splitter->setOrientation(size.width() > size.height() ? Qt::Horizontal : Qt::Vertical);
}

}  // namespace msdbg::app
