#include "dump/python/record/definitions.h"

#include <algorithm>
#include <array>

#include "watchpoints/meaning/meaning.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::FrameId;
using core::NodeId;
using core::Ok;
using core::Result;
using core::Status;
using core::TensorId;

namespace {

template <typename Id>
Id idOf(std::size_t index) {
  return Id(static_cast<std::int64_t>(index));
}

Error unknown(const std::string& of, const std::string& what, std::int64_t id) {
  return {ErrorCode::kUsage, of + ": there is no " + what + " " + std::to_string(id)};
}

// What the first activation of a node is counted in; as GraphPlan has it of graphs.
std::optional<watch::ActivationPreset> rangeOf(const core::Node& node) {
  if (node.phase != core::Phase::kForward) return std::nullopt;
  const watch::Meaning* meaning = watch::meaningOf(node);
  const core::OpDef* op = meaning ? core::findOp(meaning->op) : core::findOp(node);
  return op && op->activation ? watch::activationPreset(op->name) : std::nullopt;
}

// The frame by which operators are told apart that have one name: the n-th Add of a script is on another line
// where an iteration does something else than the one before, and so is what its backward pass computes. Not
// of nodes that stand for many operators.
std::string lineOf(const core::Node& node, const std::vector<core::Frame>& frames) {
  static constexpr std::array<std::string_view, 4> kOfNoLine = {"torch", "torch.nn", "python", "autograd"};
  const bool ofALine = node.phase == core::Phase::kForward || node.phase == core::Phase::kBackward;
  const bool has =
      ofALine && !node.frames.empty() && std::ranges::find(kOfNoLine, node.domain) == kOfNoLine.end();
  if (!has) return "";
  const auto own = std::ranges::find_if(node.frames, [&](FrameId id) { return !frames[id.index()].engine; });
  return std::to_string(node.frames.front().value) + ' ' +
         (own == node.frames.end() ? "" : std::to_string(own->value));
}

// All by which a node is told from others of its name.
std::string kindOf(const core::Node& node, const std::vector<core::TensorInfo>& outputs,
                   const std::vector<core::Frame>& frames) {
  std::string kind = node.name + '\n' + node.domain + '.' + node.opType + '\n' +
                     std::to_string(static_cast<int>(node.phase)) + '\n' + lineOf(node, frames);
  for (const core::TensorInfo& output : outputs)
    kind += '\n' + std::to_string(static_cast<int>(output.dtype)) + ' ' +
            std::to_string(static_cast<int>(output.role)) + ' ' + std::to_string(output.gradientOf.value) +
            ' ' + std::to_string(output.updateOf.value) + ' ' + output.alias;
  return kind;
}

}  // namespace

FrameId Definitions::frame(core::Frame frame) {
  const std::string key = frame.file + '\n' + std::to_string(frame.line) + '\n' + frame.function + '\n' +
                          (frame.engine ? "1" : "0") + frame.code;
  const auto [found, added] = m_frameIds.emplace(key, idOf<FrameId>(m_frames.size()));
  if (added) m_frames.push_back(std::move(frame));
  return found->second;
}

Status Definitions::checkFrames(const std::vector<FrameId>& frames, const std::string& of) const {
  for (const FrameId frame : frames)
    if (!frame.valid() || frame.index() >= m_frames.size()) return unknown(of, "frame", frame.value);
  return Ok{};
}

Result<TensorId> Definitions::source(core::TensorInfo info) {
  MSDBG_TRY(checkFrames(info.frames, info.name));
  if (info.name.empty()) return Error(ErrorCode::kUsage, "a source without a name");
  if (!m_sourceNames.insert(info.name).second ||
      (!info.alias.empty() && !m_sourceNames.insert(info.alias).second))
    return Error(ErrorCode::kUsage, info.name + ": there is a source of this name or alias already");
  info.id = idOf<TensorId>(m_tensors.size());
  info.producer = {};
  m_tensors.push_back({std::move(info), {}});
  return m_tensors.back().info.id;
}

Status Definitions::check(const core::Node& node, const std::vector<core::TensorInfo>& outputs) const {
  if (node.name.empty() || node.opType.empty())
    return Error(ErrorCode::kUsage, "a node without name or type");
  for (const TensorId input : node.inputs)
    if (!has(input)) return unknown(node.name, "input", input.value);
  if (node.derivedFrom.valid() && !has(node.derivedFrom))
    return unknown(node.name, "node", node.derivedFrom.value);
  for (const core::TensorInfo& output : outputs)
    for (const TensorId other : {output.gradientOf, output.updateOf})
      if (other.valid() && !has(other)) return unknown(node.name, "tensor", other.value);
  return checkFrames(node.frames, node.name);
}

Result<NodeId> Definitions::node(core::Node node, std::vector<core::TensorInfo> outputs) {
  MSDBG_TRY(check(node, outputs));
  const auto [known, added] = m_kinds.emplace(kindOf(node, outputs, m_frames), idOf<NodeId>(m_nodes.size()));
  if (!added) {
    revise(known->second, std::move(node));
    return known->second;
  }
  node.id = known->second;
  node.outputs.clear();
  const std::size_t slash = node.name.rfind('/');
  node.scope = node.name.substr(0, slash == std::string::npos ? 0 : slash);
  const auto range = rangeOf(node);
  for (core::TensorInfo& output : outputs) {
    output.id = idOf<TensorId>(m_tensors.size());
    output.name = node.name;
    output.slot = static_cast<std::int32_t>(node.outputs.size());
    output.producer = node.id;
    node.outputs.push_back(output.id);
    m_tensors.push_back({std::move(output), range});
  }
  m_nameOf.push_back(m_names.emplace(node.name, m_names.size()).first->second);
  m_nodes.push_back(std::move(node));
  m_revisions.push_back(0);
  return m_nodes.back().id;
}

void Definitions::revise(NodeId id, core::Node node) {
  core::Node& known = m_nodes[id.index()];
  if (known.inputs == node.inputs && known.derivedFrom == node.derivedFrom) return;
  known.inputs = std::move(node.inputs);
  known.derivedFrom = node.derivedFrom;
  known.frames = std::move(node.frames);
  known.attributes = std::move(node.attributes);
  ++m_revisions[id.index()];
}

Status Definitions::setInputs(NodeId id, std::vector<TensorId> inputs) {
  if (!has(id)) return unknown("inputs", "node", id.value);
  for (const TensorId input : inputs)
    if (!has(input)) return unknown(node(id).name, "input", input.value);
  core::Node node = m_nodes[id.index()];
  node.inputs = std::move(inputs);
  revise(id, std::move(node));
  return Ok{};
}

Result<bool> Definitions::setRole(TensorId tensor, core::TensorRole role) {
  if (!has(tensor)) return unknown("role", "tensor", tensor.value);
  const core::TensorRole before = m_tensors[tensor.index()].info.role;
  m_tensors[tensor.index()].info.role = role;
  return before != role;
}

Status Definitions::setDevice(TensorId tensor, std::string device) {
  if (!has(tensor)) return unknown("device", "tensor", tensor.value);
  std::string& known = m_tensors[tensor.index()].info.device;
  if (known.empty()) known = std::move(device);
  return Ok{};
}

bool Definitions::widen(TensorId tensor, std::span<const std::int64_t> dims) {
  core::Shape& shape = m_tensors[tensor.index()].info.shape;
  if (shape == core::Shape({-1})) return false;  // as wide as it gets
  if (shape.rank() != dims.size()) {
    shape = {-1};
    return true;
  }
  bool widened = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (shape[i] == dims[i] || shape[i] == -1) continue;
    shape[i] = -1;
    widened = true;
  }
  return widened;
}

}  // namespace msdbg::dump
