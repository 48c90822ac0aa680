#include "app/presenters/findings/answer_links.h"

#include <QRegularExpression>
#include <algorithm>

#include "core_engine/graph/names.h"
#include "replay/search.h"

namespace msdbg::app {
namespace {

const QString kNode = QStringLiteral("node:"), kTensor = QStringLiteral("tensor:"),
              kLine = QStringLiteral("line:"), kIteration = QStringLiteral("iteration:"),
              kRank = QStringLiteral("rank:");

// "alexnet.cpp:25"
bool isLineOf(const core::Graph& graph, const QString& word) {
  static const QRegularExpression kPlace(QStringLiteral("^(\\S+\\.\\w+):\\d+$"));
  const QRegularExpressionMatch match = kPlace.match(word);
  if (!match.hasMatch()) return false;
  const std::string file = match.captured(1).toStdString();
  for (const core::Node& node : graph.nodes())
    for (const core::FrameId id : node.frames)
      if (core::endsAtBorder(graph.frame(id).file, file)) return true;
  return false;
}

QString targetOf(const core::Graph& graph, const QString& word) {
  const std::string name = word.toStdString();
  if (graph.findNode(name)) return kNode + word;
  if (graph.findTensor(name)) return kTensor + word;
  return isLineOf(graph, word) ? kLine + word : QString();
}

// Names hold no spaces; the sentence may go on right behind one.
AnswerLink linkAt(const core::Graph& graph, const QString& text, qsizetype start, qsizetype length) {
  static const QString kClosing = QStringLiteral(".,;:!?)]'\"");
  while (length > 0) {
    const QString word = text.mid(start, length);
    if (word.contains('/') || word.contains('.') || word.contains('(') || word.contains('-'))
      if (const QString target = targetOf(graph, word); !target.isEmpty()) return {start, length, target};
    if (!kClosing.contains(word.back())) break;
    --length;
  }
  return {};
}

std::vector<AnswerLink> numbersIn(const QString& text) {
  static const QRegularExpression kNumbered(QStringLiteral("\\b(iteration|rank) (\\d+)\\b"));
  std::vector<AnswerLink> links;
  for (auto at = kNumbered.globalMatch(text); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    links.push_back({match.capturedStart(), match.capturedLength(),
                     (match.captured(1) == QStringLiteral("rank") ? kRank : kIteration) + match.captured(2)});
  }
  return links;
}

bool goToLine(const QString& place, Document& document) {
  const auto found = replay::search(document.graph(), place.toStdString());
  if (!found.ok() || found->nodes.empty()) return false;
  const SourceLine line{found->file, place.section(':', -1).toInt()};
  Place now = document.cursor().place();
  now.line = line;
  if (!now.nodes.empty() && std::ranges::count(found->nodes, now.nodes.front()) > 0)
    document.cursor().moveTo(std::move(now));  // one of the line's own: it stays selected
  else
    document.cursor().selectNodes(found->nodes, line);
  return true;
}

}  // namespace

std::vector<AnswerLink> answerLinks(const QString& text, const core::Graph& graph) {
  static const QRegularExpression kWord(QStringLiteral("\\S+"));
  std::vector<AnswerLink> links = numbersIn(text);
  for (auto at = kWord.globalMatch(text); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    qsizetype start = match.capturedStart(), length = match.capturedLength();
    AnswerLink link = linkAt(graph, text, start, length);
    if (link.length == 0 && text[start] == '(') link = linkAt(graph, text, start + 1, length - 1);
    if (link.length > 0) links.push_back(std::move(link));
  }
  std::ranges::sort(links, {}, &AnswerLink::start);
  return links;
}

bool followLink(const QString& target, Document& document) {
  const QString what = target.section(':', 0, 0) + ':', name = target.mid(what.size());
  Cursor& cursor = document.cursor();
  if (what == kNode) {
    const auto node = document.graph().findNode(name.toStdString());
    if (node) cursor.selectNode(*node);
    return node.has_value();
  }
  if (what == kTensor) {
    const auto tensor = document.graph().findTensor(name.toStdString());
    if (tensor) cursor.selectTensor(*tensor);
    return tensor.has_value();
  }
  if (what == kLine) return goToLine(name, document);
  if (what == kIteration) {
    const core::Iteration iteration(name.toLongLong());
    if (!std::ranges::binary_search(document.facts().allIterations, iteration)) return false;
    cursor.setIteration(iteration);
    return true;
  }
  const core::Rank rank(name.toLongLong());
  if (what != kRank || std::ranges::count(document.facts().ranks, rank) == 0) return false;
  cursor.setRank(rank);
  return true;
}

QString panelOfLink(const QString& target) {
  if (target.startsWith(kLine)) return QStringLiteral("source");
  return target.startsWith(kTensor) ? QStringLiteral("tensor") : QString();
}

}  // namespace msdbg::app
