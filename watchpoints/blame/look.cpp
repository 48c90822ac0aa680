#include "watchpoints/blame/look.h"

#include <algorithm>
#include <cmath>

#include "core_engine/tensor/index_text.h"

namespace msdbg::watch {

using core::Shape;
using core::Tensor;
using core::TensorStatistics;

std::string shownName(const core::TensorInfo& tensor) {
  return tensor.slot == 0 ? tensor.name : tensor.fullName();
}

std::int64_t broadcastFrom(const Shape& from, const Shape& to, std::int64_t flat) {
  const std::vector<std::int64_t> index = core::indexOf(to, flat);
  std::int64_t at = 0;
  for (std::size_t d = 0; d < from.rank(); ++d)
    at = at * from[d] + (from[d] == 1 ? 0 : index[d + to.rank() - from.rank()]);
  return at;
}

bool broadcasts(const Shape& from, const Shape& to) {
  if (!from.known() || !to.known() || from.rank() > to.rank()) return false;
  for (std::size_t d = 0; d < from.rank(); ++d)
    if (from[d] != 1 && from[d] != to[d + to.rank() - from.rank()]) return false;
  return true;
}

std::string_view Look::producerType(std::size_t input) const {
  const core::NodeId producer = info(input).producer;
  return producer.valid() ? std::string_view(graph().node(producer).opType) : std::string_view();
}

const TensorStatistics* Look::row(core::TensorId tensor) {
  const auto [at, isNew] = m_rows.try_emplace(tensor);
  if (isNew)
    if (const StatisticsRow* row = m_source.statistics(m_rank, m_iteration, tensor)) at->second = row->values;
  return at->second ? &*at->second : nullptr;
}

const TensorStatistics* Look::input(std::size_t input) {
  return input < inputs() ? row(m_node.inputs[input]) : nullptr;
}

const TensorStatistics* Look::outputAt(std::size_t slot) {
  return slot < m_node.outputs.size() ? row(m_node.outputs[slot]) : nullptr;
}

const Tensor* Look::valueOf(core::TensorId tensor) {
  const auto [at, isNew] = m_values.try_emplace(tensor);
  if (isNew)
    if (core::Result<Tensor> value = m_source.value(m_rank, m_iteration, tensor); value)
      at->second = std::move(value).value();
  return at->second ? &*at->second : nullptr;
}

const Tensor* Look::value(std::size_t input) {
  return input < inputs() ? valueOf(m_node.inputs[input]) : nullptr;
}

double Look::limit() const { return core::floatLimits(outputInfo().dtype).largest; }

double Look::expOverflow() const { return std::log(limit()); }

double Look::expUnderflow() const {  // of numbers that are not subnormal: fast kernels flush those to 0
  return std::log(core::floatLimits(outputInfo().dtype).smallestNormal);
}

bool Look::wrongElement(double y) {
  if (m_wrong == Wrong::kNonFinite) return !std::isfinite(y);
  if (m_wrong != Wrong::kExtreme) return y == 0;
  const TensorStatistics* out = output();
  return !out || std::abs(y) >= std::max(std::abs(out->min), std::abs(out->max));
}

std::optional<std::int64_t> Look::first(std::size_t input, const Test& bad) {
  const Tensor* x = value(input);
  if (!x) return std::nullopt;
  for (std::int64_t i = 0; i < x->elements(); ++i)
    if (bad(x->at(i))) return i;
  return std::nullopt;
}

Look::Found Look::find(std::size_t input, const Test& bad) {
  const Tensor *x = value(input), *y = outputValue();
  if (!x || !y || !broadcasts(x->shape(), y->shape())) return {true, first(input, bad), {}};
  for (std::int64_t o = 0; o < y->elements(); ++o) {
    if (!wrongElement(y->at(o))) continue;
    const std::int64_t i = broadcastFrom(x->shape(), y->shape(), o);
    if (bad(x->at(i))) return {true, i, o};
  }
  return {false, {}, {}};
}

std::string Look::at(std::size_t input, std::optional<std::int64_t> element) const {
  const Shape& shape = info(input).shape;
  if (!element || shape.rank() == 0) return {};
  return " at [" + core::indexText(shape, *element) + "]";
}

std::string Look::places(std::size_t input, std::int64_t count, std::optional<std::int64_t> element) const {
  const Shape& shape = info(input).shape;
  const std::int64_t all = shape.known() ? shape.elements() : -1;
  if (count == all && all == 1) return {};
  if (count == all) return " everywhere";
  if (!element)
    return all < 0 ? "" : " at " + std::to_string(count) + " of " + std::to_string(all) + " places";
  const std::string more =
      count > 1 ? " and " + std::to_string(count - 1) + " more place" + (count > 2 ? "s" : "") : "";
  return at(input, element) + more;
}

std::string Look::inputName(std::size_t input) const {
  return "input " + std::to_string(input) + " (" + shownName(info(input)) + ")";
}

Blame Look::blame(std::size_t input, const std::string& what, Wrong wrong,
                  std::optional<std::int64_t> element) const {
  return {.input = input,
          .tensor = m_node.inputs.at(input),
          .rank = m_rank,
          .text = inputName(input) + " " + what,
          .advice = {},
          .element = element,
          .wrong = wrong};
}

}  // namespace msdbg::watch
