// Hits in words.
#include <fmt/format.h>

#include <map>

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/findings.h"
#include "replay/inspect.h"

namespace msdbg::replay {

using watch::Hit;

std::span<const core::FrameId> framesOf(const core::Graph& graph, const Hit& hit) {
  if (hit.writtenAt.valid() && graph.userFrame(framesOf(graph, hit.writtenAt)))
    return framesOf(graph, hit.writtenAt);
  if (hit.node.valid()) return framesOf(graph, graph.node(hit.node));
  return hit.tensor.valid() ? framesOf(graph, hit.tensor) : std::span<const core::FrameId>();
}

std::string hitPlace(const core::Graph& graph, const Hit& hit) {
  if (hit.node.valid()) return graph.node(hit.node).name;
  return hit.tensor.valid() ? tensorName(graph.tensor(hit.tensor)) : "the end of the run";
}

std::string hitTensor(const core::Graph& graph, const Hit& hit) {
  return hit.tensor.valid() ? tensorName(graph.tensor(hit.tensor)) : hitPlace(graph, hit);
}

std::optional<std::vector<std::int64_t>> wrongIndex(const core::Graph& graph, const Hit& hit) {
  if (!hit.element || !hit.tensor.valid()) return std::nullopt;
  const core::Shape& shape = graph.tensor(hit.tensor).shape;
  if (!shape.known() || *hit.element < 0 || *hit.element >= shape.elements()) return std::nullopt;
  return indexOf(shape, *hit.element);
}

std::string measuredText(const Hit& hit) {
  if (hit.parameter.empty()) return {};
  return fmt::format("{} against {} = {}", core::formatShort(hit.actual), hit.parameter,
                     core::formatShort(hit.preset));
}

std::string valuesText(const core::Graph& graph, const Hit& hit) {
  std::string text = measuredText(hit);
  if (hit.count > 0)
    text += fmt::format("{}{} wrong", text.empty() ? "" : ", ", counted(hit.count, "element"));
  const std::string gap = text.empty() ? "" : ", ";
  if (const auto index = wrongIndex(graph, hit))
    text += fmt::format("{}the first is [{}]", gap, fmt::join(*index, ", "));
  else if (hit.element)
    text += fmt::format("{}the first is element {}", gap, groupedNumber(*hit.element));
  return text;  // "" where bits differ and no value was recorded: `detail` says what is known
}

std::string whatText(const core::Graph& graph, const Hit& hit) {
  if (!hit.tensor.valid()) return std::string(hit.condition->title);
  const core::TensorInfo& tensor = graph.tensor(hit.tensor);
  std::string text = std::string(hit.condition->title) + ": " + tensorName(tensor) + ", " + typeText(tensor);
  if (!tensor.alias.empty()) text += ", that is " + tensor.alias;
  return text;
}

std::string nodeText(const core::Graph& graph, const Hit& hit) {
  if (!hit.node.valid()) return {};
  const core::Node& node = graph.node(hit.node);
  std::string text = fmt::format("{} ({}, order {})", node.name, core::phaseName(node.phase), hit.order);
  if (node.derivedFrom.valid()) text += ", made for " + graph.node(node.derivedFrom).name;
  return text;
}

std::string reasonText(const std::string& reason) {
  static const std::map<std::string, std::string> kTexts = {
      {"nan", "the tensor holds NaN"},
      {"inf", "the tensor holds Inf"},
      {"no_previous", "no iteration before it"},
      {"no_value", "not recorded"},
      {"only_flags", "only NaN and Inf were counted (--statistics flags)"},
      {"thinned", "not recorded any more: thinned to keep within --max-size"},
      {"shape_changed", "the shape changed"},
      {"zero_previous", "the value before is zero"},
      {"damaged", "the file is damaged"},
      {"no_tensor", "no such tensor in this run"}};
  const auto found = kTexts.find(reason);
  return found == kTexts.end() ? reason : found->second;
}

}  // namespace msdbg::replay
