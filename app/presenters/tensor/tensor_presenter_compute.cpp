// TensorPresenter: values that are not stored, computed again, and questions that commands answer.
#include "app/presenters/answer/questions.h"
#include "app/presenters/tensor/tensor_presenter.h"

namespace msdbg::app {

std::optional<ValueKey> TensorPresenter::keyOf(Side side) const {
  if (side == Side::kA) return m_a;
  return side == Side::kB ? other() : std::nullopt;
}

std::optional<replay::RecomputeWay> TensorPresenter::wayToCompute(Side side) const {
  if (!m_answer || side == Side::kDifference) return std::nullopt;
  if (side == Side::kA) return m_answer->a.way;
  return m_answer->b ? m_answer->b->way : std::nullopt;
}

void TensorPresenter::compute(Side side) {
  const std::optional<ValueKey> key = keyOf(side);
  if (!key || !wayToCompute(side)) return;
  m_computing = side;
  m_computedKey = *key;
  m_computingText = tr("computing");
  emit computingChanged();
  m_computed.start(m_document.path(), m_document.graph().tensor(key->tensor).fullName(), key->rank,
                   key->iteration);
}

void TensorPresenter::cancelComputing() {
  if (m_computing) m_computed.cancel();
  stopComputing({});
}

void TensorPresenter::stopComputing(const QString& text) {
  if (!m_computing && m_computingText == text) return;
  m_computing.reset();
  m_computingText = text;
  emit computingChanged();
}

Offer TensorPresenter::offer(Ask ask, Side side) const {
  const ValueKey key = side == Side::kB ? other().value_or(m_a) : m_a;
  const Subject subject{key.rank, key.iteration, key.tensor, m_cell};
  return m_document.questions().offer(ask, subject);
}

void TensorPresenter::takeComputed(const core::Tensor& value, bool other) {
  m_computing.reset();
  m_computingText = other ? tr("computed again, and NOT what training had: its hash is another than the "
                               "recorded one (msdbg replay --prove)")
                          : QString();
  emit computingChanged();
  if (other) return;  // it is not shown as if it were
  m_pending.insert("computed");
  m_document.replay().ask(
      this, "computed",
      [cache = m_cache, key = m_computedKey, value](replay::Run&, const core::CancelToken&) -> core::Status {
        cache->put(key, value);
        return core::Ok{};
      },
      [this](const core::Status&) {
        m_pending.erase("computed");
        load();
      });
}

}  // namespace msdbg::app
