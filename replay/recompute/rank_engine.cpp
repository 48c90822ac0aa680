#include "replay/recompute/rank_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/roles.h"

namespace msdbg::replay {
namespace {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

Status checkDomains(const core::Graph& graph) {
  for (const core::Node& node : graph.nodes())
    if (!node.isOwn())
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{} is {}: operators of another framework cannot be computed again here",
                               core::nodeWithLine(graph, node), core::qualifiedType(node)));
  return Ok{};
}

// The code for one node of a kernel.
struct Code {
  std::string kernel, implementation;
  int revision = -1;  // -1: not known
};

std::map<core::NodeId, Code> codeByNode(const std::vector<core::Kernel>& kernels) {
  std::map<core::NodeId, Code> code;
  for (const core::Kernel& kernel : kernels)
    for (std::size_t i = 0; i < kernel.nodes.size(); ++i)
      code[kernel.nodes[i]] = {kernel.name, kernel.implementation,
                               kernel.revisions.empty() ? -1 : kernel.revisions[i]};
  return code;
}

std::string backendOf(const std::string& kernel) { return kernel.substr(0, kernel.find(':')); }

// A group and its members' own kernels give the same bits: only the code of a node counts, 0 where it is a
// view.
std::string otherCode(const Code& then, const Code& now) {
  if (then.revision == 0 || now.revision == 0) return "";
  const std::string was = backendOf(then.kernel), is = backendOf(now.kernel);
  if ((was == "reference") != (is == "reference") || (was == "dnnl") != (is == "dnnl"))
    return fmt::format("{} instead of {}", now.kernel, then.kernel);
  if (then.revision > 0 && then.revision != now.revision)
    return fmt::format("revision {} of {} instead of {}", now.revision, now.kernel, then.revision);
  if (then.revision > 0 && then.implementation != now.implementation)
    return fmt::format("{} by {} instead of {}", now.kernel, now.implementation, then.implementation);
  return "";
}

}  // namespace

Status RankEngine::use(core::Graph graph) {
  MSDBG_TRY(checkDomains(graph));
  m_options.replaceable.clear();
  return compile(std::move(graph));
}

Status RankEngine::replaceable(std::vector<core::NodeId> nodes) {
  if (nodes == m_options.replaceable) return Ok{};
  m_options.replaceable = std::move(nodes);
  return compile(core::Graph(*m_graph));
}

Status RankEngine::compile(core::Graph graph) {
  core::TrainingState carried;
  if (m_executor)
    for (const core::TensorInfo& info : m_graph->tensors())
      if (core::isCarried(info))
        carried.tensors.emplace_back(info.fullName(), m_executor->value(info.id).clone());
  m_executor.reset();
  const std::vector<core::Kernel> recorded(graph.kernels().begin(), graph.kernels().end());
  m_graph = std::make_unique<core::Graph>(std::move(graph));
  MSDBG_ASSIGN(m_executor, core::Executor::create(*m_graph, m_options));
  compareKernels(recorded);
  for (const auto& [name, value] : carried.tensors)
    if (const auto id = m_graph->findTensor(name))
      if (m_graph->tensor(*id).shape == value.shape() && m_graph->tensor(*id).dtype == value.dtype())
        MSDBG_TRY(m_executor->setValue(*id, value));
  return Ok{};
}

void RankEngine::compareKernels(const std::vector<core::Kernel>& recorded) {
  const auto then = codeByNode(recorded);
  const auto now = codeByNode({m_graph->kernels().begin(), m_graph->kernels().end()});
  std::set<std::string> said;
  for (const auto& [node, code] : then) {
    m_knowsRevisions = m_knowsRevisions && code.revision >= 0;
    const auto here = now.find(node);
    if (here == now.end()) continue;
    const std::string other = otherCode(code, here->second);
    if (!other.empty() && said.insert(other).second)
      m_otherKernels.push_back(m_graph->node(node).name + " is computed by " + other);
  }
  if (then.empty()) m_knowsRevisions = false;
}

Status RankEngine::restore(const core::TrainingState& state) {
  std::set<std::string_view> given;
  for (const auto& [name, value] : state.tensors) {
    const auto id = m_graph->findTensor(name);
    if (!id) return Error(ErrorCode::kUsage, "the checkpoint has " + name + ", which the graph has not");
    MSDBG_TRY(m_executor->setValue(*id, value));
    given.insert(name);
  }
  for (const core::TensorInfo& info : m_graph->tensors())
    if (core::isCarried(info) && !given.contains(info.fullName()))
      return Error(ErrorCode::kUsage, "the checkpoint has no " + info.fullName());
  return Ok{};
}

Status RankEngine::run(const core::Batch& batch, core::Observer* observer, const core::Detour& detour) {
  core::Feeds feeds;
  for (const auto& [name, value] : batch.tensors) {
    const auto id = m_graph->findTensor(name + ":0");
    if (!id) return Error(ErrorCode::kUsage, "the batch has " + name + ", which the graph has not");
    feeds.emplace_back(*id, value);
  }
  m_executor->goesOn();
  return m_executor->run(batch.iteration, feeds, observer, detour);
}

std::string RankEngine::kernelOf(core::NodeId node) const {
  if (!node.valid()) return "";
  const std::vector<core::KernelId> kernels = m_graph->kernelsOf(node);
  return kernels.empty() ? "" : m_graph->kernels()[kernels.front().index()].name;
}

}  // namespace msdbg::replay
