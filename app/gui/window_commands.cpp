// What the window's actions do: see actions.cpp.
#include <QAbstractSpinBox>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QMessageBox>
#include <QStatusBar>

#include "app/gui/keys_dialog.h"
#include "app/gui/main_window.h"
#include "app/presenters/answer/questions.h"

namespace msdbg::app {
namespace {

constexpr int kFar = 1 << 30, kTen = 10;

}  // namespace

void MainWindow::chooseRun() {
  const QString path = QFileDialog::getExistingDirectory(this, "Open a run folder (*.msdbg)");
  if (!path.isEmpty()) openRun(path);
}

void MainWindow::reload() {
  keepSession();
  m_document->session().flush();  // the place is written before it is read again
  openRun(QString::fromStdString(m_document->path().string()));
}

void MainWindow::followRecording() {
  const bool on = m_actions.at("followRecording")->isChecked();
  m_document->setFollowing(on);
  if (isFollowing()) m_document->cursor().follow();
}

void MainWindow::quit() { close(); }

void MainWindow::goBack() { m_document->cursor().back(); }
void MainWindow::goForward() { m_document->cursor().forward(); }

void MainWindow::goToFirstFinding() {
  const Findings& findings = m_document->findings();
  if (findings.report() && findings.report()->first)
    m_document->cursor().moveTo(findings.placeOf(*findings.report()->first));
  else
    say(findings.report() ? "no fault was found" : "the check has not ended yet");
}

void MainWindow::stepHit(int direction) {
  const Findings& findings = m_document->findings();
  if (const auto hit = findings.nextHit(m_document->cursor().place(), direction))
    m_document->cursor().moveTo(findings.placeOf(findings.hits()[*hit]));
  else
    say(findings.hits().empty() ? "there are no hits"
                                : QString("no hit %1 this place").arg(direction > 0 ? "after" : "before"));
}

void MainWindow::nextHit() { stepHit(1); }
void MainWindow::previousHit() { stepHit(-1); }
void MainWindow::nextIteration() { m_document->cursor().stepIteration(1); }
void MainWindow::previousIteration() { m_document->cursor().stepIteration(-1); }
void MainWindow::forwardTen() { m_document->cursor().stepIteration(kTen); }
void MainWindow::backTen() { m_document->cursor().stepIteration(-kTen); }
void MainWindow::firstIteration() { m_document->cursor().stepIteration(-kFar); }
void MainWindow::lastIteration() { m_document->cursor().stepIteration(kFar); }
// The field of the timeline: for the program's own numbers where it has some.
void MainWindow::goToIteration() {
  findChild<QAction*>("show_timeline")->trigger();
  auto* field = panel("timeline")->findChild<QAbstractSpinBox*>("stepEdit");
  if (!field || field->isHidden()) field = panel("timeline")->findChild<QAbstractSpinBox*>("iterationSpin");
  if (!field) return;
  field->setFocus(Qt::ShortcutFocusReason);
  field->selectAll();
}

void MainWindow::nextRank() { m_document->cursor().stepRank(1); }
void MainWindow::previousRank() { m_document->cursor().stepRank(-1); }
void MainWindow::recheck() { m_document->findings().recheck(); }
void MainWindow::cancelCheck() { m_document->findings().cancel(); }

void MainWindow::proveIteration() { ask(Ask::kProve); }
void MainWindow::compareFloat64() { ask(Ask::kFloat64); }
void MainWindow::recheckIteration() { ask(Ask::kRecheck); }

void MainWindow::ask(Ask question) {
  findChild<QAction*>("show_answer")->trigger();
  m_document->questions().ask(m_document->questions().offerAtCursor(question));
}

// What cannot be asked here says why.
void MainWindow::offersChanged() {
  for (const auto& [id, question] : {std::pair("proveIteration", Ask::kProve),
                                     {"compareFloat64", Ask::kFloat64},
                                     {"recheckIteration", Ask::kRecheck}}) {
    const Offer offer = m_document->questions().offerAtCursor(question);
    m_actions.at(id)->setEnabled(offer.possible());
    m_actions.at(id)->setToolTip(offer.tip);
  }
}

// The panel that has the keyboard, else the graph.
void MainWindow::copyCommand() {
  Panel* inUse = panel("graph");
  for (const auto& [name, panel] : m_panels)
    if (panel->isAncestorOf(QApplication::focusWidget())) inUse = panel;
  copyCommandOf(inUse);
}

void MainWindow::copyCommandOf(Panel* panel) {
  const QString command = panel && m_document ? panel->command() : QString();
  if (command.isEmpty()) return say("this panel shows nothing that a command could print");
  QApplication::clipboard()->setText(command);
  say("copied: " + command);
}

void MainWindow::showKeys() {
  auto* dialog = new KeysDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->show();
}

void MainWindow::showAbout() {
  QMessageBox::about(
      this, "About msdbg",
      QString("<h3>msdbg %1</h3><p>A visual debugger and offline replay tool for neural-network training.</p>"
              "<p>The source is Apache-2.0. This program links QScintilla and QCustomPlot and is therefore "
              "under the GNU General Public License, version 3. It uses Qt %2, HDF5, protobuf, zstd and "
              "xxHash.</p>")
          .arg(MSDBG_VERSION, qVersion()));
}

}  // namespace msdbg::app
