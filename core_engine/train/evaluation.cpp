#include "core_engine/train/evaluation.h"

#include <algorithm>

#include "core_engine/graph/roles.h"
#include "core_engine/train/trainer.h"

namespace msdbg::core {

Result<std::unique_ptr<Evaluation>> Evaluation::create(const Graph& model, std::span<const TensorId> wanted,
                                                       std::span<const InputShape> shapes,
                                                       ExecutorOptions options) {
  MSDBG_ASSIGN(InferenceGraph inference, inferenceGraph(model, wanted));
  std::vector<InputShape> mine;
  for (const auto& [id, shape] : shapes)
    if (const auto input = inference.graph.findTensor(model.tensor(id).fullName()))
      mine.emplace_back(*input, shape);
  MSDBG_ASSIGN(inference.graph, withInputShapes(inference.graph, mine));
  options.keep = readAfterIteration(inference.graph, inference.wanted);
  options.choices.recompute.clear();  // there is no backward pass to keep activations for
  std::unique_ptr<Evaluation> evaluation(new Evaluation(std::move(inference)));
  for (const TensorInfo& info : model.tensors())
    if (info.isSource() && !isCarried(info) && !evaluation->m_model.graph.findTensor(info.name))
      evaluation->m_unread.push_back(info.name);
  MSDBG_ASSIGN(evaluation->m_executor, Executor::create(evaluation->m_model.graph, options));
  evaluation->m_classification = findClassification(evaluation->m_model.graph);
  return evaluation;
}

Status Evaluation::share(const Graph& training, const Executor& values) {
  for (const TensorInfo& info : m_model.graph.tensors()) {
    if (!isCarried(info)) continue;
    const auto trained = training.findTensor(info.fullName());
    if (!trained)
      return Error(ErrorCode::kInternal,
                   "the training graph has no " + info.fullName() + " to evaluate with");
    MSDBG_TRY(m_executor->share(info.id, values.value(*trained)));
  }
  return Ok{};
}

Batch Evaluation::read(const Batch& batch) const {
  Batch needed = batch;
  std::erase_if(needed.tensors, [&](const auto& given) {
    return std::ranges::any_of(m_unread, [&](const std::string& name) {
      return name == given.first || name.ends_with("/" + given.first);
    });
  });
  return needed;
}

Result<bool> Evaluation::fits(const Batch& batch) {
  MSDBG_ASSIGN(const std::vector<InputShape> changed, m_inputs.otherShapes(read(batch)));
  return changed.empty();
}

Status Evaluation::run(const Batch& batch) {
  MSDBG_ASSIGN(const Feeds feeds, m_inputs.feeds(read(batch)));
  return m_executor->evaluate(feeds);
}

std::int64_t Evaluation::labels() const {
  return m_classification ? m_executor->value(m_classification->label).elements() : 0;
}

std::int64_t Evaluation::correct(std::int64_t rows) const {
  if (!m_classification) return 0;
  return countCorrect(m_executor->value(m_classification->logits), m_executor->value(m_classification->label),
                      rows);
}

}  // namespace msdbg::core
