#include "app/presenters/place_json.h"

#include <QJsonArray>

namespace msdbg::app {
namespace {

constexpr auto kIteration = "iteration", kRank = "rank", kNodes = "nodes", kTensor = "tensor", kFile = "file",
               kLine = "line";

}  // namespace

QJsonObject placeJson(const core::Graph& graph, const Place& place) {
  QJsonObject json{{kIteration, static_cast<qint64>(place.iteration.value)},
                   {kRank, static_cast<qint64>(place.rank.value)}};
  QJsonArray nodes;
  for (const core::NodeId node : place.nodes) nodes.append(QString::fromStdString(graph.node(node).name));
  if (!nodes.isEmpty()) json[kNodes] = nodes;
  if (place.tensor.valid()) json[kTensor] = QString::fromStdString(graph.tensor(place.tensor).fullName());
  if (place.line) {
    json[kFile] = QString::fromStdString(place.line->file);
    json[kLine] = place.line->line;
  }
  return json;
}

Place placeFrom(const core::Graph& graph, const QJsonObject& json) {
  Place place;
  place.iteration = core::Iteration(json[kIteration].toInteger());
  place.rank = core::Rank(json[kRank].toInteger());
  for (const QJsonValue& name : json[kNodes].toArray())
    if (const auto node = graph.findNode(name.toString().toStdString())) place.nodes.push_back(*node);
  if (const auto tensor = graph.findTensor(json[kTensor].toString().toStdString())) place.tensor = *tensor;
  if (json.contains(kFile))
    place.line = SourceLine{json[kFile].toString().toStdString(), json[kLine].toInt()};
  return place;
}

}  // namespace msdbg::app
