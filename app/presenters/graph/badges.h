// Badges: the health of every node of a run at (rank, iteration), from the stored statistics; of a
// collective, the worst on any rank. The places asked for lately are kept, so that stepping back costs
// nothing. UI thread; reading is done on the replay thread.
#pragma once

#include <QObject>
#include <QString>
#include <list>
#include <memory>
#include <vector>

#include "app/presenters/document.h"
#include "graph_view/model/health.h"

namespace msdbg::app {

struct BadgeSet {
  core::Rank rank;
  core::Iteration iteration;
  std::vector<graphview::Health> nodes;  // by node
  QString problem;                       // why some or all are unknown; "" when none are
  bool complete = true;  // every rank's results of collectives were there; of a live run they may still come
};

class Badges : public QObject {
  Q_OBJECT
 public:
  explicit Badges(Document& document, QObject* parent = nullptr);
  /// Of the cursor's place; nullptr until they are known.
  const BadgeSet* current() const { return m_current.get(); }
  bool busy() const { return m_busy; }
  void refresh();

 signals:
  void changed();

 private:
  void take(std::shared_ptr<const BadgeSet> badges);
  void forget();
  Document& m_document;
  std::shared_ptr<const BadgeSet> m_current;
  std::list<std::shared_ptr<const BadgeSet>> m_kept;  // newest first
  bool m_busy = false;
};

/// Replay thread.
BadgeSet readBadges(watch::Source& run, core::Rank rank, core::Iteration iteration,
                    const core::CancelToken& cancel);
graphview::Health healthOf(const core::TensorStatistics& statistics);

}  // namespace msdbg::app
