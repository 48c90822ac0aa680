#include "replay/describe.h"

#include <filesystem>

#include "core_engine/graph/graph_union.h"

namespace msdbg::replay {

std::string placeOf(const core::Frame* frame) {
  if (!frame) return {};
  return std::filesystem::path(frame->file).filename().string() + ":" + std::to_string(frame->line);
}

std::string sourceLine(const core::Frame* frame) {
  if (!frame) return "(no source line is known)";
  return frame->code.empty() ? placeOf(frame) : placeOf(frame) + "   " + frame->code;
}

std::span<const core::FrameId> framesOf(const core::Graph& graph, const core::Node& node) {
  if (!node.frames.empty() || node.phase != core::Phase::kBackward || node.inputs.empty()) return node.frames;
  const core::TensorInfo& read = graph.tensor(node.inputs.front());
  return read.role == core::TensorRole::kLoss && !read.isSource() ? graph.node(read.producer).frames
                                                                  : node.frames;
}

std::span<const core::FrameId> framesOf(const core::Graph& graph, core::TensorId tensor) {
  const core::TensorInfo& info = graph.tensor(tensor);
  if (!info.isSource()) return framesOf(graph, graph.node(info.producer));
  if (!info.frames.empty()) return info.frames;
  const std::vector<core::NodeId> readers = graph.consumers(tensor);  // a recorder may not know who made it
  return readers.empty() ? std::span<const core::FrameId>() : graph.node(readers.front()).frames;
}

std::string tensorName(const core::TensorInfo& tensor) {
  return tensor.slot == 0 ? tensor.name : tensor.fullName();
}

std::string typeText(const core::TensorInfo& tensor) {
  std::string sizes;
  for (const std::int64_t size : tensor.shape.dims()) {
    if (!sizes.empty()) sizes += ", ";
    if (size < 0)
      sizes += '?';
    else
      sizes += std::to_string(size);
  }
  return std::string(core::dtypeName(tensor.dtype)) + " [" + sizes + "]";
}

std::string deviceOf(const core::Graph& graph, const core::GraphPart* part, core::TensorId tensor) {
  return part && part->has(tensor) ? part->device(graph, tensor) : graph.tensor(tensor).device;
}

std::string groupedNumber(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::int64_t at = static_cast<std::int64_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string numbered(const std::string& noun, const core::IterationSet& numbers) {
  return noun + (numbers.size() == 1 ? " " : "s ") + numbers.text();
}

std::string counted(std::int64_t count, const std::string& noun) {
  return groupedNumber(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace msdbg::replay
