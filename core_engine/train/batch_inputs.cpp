#include "core_engine/train/batch_inputs.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/graph/roles.h"
#include "core_engine/train/mutable_input.h"
#include "core_engine/train/trainer.h"

namespace msdbg::core {
namespace {

bool isInput(const TensorInfo& info) { return info.isSource() && !isCarried(info); }

}  // namespace

Result<TensorId> BatchInputs::find(const std::string& name) {
  if (const auto known = m_known.find(name); known != m_known.end()) return known->second;
  TensorId found;
  std::vector<std::string> names;
  for (const TensorInfo& info : m_graph.tensors()) {
    if (!isInput(info)) continue;
    names.push_back(info.name);
    if (info.name != name && !info.name.ends_with("/" + name)) continue;
    if (found.valid())
      return Error(ErrorCode::kUsage,
                   "the batch's '" + name + "' may be any of several inputs: " + join(names, ", "));
    found = info.id;
  }
  if (!found.valid())
    return Error(ErrorCode::kUsage,
                 "the batch's '" + name + "' is no input of the graph; it has " + join(names, ", "));
  return m_known[name] = found;
}

Result<std::vector<TensorId>> BatchInputs::inputsOf(const Batch& batch) {
  std::vector<TensorId> ids;
  for (const auto& [name, tensor] : batch.tensors) {
    MSDBG_ASSIGN(const TensorId id, find(name));
    if (std::ranges::find(ids, id) != ids.end())
      return Error(ErrorCode::kUsage,
                   "the batch gives " + m_graph.tensor(id).name + " twice; give one tensor for an input");
    ids.push_back(id);
  }
  return ids;
}

Result<Feeds> BatchInputs::feeds(const Batch& batch) {
  MSDBG_ASSIGN(const std::vector<TensorId> ids, inputsOf(batch));
  Feeds feeds;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Tensor& tensor = batch.tensors[i].second;
    const DType wanted = m_graph.tensor(ids[i]).dtype;
    const bool convert = isFloating(wanted) && isFloating(tensor.dtype()) && wanted != tensor.dtype();
    feeds.emplace_back(ids[i], convert ? tensor.cast(wanted) : tensor);
  }
  return feeds;
}

Result<std::vector<GivenSource>> BatchInputs::sources(const Batch& batch) {
  std::vector<GivenSource> sources;
  for (const auto& [name, source] : batch.sources) {
    MSDBG_ASSIGN(const TensorId id, find(name));
    const TensorInfo& info = m_graph.tensor(id);
    const Tensor* const given = batch.find(name);
    if (!given || given->shape() != info.shape) continue;  // whoever runs the iteration says so
    const Status fits = checkSource(source, info.dtype, info.shape);
    if (!fits.ok()) return fits.error().in("the batch's '" + name + "'");
    if (makes(source, *given)) sources.push_back({id, source});
  }
  return sources;
}

Result<std::vector<InputShape>> BatchInputs::otherShapes(const Batch& batch) {
  MSDBG_ASSIGN(const std::vector<TensorId> ids, inputsOf(batch));
  std::vector<InputShape> other;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Shape& given = batch.tensors[i].second.shape();
    if (given != m_graph.tensor(ids[i]).shape) other.emplace_back(ids[i], given);
  }
  return other;
}

Result<std::vector<InputShape>> BatchInputs::changedShapes(const Batch& batch) {
  MSDBG_ASSIGN(std::vector<InputShape> changed, otherShapes(batch));
  std::erase_if(changed,
                [&](const InputShape& input) { return !isMutableInput(m_graph.tensor(input.first)); });
  return changed;
}

std::string changeText(const Graph& graph, std::span<const InputShape> changed) {
  std::vector<std::string> parts;
  for (const auto& [id, shape] : changed) {
    const TensorInfo& info = graph.tensor(id);
    parts.push_back("input " + info.name + " changed from " + info.shape.text() + " to " + shape.text());
  }
  return join(parts, ", ");
}

}  // namespace msdbg::core
