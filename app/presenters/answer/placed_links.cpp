#include "app/presenters/answer/placed_links.h"

#include <QRegularExpression>
#include <algorithm>

namespace msdbg::app {
namespace {

struct Position {
  std::optional<core::Iteration> iteration;
  std::optional<core::Rank> rank;
};

// The first of each that a stretch of text says.
Position positionIn(const QString& text) {
  static const QRegularExpression kNumbered(QStringLiteral("\\b(iteration|rank) (\\d{1,18})\\b"));
  Position found;
  for (auto at = kNumbered.globalMatch(text); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    const qlonglong number = match.captured(2).toLongLong();
    if (match.captured(1) == QStringLiteral("rank")) {
      if (!found.rank) found.rank = core::Rank(number);
    } else if (!found.iteration) {
      found.iteration = core::Iteration(number);
    }
  }
  return found;
}

bool isHeading(const QString& line) {
  static const QRegularExpression kHeading(
      QStringLiteral("^iteration \\d+( \\(step -?\\d+\\))?, rank \\d+$"));
  return kHeading.match(line).hasMatch();
}

// "  12  network/fc1/Gemm-op1   mlp.cpp:20": where the name of such a line begins; -1: it is none.
qsizetype startOfStep(const QString& line) {
  static const QRegularExpression kStep(QStringLiteral("^ *\\d+  (?=\\S)"));
  const QRegularExpressionMatch match = kStep.match(line);
  return match.hasMatch() ? match.capturedEnd() : -1;
}

core::NodeId nodeOf(const QString& target, const core::Graph& graph) {
  const std::string name = target.section(':', 1).toStdString();
  if (target.startsWith(QStringLiteral("node:"))) return graph.findNode(name).value_or(core::NodeId());
  const std::optional<core::TensorId> tensor =
      target.startsWith(QStringLiteral("tensor:")) ? graph.findTensor(name) : std::nullopt;
  return tensor ? graph.tensor(*tensor).producer : core::NodeId();
}

}  // namespace

std::vector<core::NodeId> wayOf(const std::vector<PlacedLink>& links, const core::Graph& graph) {
  std::vector<core::NodeId> way;
  for (const PlacedLink& link : links)
    if (const core::NodeId node = link.isStep ? nodeOf(link.link.target, graph) : core::NodeId();
        node.valid() && std::ranges::find(way, node) == way.end())
      way.push_back(node);
  return way;
}

std::vector<PlacedLink> placedLinks(const QString& text, const core::Graph& graph) {
  std::vector<PlacedLink> placed;
  const std::vector<AnswerLink> links = answerLinks(text, graph);
  auto next = links.begin();
  Position heading;
  for (qsizetype start = 0, end = 0; next != links.end() && start < text.size(); start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) end = text.size();
    const QString line = text.mid(start, end - start);
    const Position own = positionIn(line);
    if (isHeading(line)) heading = own;
    if (line.isEmpty()) heading = {};
    const qsizetype step = startOfStep(line);
    for (; next != links.end() && next->start < end; ++next)
      placed.push_back({*next, own.iteration ? own.iteration : heading.iteration,
                        own.rank ? own.rank : heading.rank, step >= 0 && next->start == start + step});
  }
  return placed;
}

bool followLink(const PlacedLink& link, Document& document) {
  std::optional<Place> place = placeOfLink(link.link.target, document);
  if (!place) return false;
  const bool isPosition = isPositionLink(link.link.target);
  if (link.rank && !isPosition) place->rank = *link.rank;
  if (link.iteration && !isPosition) place->iteration = *link.iteration;
  if (place->iteration.valid() && !document.facts().recorded(place->rank, place->iteration)) return false;
  document.cursor().moveTo(std::move(*place));
  return true;
}

}  // namespace msdbg::app
