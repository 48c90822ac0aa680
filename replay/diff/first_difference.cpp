#include "replay/diff/first_difference.h"

#include <algorithm>

namespace msdbg::replay {

using core::Iteration;
using core::Rank;
using core::TensorId;

namespace {

TensorComparison read(const AlignedPair& pair, PairReader& reader, const TensorComparison& what,
                      TensorId input) {
  TensorComparison unknown{.rankA = what.rankA,
                           .rankB = what.rankB,
                           .iterationA = what.iterationA,
                           .iterationB = what.iterationB,
                           .a = input};
  const auto& all = pair.alignment.tensors;
  const auto found = std::ranges::find(all, input, &AlignedTensor::a);
  if (found == all.end()) return unknown;
  if (pair.judged[static_cast<std::size_t>(found - all.begin())])
    return reader.compare({what.rankA, what.rankB, what.iterationA, what.iterationB}, *found, true,
                          {.side = &pair.a, .alignment = &pair.alignment});
  unknown.b = found->b;
  unknown.order = found->order;
  unknown.verdict = Agreement::kByNature;
  return unknown;
}

// As the recording says; "" where it does not.
std::string kernelOf(Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  const core::NodeId node = run.graph().tensor(tensor).producer;
  Recomputable* const source = run.recomputable();
  if (!node.valid() || !source) return "";
  const core::Result<core::Graph> graph = source->recordedGraph(rank, iteration);
  if (!graph.ok()) return "";
  const core::NodeId local(GraphSide(run.graph(), run.part(rank, iteration)).order(node));
  if (!local.valid() || local.index() >= graph->nodes().size()) return "";
  const std::vector<core::KernelId> kernels = graph->kernelsOf(local);
  if (kernels.empty()) return "";
  const core::Kernel& kernel = graph->kernels()[kernels.front().index()];
  return kernel.implementation.empty() ? kernel.name : kernel.name + " " + kernel.implementation;
}

}  // namespace

FirstDifference firstDifference(Run& a, Run& b, const AlignedPair& pair, PairReader& reader,
                                const TensorComparison& what) {
  FirstDifference first{.what = what};
  reader.addLastBit(first.what, {.side = &pair.a, .alignment = &pair.alignment});
  first.kernelA = kernelOf(a, what.rankA, what.iterationA, what.a);
  first.kernelB = kernelOf(b, what.rankB, what.iterationB, what.b);
  const core::TensorInfo& info = a.graph().tensor(what.a);
  if (info.isSource()) return first;
  const auto inputs = pair.a.inputs(a.graph().node(info.producer));
  const core::NodeId other = b.graph().tensor(what.b).producer;
  const auto inputsB = other.valid() ? pair.b.inputs(b.graph().node(other)) : inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool same = i >= inputsB.size() || pair.alignment.toB(inputs[i]) == inputsB[i];
    first.reads.push_back(read(pair, reader, what, inputs[i]));
    first.instead.push_back(same ? TensorId() : inputsB[i]);
  }
  return first;
}

}  // namespace msdbg::replay
