// LayoutWorker: lays out pictures of one graph on a thread of its own, one at a time; a newer request makes
// the older one void. What was laid out once is kept (see NestedLayout). UI thread; the answer comes there
// too, never inside request().
#pragma once

#include <QObject>
#include <QThreadPool>
#include <memory>

#include "graph_view/layout/nested.h"

namespace msdbg::app {

class LayoutWorker : public QObject {
  Q_OBJECT
 public:
  explicit LayoutWorker(QObject* parent = nullptr);
  ~LayoutWorker() override;  // waits for the layout that runs

  void request(graphview::Block block);
  bool busy() const { return m_busy; }

 signals:
  void done(std::shared_ptr<const msdbg::graphview::Placement> placement);

 private:
  void deliver(std::uint64_t number, std::shared_ptr<const graphview::Placement> placement);
  QThreadPool m_pool;
  graphview::NestedLayout m_nested;  // the pool's one thread
  core::CancelToken m_cancel;        // of the newest request
  std::uint64_t m_newest = 0;
  bool m_busy = false;
};

}  // namespace msdbg::app
