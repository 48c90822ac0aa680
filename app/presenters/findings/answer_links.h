// The places that the words of an answer name: nodes, tensors, source lines, iterations and ranks. Pure
// functions of the graph, but for followLink(), which moves the cursor (UI thread).
#pragma once

#include <QString>
#include <vector>

#include "app/presenters/document.h"

namespace msdbg::app {

struct AnswerLink {
  qsizetype start = 0, length = 0;  // in the text
  QString target;  // "node:network/conv1/Conv-op1", "line:alexnet.cpp:25", "iteration:7", …
};
/// In the order of the text, apart. Only what is in the graph; iterations and ranks as they are written.
std::vector<AnswerLink> answerLinks(const QString& text, const core::Graph& graph);

/// Moves the cursor there, the rest of the place stays; false: it is not in this run.
bool followLink(const QString& target, Document& document);
/// The panel that shows it: "source", "graph", …; "": all of them do.
QString panelOfLink(const QString& target);

}  // namespace msdbg::app
