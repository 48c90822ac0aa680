#include "core_engine/runtime/compiled_steps.h"

#include <algorithm>
#include <utility>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/roles.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/host_kernel.h"
#include "core_engine/runtime/rounded_kernel.h"

namespace msdbg::core {
namespace {

struct StepCompiler : StepMaterial, CompiledSteps {
  explicit StepCompiler(const StepMaterial& material) : StepMaterial(material) {}

  std::shared_ptr<ReplacedBlocks> replaced = std::make_shared<ReplacedBlocks>(threads);
  std::shared_ptr<const Graph> wide;  // made for the first node that is rounded

  Status compile() {
    std::vector<CompiledKernel> compiled;
    for (const PlanStep& planned : plan.steps) {
      const Node& node = graph.node(planned.node);
      Step step;
      step.node = &node;
      step.how = planned.how;
      step.inputs = tensorsOf(planned.inputs);
      step.shared = tensorsOf(planned.shares);
      step.starts = planned.starts;
      step.again = planned.again;
      for (TensorId id : node.outputs) step.outputs.push_back(&memory.tensors[id.index()]);
      if (std::ranges::any_of(node.outputs, [&](TensorId id) { return plan.inPlace[id.index()]; }))
        step.watch = std::make_unique<UpdateWatch>(replaced);
      takeTurns(step);
      MSDBG_TRY(compileStep(planned, step));
      compiled.push_back(describe(step));
      steps.push_back(std::move(step));
    }
    findFirstReads();
    std::vector<KernelId> ids;
    graph.setKernels(planKernels(plan, graph, compiled, &ids));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].id = ids[i];
      for (const GroupMember& member : plan.steps[i].group) {
        const Step& step = steps[member.node.index()];
        steps[i].members.push_back({*step.node, step.inputs, step.outputs, state});
      }
    }
    return Ok{};
  }

  /// Kernels of groups are the first backend's, whose tiles they are made of.
  CompiledKernel describe(const Step& step) const {
    if (!step.kernel)
      return {step.group ? step.group->name() : "", "", backends.front()->revision(step.node->opType)};
    const std::string name = step.kernel->name();
    const auto called = [&](const std::string& backend) {
      return std::ranges::find_if(backends, [&](const auto& b) { return b->name() == backend; });
    };
    auto made = called(name.substr(0, name.find(':')));
    if (made == backends.end()) made = called("cpu");  // "dnnl:Conv" is the CPU's
    const Backend& by = made == backends.end() ? *backends.front() : **made;
    return {name, step.kernel->implementation(), by.revision(step.node->opType)};
  }

  /// Who looks at a source right before a kernel reads it has it fetched for that kernel.
  void findFirstReads() {
    std::vector<bool> seen(graph.tensors().size(), false);
    const auto take = [&](Step& step, const std::vector<TensorId>& ids) {
      for (const TensorId id : ids)
        if (isCarried(graph.tensor(id)) && !seen[id.index()]) {
          seen[id.index()] = true;
          step.firstReads.push_back(id);
        }
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      take(steps[i], plan.steps[i].inputs);
      take(steps[i], steps[i].node->inputs);
      for (const GroupMember& member : plan.steps[i].group)
        take(steps[i], plan.steps[member.node.index()].inputs);
    }
    for (const TensorInfo& info : graph.tensors())
      if (info.isSource() && !seen[info.id.index()]) given.push_back(info.id);
  }

  Status compileStep(const PlanStep& planned, Step& step) {
    if (planned.how == How::kGrouped || !planned.shares.empty()) return Ok{};
    if (planned.group.empty()) {
      MSDBG_ASSIGN(step.kernel, compileKernel(planned, *step.node));
      return Ok{};
    }
    step.group = backends.front()->compileGroup(graph, planned.group, threads, plan.layouts);
    if (step.group) return Ok{};
    return Error(ErrorCode::kInternal, nodeWithLine(graph, *step.node) + ": no kernel for its group");
  }

  /// Where outputs lie that are computed twice.
  void takeTurns(Step& step) const {
    const auto moves = [&](TensorId id) { return memory.second[id.index()].valid(); };
    if (std::ranges::none_of(step.node->outputs, moves)) return;
    for (TensorId id : step.node->outputs) {
      step.first.push_back(memory.tensors[id.index()]);
      step.second.push_back(moves(id) ? memory.second[id.index()] : memory.tensors[id.index()]);
    }
  }

  std::vector<const Tensor*> tensorsOf(const std::vector<TensorId>& ids) const {
    std::vector<const Tensor*> found;
    for (TensorId id : ids) found.push_back(&memory.tensors[id.index()]);
    return found;
  }

  Result<std::unique_ptr<KernelImpl>> compileKernel(const PlanStep& planned, const Node& node) {
    const std::vector<bool> inputs = blocked(planned.inputs), outputs = blocked(node.outputs);
    const bool adapted = std::ranges::count(inputs, true) + std::ranges::count(outputs, true) > 0;
    if (adapted && planned.inputs == node.inputs) {
      Backend::Answer answer = backends.front()->compile(graph, node, threads, plan.layouts);
      if (answer.kernel) return std::move(answer.kernel);
    }
    MSDBG_ASSIGN(std::unique_ptr<KernelImpl> kernel, compileRowMajor(node));
    if (!adapted) return kernel;
    return adaptLayouts(std::move(kernel), inputs, outputs, scratch);
  }

  std::vector<bool> blocked(const std::vector<TensorId>& ids) const {
    std::vector<bool> flags;
    for (const TensorId id : ids) flags.push_back(plan.layouts[id.index()] != Layout::kRowMajor);
    return flags;
  }

  /// A kernel that rounds works where the host can reach.
  Backend::Answer compileBy(Backend& backend, const Node& node) {
    if (!hasRounded(graph, node)) return backend.compile(graph, node, threads);
    if (backend.memory()) return {nullptr, "float16 and bfloat16 are computed on the host"};
    if (!wide) wide = std::make_shared<const Graph>(widened(graph));
    Backend::Answer answer = backend.compile(*wide, wide->node(node.id), threads);
    if (answer.kernel) answer.kernel = rounding(std::move(answer.kernel), wide, scratch);
    return answer;
  }

  Result<std::unique_ptr<KernelImpl>> compileRowMajor(const Node& node) {
    std::string reasons;
    for (const auto& backend : backends) {
      Backend::Answer answer = compileBy(*backend, node);
      if (answer.kernel && memory.device && !backend->memory())
        return onDevice(std::move(answer.kernel), *memory.device);
      if (answer.kernel) return std::move(answer.kernel);
      reasons += (reasons.empty() ? "" : "; ") + backend->name() + ": " + answer.declined;
    }
    return Error(ErrorCode::kUnsupported,
                 nodeWithLine(graph, node) + ": no kernel for " + node.opType + " (" + reasons + ")");
  }
};

}  // namespace

Result<CompiledSteps> compileSteps(const StepMaterial& material) {
  StepCompiler compiler(material);
  MSDBG_TRY(compiler.compile());
  return CompiledSteps(std::move(compiler));
}

}  // namespace msdbg::core
