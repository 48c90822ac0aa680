#include "core_engine/plan/plan.h"

#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

std::string typeText(const TensorInfo& info, Layout layout) {
  std::vector<std::string> dims;
  for (const std::int64_t d : info.shape.dims()) dims.push_back(std::to_string(d));
  if (layout == Layout::kChannels16) dims[1] += "c";
  return std::string(dtypeName(info.dtype)) + "[" + join(dims, ",") + "]";
}

std::string namesOf(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(graph.tensor(id).fullName());
  return join(names, ", ");
}

std::string doesText(const Graph& graph, const PlanStep& step) {
  const Node& node = graph.node(step.node);
  const std::string call = node.opType + "(" + namesOf(graph, step.inputs) + ")";
  switch (step.how) {
    case How::kRun:
      return "run " + call;
    case How::kOnce:
      return "once " + call;
    case How::kWatched:
      return "watched " + call;
    case How::kView:
      return "view " + node.opType + "(" + namesOf(graph, step.shares) + ")";
    case How::kSame:
      return "same as " + graph.node(graph.tensor(step.shares.front()).producer).name;
    case How::kGrouped:
      return "grouped " + call;
  }
  return "";
}

std::string outputsText(const Graph& graph, const Plan& plan, const Node& node) {
  std::vector<std::string> texts;
  for (const TensorId id : node.outputs) {
    std::string text = typeText(graph.tensor(id), plan.layouts[id.index()]);
    for (const std::int64_t place : {plan.placeOf[id.index()], plan.secondPlaceOf[id.index()]})
      if (place != Plan::kOwnMemory) text += "@" + std::to_string(place);
    if (plan.inPlace[id.index()]) text += "@-";
    texts.push_back(plan.isInside(graph, id) ? "(" + text + ")" : std::move(text));
  }
  return join(texts, ", ");
}

std::string groupText(const PlanStep& step) {
  std::string text = step.group.empty() ? "" : "  with";
  for (const GroupMember& member : step.group)
    if (member.node != step.node) text += " %" + std::to_string(member.node.value);
  return text;
}

std::string againText(const PlanStep& step) {
  std::string text = step.again.empty() ? "" : "  again";
  for (const NodeId id : step.again) text += " %" + std::to_string(id.value);
  return text;
}

}  // namespace

bool Plan::isInside(const Graph& graph, TensorId tensor) const {
  const TensorInfo& info = graph.tensor(tensor);
  if (info.isSource() || info.slot != 0) return false;
  const PlanStep& step = steps[info.producer.index()];
  const PlanStep& leader = step.how == How::kGrouped ? steps[step.leader.index()] : step;
  return std::ranges::any_of(
      leader.group, [&](const GroupMember& member) { return member.node == step.node && member.inside; });
}

Region Plan::regionOf(const Graph& graph, TensorId tensor) const {
  for (Region region{tensor};;) {
    const TensorInfo& info = graph.tensor(region.root);
    if (info.isSource()) return region;
    const PlanStep& step = steps[info.producer.index()];
    if (step.shares.empty()) return region;
    const auto slot = static_cast<std::size_t>(info.slot);
    region.root = step.shares[slot];
    if (!step.starts.empty()) region.start += step.starts[slot];
  }
}

Plan plainPlan(const Graph& graph) {
  Plan plan;
  for (const Node& node : graph.nodes()) plan.steps.push_back({.node = node.id, .inputs = node.inputs});
  plan.placeOf.assign(graph.tensors().size(), Plan::kOwnMemory);
  plan.secondPlaceOf = plan.placeOf;
  plan.inPlace.assign(graph.tensors().size(), false);
  plan.layouts.assign(graph.tensors().size(), Layout::kRowMajor);
  return plan;
}

std::string planText(const Graph& graph, const Plan& plan) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    const Node& node = graph.node(step.node);
    text += "%" + std::to_string(node.id.value) + " = " + doesText(graph, step) + " -> " +
            outputsText(graph, plan, node) + "  # " + node.name + groupText(step) + againText(step) + "\n";
  }
  return text;
}

std::vector<Kernel> planKernels(const Plan& plan, const Graph& graph,
                                const std::vector<CompiledKernel>& compiled,
                                std::vector<KernelId>* kernelOf) {
  std::vector<Kernel> kernels;
  kernelOf->assign(plan.steps.size(), KernelId());
  for (const PlanStep& step : plan.steps) {
    KernelId& mine = (*kernelOf)[step.node.index()];
    if (step.how == How::kSame) {
      mine = (*kernelOf)[graph.tensor(step.shares.front()).producer.index()];
      kernels[mine.index()].nodes.push_back(step.node);
      kernels[mine.index()].revisions.push_back(kernels[mine.index()].revisions.front());
      continue;
    }
    mine = KernelId(static_cast<std::int64_t>(kernels.size()));
    if (step.how == How::kGrouped) {
      mine = (*kernelOf)[step.leader.index()];
      kernels[mine.index()].nodes.push_back(step.node);
      kernels[mine.index()].revisions.push_back(compiled[step.node.index()].revision);
      continue;
    }
    const CompiledKernel& kernel = compiled[step.node.index()];
    if (step.how == How::kView)
      kernels.push_back({mine, "view:" + graph.node(step.node).opType, {step.node}, {0}});
    else
      kernels.push_back({mine, kernel.name, {step.node}, {kernel.revision}, kernel.implementation});
  }
  return kernels;
}

}  // namespace msdbg::core
