#include "replay/precision/rank_pass.h"

#include <algorithm>
#include <cmath>

#include "core_engine/graph/verify.h"
#include "replay/precision/float64_node.h"
#include "replay/precision/measure.h"
#include "replay/precision/needed_memory.h"
#include "replay/precision/term_sums.h"

namespace msdbg::replay {

using core::DType;
using core::Error;
using core::ErrorCode;
using core::Node;
using core::Ok;
using core::Result;
using core::Status;
using core::Tensor;
using core::TensorId;

namespace {

constexpr std::string_view kCollective = "Allreduce";

bool isCollective(const Node& node, const core::RunState& state) {
  return state.ranks > 1 && node.isOwn() && node.opType == kCollective;
}

Tensor inFloat64(const Tensor& value) {
  return value.valid() && core::isFloating(value.dtype()) ? value.cast(DType::Float64) : value;
}

bool makesFloating(const core::Graph& graph, const Node& node) {
  return std::ranges::any_of(node.outputs,
                             [&](TensorId id) { return core::isComputedFloating(graph.tensor(id).dtype); });
}

bool allValid(const std::vector<Tensor>& tensors) { return std::ranges::all_of(tensors, &Tensor::valid); }

}  // namespace

bool Meeting::isComplete(const std::string& node) const {
  const auto expected = m_expected.find(node);
  const auto parts = m_parts.find(node);
  return expected != m_expected.end() && parts != m_parts.end() && parts->second.size() == expected->second;
}

Tensor Meeting::sum(const std::string& node, Tensor Part::*which, bool absolute) const {
  Tensor sum;
  for (const auto& [rank, part] : m_parts.at(node)) {
    const Tensor& term = part.*which;
    if (!term.valid() || (sum.valid() && term.shape() != sum.shape())) return {};
    if (!sum.valid()) sum = Tensor::zeros(DType::Float64, term.shape());
    const auto s = sum.data<double>();
    const auto t = term.data<double>();
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += absolute ? std::abs(t[i]) : t[i];
  }
  return sum;
}

Result<RankPass> RankPass::create(const core::Graph& recorded, const core::GraphPart* part,
                                  RecordedValues& values, const core::RunState& state, bool judged) {
  core::Graph graph = recorded.withFloatingDType(DType::Float64);
  if (const Status valid = core::verify(graph); !valid.ok())
    return Error(ErrorCode::kUnsupported, "in float64: " + valid.error().message());
  std::vector<DType> dtypes;
  for (const core::TensorInfo& info : recorded.tensors()) dtypes.push_back(info.dtype);
  return RankPass(std::move(graph), std::move(dtypes), part, values, state, judged);
}

RankPass::RankPass(core::Graph graph, std::vector<DType> dtypes, const core::GraphPart* part,
                   RecordedValues& values, const core::RunState& state, bool judged)
    : m_graph(std::move(graph)),
      m_dtypes(std::move(dtypes)),
      m_part(part),
      m_values(&values),
      m_state(state),
      m_judged(judged),
      m_last(lastReaders(m_graph)),
      m_slots(m_graph.tensors().size()) {}

void RankPass::announce(Meeting& meeting) const {
  for (const Node& node : m_graph.nodes())
    if (isCollective(node, m_state)) meeting.expect(node.name);
}

// Sources are exact: float64 begins with what training had.
Status RankPass::load(TensorId tensor) {
  Slot& slot = m_slots[tensor.index()];
  if (slot.asked) return Ok{};
  slot.asked = true;
  core::TensorInfo info = m_graph.tensor(tensor);
  info.dtype = m_dtypes[tensor.index()];
  Result<Tensor> value = m_values->value(m_state.rank, runId(tensor), info);
  if (value.ok())
    slot.recorded = std::move(*value);
  else if (value.error().code() == ErrorCode::kCancelled)
    return value.error();
  else
    slot.missing = value.error().message();
  if (info.isSource()) slot.throughout = inFloat64(slot.recorded);
  return Ok{};
}

// What only other ranks ask for needs recorded values of sources and of what is taken as recorded.
Status RankPass::loadAll(const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (m_judged || isCollective(node, m_state) || onlyChooses(node, i) ||
        m_graph.tensor(node.inputs[i]).isSource())
      MSDBG_TRY(load(node.inputs[i]));
  for (const TensorId output : node.outputs)
    if (m_judged || !core::isComputedFloating(m_graph.tensor(output).dtype)) MSDBG_TRY(load(output));
  return Ok{};
}

std::vector<Tensor> RankPass::recordedInputs(const Node& node) const {
  std::vector<Tensor> inputs;
  for (const TensorId id : node.inputs) inputs.push_back(inFloat64(m_slots[id.index()].recorded));
  return inputs;
}

std::vector<Tensor> RankPass::throughoutInputs(const Node& node) const {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Slot& slot = m_slots[node.inputs[i].index()];
    inputs.push_back(onlyChooses(node, i) ? inFloat64(slot.recorded) : slot.throughout);
  }
  return inputs;
}

std::string RankPass::whyUnknown(const Node& node) const {
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (const TensorId id : *ids)
      if (const Slot& slot = m_slots[id.index()]; !slot.missing.empty()) return slot.missing;
  return "what it reads is not known";
}

// Whether all ranks have given their parts.
bool RankPass::meet(const Node& node, Meeting& meeting) {
  if (!m_waits) {
    const Slot& input = m_slots[node.inputs.front().index()];
    meeting.give(node.name, m_state.rank, {inFloat64(input.recorded), input.throughout});
    m_waits = true;
  }
  return meeting.isComplete(node.name);
}

RankPass::Outputs RankPass::computeTogether(const Node& node, const Meeting& meeting) const {
  Outputs outputs;
  if (meeting.parts(node.name) != static_cast<std::size_t>(m_state.ranks)) {
    outputs.why = "not all ranks have recorded this iteration";
    return outputs;
  }
  const Tensor exact = meeting.sum(node.name, &Meeting::Part::recorded, false);
  const Tensor throughout = meeting.sum(node.name, &Meeting::Part::throughout, false);
  const core::Shape& shape = m_graph.tensor(node.outputs.front()).shape;
  if (exact.valid() && exact.shape() == shape) {
    outputs.exact = {exact};
    outputs.terms = {meeting.sum(node.name, &Meeting::Part::recorded, true)};
  } else {
    outputs.why = "what the other ranks gave it is not known";
  }
  if (throughout.valid() && throughout.shape() == shape) outputs.throughout = {throughout};
  return outputs;
}

RankPass::Outputs RankPass::computeAlone(const Node& node) const {
  Outputs outputs;
  if (!makesFloating(m_graph, node)) return outputs;  // as recorded
  if (const Status can = checkInFloat64(m_graph, node); !can.ok()) {
    outputs.why = can.error().message();
    return outputs;
  }
  if (const std::vector<Tensor> inputs = recordedInputs(node); m_judged && allValid(inputs)) {
    Result<std::vector<Tensor>> exact = runInFloat64(m_graph, node, inputs, m_state);
    if (exact.ok()) {
      Result<std::vector<Tensor>> terms = termSums(m_graph, node, inputs, *exact, m_state);
      if (terms.ok())
        outputs.terms = std::move(*terms);
      else
        outputs.why = terms.error().message();
      outputs.exact = std::move(*exact);
    } else {
      outputs.why = exact.error().message();
    }
  }
  if (const std::vector<Tensor> inputs = throughoutInputs(node); allValid(inputs))
    if (Result<std::vector<Tensor>> all = runInFloat64(m_graph, node, inputs, m_state); all.ok())
      outputs.throughout = std::move(*all);
  return outputs;
}

RankPass::Outputs RankPass::compute(const Node& node, const Meeting& meeting) {
  return isCollective(node, m_state) ? computeTogether(node, meeting) : computeAlone(node);
}

std::optional<double> RankPass::amplification(const Node& node, double relative) const {
  double most = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!onlyChooses(node, i)) most = std::max(most, m_slots[node.inputs[i].index()].relative);
  if (most == 0 || !std::isfinite(most) || !std::isfinite(relative)) return std::nullopt;
  return relative / most;
}

// Of an update the weight, of a sum either addend.
bool RankPass::absorbs(const Node& node, std::size_t slot, const Tensor& exact) const {
  const core::TensorInfo& info = m_graph.tensor(node.outputs[slot]);
  std::vector<TensorId> before;
  if (info.updateOf.valid() && m_graph.tensor(info.updateOf).role == core::TensorRole::kParameter)
    before = {info.updateOf};
  else if (node.opType == "Add" || node.opType == "Sub")
    before = node.inputs;
  const Tensor& recorded = m_slots[info.id.index()].recorded;
  return std::ranges::any_of(before, [&](TensorId id) {
    const Tensor& from = m_slots[id.index()].recorded;
    return from.valid() && from.shape() == recorded.shape() && isAbsorbed(from, recorded, exact);
  });
}

void RankPass::judge(const Node& node, std::size_t slot, const Outputs& outputs) {
  const TensorId id = node.outputs[slot];
  Slot& here = m_slots[id.index()];
  if (!here.recorded.valid()) return m_unjudged.emplace_back(whyUnknown(node), runId(id)), void();
  PrecisionRow row{.rank = m_state.rank, .tensor = runId(id), .order = node.id.value};
  if (slot < outputs.exact.size() && slot < outputs.terms.size()) {
    row.local = localError(here.recorded, outputs.exact[slot], outputs.terms[slot]);
    if (absorbs(node, slot, outputs.exact[slot])) row.local->kinds.push_back(RoundingKind::kAbsorption);
  } else {
    m_unjudged.emplace_back(outputs.why.empty() ? whyUnknown(node) : outputs.why, runId(id));
  }
  if (here.throughout.valid()) {
    row.accumulated = accumulatedError(here.recorded, here.throughout);
    here.relative = row.accumulated->relative;
    row.accumulated->amplification = amplification(node, here.relative);
  }
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (const TensorId each : *ids)
      row.computed = row.computed || m_values->isComputed(m_state.rank, runId(each));
  if (row.local || row.accumulated) m_rows.push_back(std::move(row));
}

void RankPass::take(const Node& node, Outputs outputs) {
  for (std::size_t slot = 0; slot < node.outputs.size(); ++slot) {
    Slot& here = m_slots[node.outputs[slot].index()];
    if (!core::isComputedFloating(m_graph.tensor(node.outputs[slot]).dtype)) {
      here.throughout = here.recorded;
      continue;
    }
    if (slot < outputs.throughout.size()) here.throughout = outputs.throughout[slot];
    if (m_judged) judge(node, slot, outputs);
  }
}

void RankPass::release(const Node& node) {
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (const TensorId id : *ids)
      if (m_last[id.index()] == node.id) {
        m_slots[id.index()].recorded = Tensor();
        m_slots[id.index()].throughout = Tensor();
      }
}

Result<bool> RankPass::advance(Meeting& meeting) {
  const Node& node = m_graph.nodes()[m_next];
  if (!m_waits) MSDBG_TRY(loadAll(node));
  if (isCollective(node, m_state) && !meet(node, meeting)) return false;
  take(node, compute(node, meeting));
  release(node);
  m_waits = false;
  ++m_next;
  return true;
}

void RankPass::collect(Precision& precision) const {
  precision.rows.insert(precision.rows.end(), m_rows.begin(), m_rows.end());
  for (const auto& [why, tensor] : m_unjudged) {
    const auto found = std::ranges::find(precision.unjudged, why, &Precision::Unjudged::why);
    if (found != precision.unjudged.end())
      ++found->tensors;
    else
      precision.unjudged.push_back({why, 1, tensor});
  }
}

}  // namespace msdbg::replay
