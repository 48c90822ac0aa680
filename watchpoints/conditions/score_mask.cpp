#include "watchpoints/conditions/score_mask.h"

#include <algorithm>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;

double HiddenPlaces::share(std::int64_t step) const {
  double hidden = 0, pairs = 0;
  for (std::int64_t i = std::max<std::int64_t>(0, -step); i < places && i + step < places; ++i)
    hidden += at[static_cast<std::size_t>(i * places + i + step)], ++pairs;
  return hidden / pairs;
}

namespace {

constexpr double kMinusInfinity = -10;  // added to a score: next to nothing is left of it after the softmax

/// Element (i, j) of the last two dimensions, of the first of all others; those of size 1 are broadcast.
double elementAt(const Tensor& tensor, std::int64_t i, std::int64_t j) {
  const core::Shape& shape = tensor.shape();
  const std::size_t rank = shape.rank();
  const std::int64_t columns = rank > 0 ? shape[rank - 1] : 1, rows = rank > 1 ? shape[rank - 2] : 1;
  return tensor.at((rows > 1 ? i : 0) * columns + (columns > 1 ? j : 0));
}

bool fits(const Tensor& mask, std::int64_t places) {
  const core::Shape& shape = mask.shape();
  if (mask.elements() == 0) return false;
  for (std::size_t back = 1; back <= std::min<std::size_t>(2, shape.rank()); ++back)
    if (const std::int64_t size = shape[shape.rank() - back]; size != 1 && size != places) return false;
  return true;
}

/// Of a tensor that is 0 in some elements and one other value in all the rest: that value. Else 0.
double otherThanZero(const Tensor& mask) {
  double other = 0;
  bool zero = false;
  for (std::int64_t i = 0; i < mask.elements(); ++i) {
    const double value = mask.at(i);
    zero = zero || value == 0;
    if (value == 0 || value == other) continue;
    if (other != 0) return 0;
    other = value;
  }
  return zero ? other : 0;
}

}  // namespace

void ScoreMask::read(TensorId scores) {
  for (int steps = 0; steps < 8; ++steps) {
    const core::NodeId producer = m_graph.tensor(scores).producer;
    if (!producer.valid()) return;
    const TensorId next = readNode(m_graph.node(producer));
    if (!next.valid()) return;
    scores = next;
  }
}

TensorId ScoreMask::readNode(const Node& node) {
  if (node.opType == "Identity" || node.opType == "Cast") return node.inputs[0];
  if (node.opType == "Where") return readWhere(node);
  if (node.inputs.size() != 2) return {};
  const bool sum = node.opType == "Add" || node.opType == "Sub";
  if (!sum && node.opType != "Mul" && node.opType != "Div") return {};
  for (const std::size_t i : {1, 0}) {
    const std::optional<Tensor> mask = m_given.of(node.inputs[i]);
    if (!mask) continue;
    if (sum) readSum(node, i, *mask, node.opType == "Sub" && i == 1 ? -1 : 1);
    return node.inputs[1 - i];
  }
  return {};
}

void ScoreMask::readSum(const Node& node, std::size_t input, const Tensor& mask, double sign) {
  const TensorId id = node.inputs[input];
  if (!fits(mask, hidden.places)) return;
  const auto marked = [&](std::int64_t i, std::int64_t j) {
    return sign * elementAt(mask, i, j) < kMinusInfinity;
  };
  if (hide(hidden, marked)) {
    if (!made.valid()) made = maskMaker(m_graph, id);
    return;
  }
  const double lowest = sign * otherThanZero(mask);
  if (weak || !(lowest < 0 && lowest > kMinusInfinity)) return;
  const core::NodeId maker = m_graph.tensor(id).producer;
  weak = WeakMask{lowest, maker.valid() ? maker : node.id, HiddenPlaces(hidden.places)};
  hide(weak->meant, [&](std::int64_t i, std::int64_t j) { return elementAt(mask, i, j) != 0; });
}

TensorId ScoreMask::readWhere(const Node& node) {
  const std::optional<Tensor> condition = m_given.of(node.inputs[0]);
  for (const std::size_t i : {1, 2}) {
    const std::optional<Tensor> other = condition ? m_given.of(node.inputs[i]) : std::nullopt;
    if (!other || other->elements() == 0 || other->at(0) >= kMinusInfinity) continue;
    if (!fits(*condition, hidden.places)) return node.inputs[3 - i];
    const bool any = hide(hidden, [&](std::int64_t a, std::int64_t b) {
      return (elementAt(*condition, a, b) != 0) == (i == 1);
    });
    if (any && !made.valid()) made = maskMaker(m_graph, node.inputs[0]);
    return node.inputs[3 - i];
  }
  return {};
}

template <typename Hides>
bool ScoreMask::hide(HiddenPlaces& into, const Hides& hides) {
  bool any = false;
  for (std::int64_t i = 0; i < into.places; ++i)
    for (std::int64_t j = 0; j < into.places; ++j)
      if (hides(i, j)) into.at[static_cast<std::size_t>(i * into.places + j)] = any = true;
  return any;
}

}  // namespace msdbg::watch
