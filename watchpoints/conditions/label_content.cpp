#include "watchpoints/conditions/label_content.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/binary_targets.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::TensorId;

static constexpr std::int64_t kSamples = 16, kIterations = 3;
static constexpr std::int64_t kBatch = 8;  // labels: fewer are of one class by chance

/// Numbers with fractions, cast to choose rows of a table of weights.
static bool isCutToIndices(const core::Graph& graph, const core::TensorInfo& info) {
  if (!info.producer.valid()) return false;
  const core::Node& cast = graph.node(info.producer);
  if (cast.opType != "Cast" || isFloating(info.dtype) || !isFloating(graph.tensor(cast.inputs.front()).dtype))
    return false;
  return std::ranges::any_of(graph.consumers(info.id), [&](core::NodeId user) {
    const core::Node& node = graph.node(user);
    return node.opType == "Gather" && node.inputs[1] == info.id && isWeight(graph.tensor(node.inputs[0])) &&
           graph.tensor(node.inputs[0]).shape[0] > 1;
  });
}

/// What the program makes of the batch to be the classes of a cross-entropy; invalid: nothing of the kind.
/// Zeros that are made of nothing are meant (the first of all pairs is the right one).
static TensorId computedClasses(const core::Graph& graph, const core::Node& node) {
  static constexpr auto kLosses =
      std::to_array<std::string_view>({"aten.nll_loss_forward", "aten.nll_loss2d_forward"});
  if (node.phase != core::Phase::kForward || !isOneOf(&node, kLosses) || node.inputs.size() < 2) return {};
  const core::TensorInfo& classes = graph.tensor(node.inputs[1]);
  if (classes.isSource() || isFloating(classes.dtype)) return {};
  const std::vector<bool> parts = partsOf(graph, classes.id);
  const bool ofData = std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return parts[info.id.index()] && isData(graph, info.id);
  });
  return ofData ? classes.id : TensorId();
}

LabelContent::LabelContent(const core::Graph& graph) {
  for (const core::TensorInfo& info : graph.tensors()) {
    if (info.role == core::TensorRole::kLabel && !isFloating(info.dtype)) m_labels.push_back(info.id);
    if (isCutToIndices(graph, info)) m_labels.push_back(info.id), m_cut.insert(info.id);
  }
  for (const core::Node& node : graph.nodes())
    if (const TensorId classes = computedClasses(graph, node); classes.valid()) m_labels.push_back(classes);
  // Of several one may be of the real, another of what was made up (a GAN).
  const std::vector<BinaryTarget> binary = binaryTargets(graph);
  if (binary.size() == 1 && isFloating(graph.tensor(binary.front().target).dtype) &&
      isData(graph, binary.front().target))
    m_labels.push_back(binary.front().target), m_binary.insert(binary.front().target);
}

void LabelContent::evaluate(EvaluationContext& context) {
  for (const core::Rank rank : context.ranks)
    for (const TensorId label : m_labels) lookAt(context, {context.iteration, rank, label});
}

void LabelContent::finish(EvaluationContext& context) {
  for (const auto& [place, seen] : m_seen) addSorted(context, seen);
  for (auto& [place, seen] : m_seen)
    if (seen.constant && seen.samples >= kSamples && seen.iterations >= kIterations)
      context.findings.push_back(std::move(seen.finding));
}

void LabelContent::lookAt(EvaluationContext& context, const Place& place) {
  const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
  if (!row || row->values.count == 0) return;
  ++context.evaluated;
  Seen& seen = m_seen[{place.rank, place.tensor}];
  if (seen.iterations++ == 0) {
    seen.value = row->values.min;
    seen.finding = findingAt(context, place, precedence::kStructure);
    seen.finding.detail =
        m_cut.contains(place.tensor)
            ? "all indices are " + core::formatShort(seen.value) +
                  ", in every iteration: what is cast here is cut to whole numbers, and only one row of "
                  "the table is ever read"
            : "all labels are equal: every one is " + core::formatShort(seen.value) + ", in every iteration";
    seen.finding.advice =
        m_cut.contains(place.tensor)
            ? "Scale what is cast to the number of rows before it is cut to whole numbers."
        : m_binary.contains(place.tensor)
            ? "A binary cross-entropy learns from both answers: are samples of the other one drawn, and does "
              "the batch bring them?"
        : !context.graph().tensor(place.tensor).isSource()
            ? "Look at what they are computed from: was it written over before (labels = input_ids, without "
              ".clone(), and then the masks go into both), or is the wrong part of it taken?"
            : "Look at where the labels are read from: another column holds the classes, or the file "
              "is sorted by them.";
  }
  seen.samples += row->values.count;
  seen.constant = seen.constant && row->values.min == seen.value && row->values.max == seen.value;
  if (row->values.count < kBatch || row->values.min != row->values.max) return;
  ++seen.ofOneClass;
  seen.classes.insert(row->values.min);
}

void LabelContent::addSorted(EvaluationContext& context, const Seen& seen) {
  constexpr std::size_t kClasses = 3;
  constexpr double kMost = 0.7;
  if (seen.constant || seen.iterations < kBatch || seen.classes.size() < kClasses) return;
  if (static_cast<double>(seen.ofOneClass) < kMost * static_cast<double>(seen.iterations)) return;
  Finding finding = seen.finding;
  finding.detail = "all labels of a batch are of one class in " + std::to_string(seen.ofOneClass) + " of " +
                   std::to_string(seen.iterations) +
                   " iterations, and not always the same: the data are sorted by class and not shuffled";
  finding.advice = "Shuffle what the loader reads before it is cut into batches.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
