// The places that the words of an answer name: nodes, tensors, source lines, iterations and ranks. Pure
// functions of the graph, but for followLink(), which moves the cursor (UI thread).
#pragma once

#include <QStringList>
#include <vector>

#include "app/presenters/document.h"

namespace msdbg::app {

struct AnswerLink {
  qsizetype start = 0, length = 0;  // in the text
  QString target;  // "node:network/conv1/Conv-op1", "line:alexnet.cpp:25", "iteration:7", …
};
/// In the order of the text, apart. Only what is in the graph; iterations and ranks as they are written.
std::vector<AnswerLink> answerLinks(const QString& text, const core::Graph& graph);

/// The text as HTML, its links as <a class='place'>: `hrefs` has one for each.
QString linkedHtml(const QString& text, const std::vector<AnswerLink>& links, const QStringList& hrefs);

/// The cursor's place moved there, the rest of it stays; nullopt: it is not in this run.
std::optional<Place> placeOfLink(const QString& target, Document& document);
bool isPositionLink(const QString& target);  // an iteration or a rank
/// Moves the cursor there; false: it is not in this run.
bool followLink(const QString& target, Document& document);
/// The panel that shows it: "source", "graph", …; "": all of them do.
QString panelOfLink(const QString& target);

}  // namespace msdbg::app
