#include "app/presenters/findings/answer_links.h"

#include <QHash>
#include <QRegularExpression>
#include <algorithm>

#include "core_engine/graph/names.h"
#include "replay/search.h"

namespace msdbg::app {
namespace {

const QString kNode = QStringLiteral("node:"), kTensor = QStringLiteral("tensor:"),
              kLine = QStringLiteral("line:"), kIteration = QStringLiteral("iteration:"),
              kRank = QStringLiteral("rank:");

constexpr qsizetype kMostName = 4096, kMostClosing = 8;  // more of them is no sentence

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

// Long texts say the same words again and again.
class Targets {
 public:
  explicit Targets(const core::Graph& graph) : m_graph(graph) {}
  const QString& of(const QString& word) {
    auto found = m_known.find(word);
    if (found == m_known.end()) found = m_known.insert(word, targetOf(m_graph, word));
    return *found;
  }

 private:
  const core::Graph& m_graph;
  QHash<QString, QString> m_known;
};

// Names hold no spaces; the sentence may go on right behind one, or an index: "fc2/weight[3, 5]".
AnswerLink linkAt(Targets& targets, const QString& text, qsizetype start, qsizetype length) {
  static const QString kClosing = QStringLiteral(".,;:!?)]'\"");
  if (length > kMostName) return {};
  for (qsizetype left = length; left > 0 && length - left <= kMostClosing; --left) {
    const QString word = text.mid(start, left);
    if (word.contains('/') || word.contains('.') || word.contains('(') || word.contains('-'))
      if (const QString& target = targets.of(word); !target.isEmpty()) return {start, left, target};
    if (!kClosing.contains(word.back())) break;
  }
  const qsizetype index = QStringView(text).mid(start, length).lastIndexOf('[');
  if (index <= 0) return {};
  const QString& target = targets.of(text.mid(start, index));
  return target.isEmpty() ? AnswerLink() : AnswerLink{start, index, target};
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

std::optional<Place> placeOfLine(const QString& line, Document& document) {
  const auto found = replay::search(document.graph(), line.toStdString());
  if (!found.ok() || found->nodes.empty()) return std::nullopt;
  const SourceLine there{found->file, line.section(':', -1).toInt()};
  Place place = document.cursor().place();
  const bool oneOfThem = !place.nodes.empty() && std::ranges::count(found->nodes, place.nodes.front()) > 0;
  if (!oneOfThem) return withNodes(document.graph(), std::move(place), found->nodes, there);
  place.line = there;  // it stays selected
  return place;
}

}  // namespace

std::vector<AnswerLink> answerLinks(const QString& text, const core::Graph& graph) {
  static const QRegularExpression kWord(QStringLiteral("\\S+"));
  std::vector<AnswerLink> links = numbersIn(text);
  Targets targets(graph);
  for (auto at = kWord.globalMatch(text); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    qsizetype start = match.capturedStart(), length = match.capturedLength();
    AnswerLink link = linkAt(targets, text, start, length);
    if (link.length == 0 && text[start] == '(') link = linkAt(targets, text, start + 1, length - 1);
    if (link.length > 0) links.push_back(std::move(link));
  }
  std::ranges::sort(links, {}, &AnswerLink::start);
  return links;
}

QString linkedHtml(const QString& text, const std::vector<AnswerLink>& links, const QStringList& hrefs) {
  QString html;
  qsizetype done = 0, at = 0;
  for (const AnswerLink& link : links) {
    html += text.mid(done, link.start - done).toHtmlEscaped();
    html += QStringLiteral("<a class='place' href='%1'>%2</a>")
                .arg(hrefs.value(at++), text.mid(link.start, link.length).toHtmlEscaped());
    done = link.start + link.length;
  }
  return html + text.mid(done).toHtmlEscaped();
}

std::optional<Place> placeOfLink(const QString& target, Document& document) {
  const QString what = target.section(':', 0, 0) + ':', name = target.mid(what.size());
  const core::Graph& graph = document.graph();
  Place place = document.cursor().place();
  if (what == kNode) {
    const auto node = graph.findNode(name.toStdString());
    return node ? std::optional(withNodes(graph, std::move(place), {*node})) : std::nullopt;
  }
  if (what == kTensor) {
    const auto tensor = graph.findTensor(name.toStdString());
    return tensor ? std::optional(withTensor(graph, std::move(place), *tensor)) : std::nullopt;
  }
  if (what == kLine) return placeOfLine(name, document);
  bool isNumber = false;
  const qlonglong number = name.toLongLong(&isNumber);
  if (!isNumber) return std::nullopt;
  if (what == kIteration) {
    place.iteration = core::Iteration(number);
    const bool there = std::ranges::binary_search(document.facts().allIterations, place.iteration);
    return there ? std::optional(std::move(place)) : std::nullopt;
  }
  place.rank = core::Rank(number);
  const bool there = what == kRank && std::ranges::count(document.facts().ranks, place.rank) > 0;
  return there ? std::optional(std::move(place)) : std::nullopt;
}

bool isPositionLink(const QString& target) {
  return target.startsWith(kIteration) || target.startsWith(kRank);
}

bool followLink(const QString& target, Document& document) {
  std::optional<Place> place = placeOfLink(target, document);
  if (place) document.cursor().moveTo(std::move(*place));
  return place.has_value();
}

QString panelOfLink(const QString& target) {
  if (target.startsWith(kLine)) return QStringLiteral("source");
  return target.startsWith(kTensor) ? QStringLiteral("tensor") : QString();
}

}  // namespace msdbg::app
