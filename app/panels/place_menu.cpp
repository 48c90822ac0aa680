#include "app/panels/place_menu.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QPointer>

#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

class PlaceMenu {
 public:
  PlaceMenu(QMenu& menu, Panel& panel, Document& document, Place place)
      : m_menu(menu), m_panel(panel), m_document(document), m_place(std::move(place)) {}

  void fill() {
    addJumps();
    m_menu.addSeparator();
    addWatch();
    m_menu.addSeparator();
    addCopies();
  }

 private:
  template <typename Run>
  void add(const char* name, const QString& label, bool enabled, Run run) {
    QAction* action = m_menu.addAction(label);
    action->setObjectName(QLatin1String(name));
    action->setEnabled(enabled);
    QObject::connect(action, &QAction::triggered, &m_panel, run);
  }

  void addJump(const char* name, const QString& label, bool enabled, const char* to) {
    add(name, label, enabled, [panel = &m_panel, document = QPointer(&m_document), place = m_place, to] {
      if (!document) return;  // another run was opened meanwhile
      document->cursor().moveTo(place);
      emit panel->panelWanted(QLatin1String(to));
    });
  }

  void addJumps() {
    const QString line = m_place.line ? QStringLiteral(" %1:%2")
                                            .arg(QFileInfo(text(m_place.line->file)).fileName())
                                            .arg(m_place.line->line)
                                      : QString();
    addJump("showValues", QObject::tr("Show values"), m_place.tensor.valid(), "tensor");
    addJump("goToSource", QObject::tr("Go to source line") + line, m_place.line.has_value(), "source");
    addJump("showInGraph", QObject::tr("Show in the graph"), !m_place.nodes.empty(), "graph");
    addJump("showTimeline", QObject::tr("Show over the iterations"), m_place.tensor.valid(), "timeline");
  }

  void addWatch() {
    add("watchTensor", QObject::tr("Watch this tensor…"), m_place.tensor.valid(),
        [panel = &m_panel, document = QPointer(&m_document), tensor = tensorName()] {
          if (!document) return;
          emit panel->panelWanted(QStringLiteral("findings"));
          document->findings().askToWatch(tensor);
        });
  }

  void addCopies() {
    const core::Graph& graph = m_document.graph();
    const QString node = m_place.nodes.empty() ? QString() : text(graph.node(m_place.nodes.front()).name);
    addCopy("copyNode", QObject::tr("Copy name of the node"), node);
    addCopy("copyTensor", QObject::tr("Copy name of the tensor"), tensorName());
    addCopy("copyLine", QObject::tr("Copy source line"),
            m_place.line ? QStringLiteral("%1:%2").arg(text(m_place.line->file)).arg(m_place.line->line)
                         : QString());
    const bool there = m_place.tensor.valid() && m_place.iteration.valid() && m_place.rank.valid();
    addCopy("copyCommand", QObject::tr("Copy command that shows it"),
            there ? QStringLiteral("msdbg show %1 --tensor %2 --iteration %3 --rank %4")
                        .arg(m_document.runArgument(), shellQuoted(tensorName()))
                        .arg(m_place.iteration.value)
                        .arg(m_place.rank.value)
                  : QString());
  }

  void addCopy(const char* name, const QString& label, const QString& what) {
    add(name, label, !what.isEmpty(), [panel = &m_panel, what] {
      QGuiApplication::clipboard()->setText(what);
      emit panel->status(QObject::tr("copied: %1").arg(what));
    });
  }

  QString tensorName() const {
    return m_place.tensor.valid() ? text(replay::tensorName(m_document.graph().tensor(m_place.tensor)))
                                  : QString();
  }

  QMenu& m_menu;
  Panel& m_panel;
  Document& m_document;
  const Place m_place;
};

}  // namespace

void addPlaceActions(QMenu& menu, Panel& panel, Document& document, const Place& place) {
  PlaceMenu(menu, panel, document, place).fill();
}

}  // namespace msdbg::app
