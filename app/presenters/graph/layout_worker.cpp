#include "app/presenters/graph/layout_worker.h"

namespace msdbg::app {

LayoutWorker::LayoutWorker(QObject* parent) : QObject(parent) { m_pool.setMaxThreadCount(1); }

LayoutWorker::~LayoutWorker() {
  m_cancel.cancel();
  m_pool.clear();
  m_pool.waitForDone();
}

void LayoutWorker::request(graphview::Block block) {
  m_cancel.cancel();
  m_cancel = core::CancelToken();
  m_busy = true;
  m_pool.clear();
  m_pool.start([this, number = ++m_newest, cancel = m_cancel, block = std::move(block)] {
    auto placement = m_nested.place(block, cancel);
    QMetaObject::invokeMethod(
        this, [this, number, placement] { deliver(number, placement); }, Qt::QueuedConnection);
  });
}

void LayoutWorker::deliver(std::uint64_t number, std::shared_ptr<const graphview::Placement> placement) {
  if (number != m_newest || !placement) return;
  m_busy = false;
  emit done(std::move(placement));
}

}  // namespace msdbg::app
