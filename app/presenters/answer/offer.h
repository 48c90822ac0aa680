// What can be asked of a place in the run: the command that answers it, what that costs, or why it cannot be
// asked. Pure; of any thread.
#pragma once

#include <QStringList>

#include "app/presenters/cursor.h"
#include "replay/recompute_way.h"

namespace msdbg::app {

enum class Ask { kWhy, kHistory, kProve, kFloat64, kRecheck };

/// What a question is about: an element of a tensor, or an iteration.
struct Subject {
  core::Rank rank = {};
  core::Iteration iteration = {};
  core::TensorId tensor = {};  // why and history
  /// Row-major; none: why takes the first that is not finite, else the largest.
  std::optional<std::int64_t> element = {};
};

/// What it takes to compute an iteration again.
struct ReplayCost {
  std::optional<replay::RecomputeWay> way = {};
  QString whyNone = {};           // where there is no way
  double secondsAnIteration = 0;  // 0: not known
};

struct Offer {
  Ask ask = Ask::kWhy;
  QString name = {};       // "Why this value?"
  QStringList words = {};  // of the command, RUN left out; empty: it cannot be asked
  QString tip = {};        // what it answers and costs, or why it cannot be asked
  bool possible() const { return !words.isEmpty(); }
};

/// `cost`: of the subject's iteration; nullptr while it is not known: then nothing is offered.
Offer offerOf(Ask ask, const Subject& subject, const core::Graph& graph, const ReplayCost* cost);

/// As a shell takes it: "msdbg why RUN --tensor …"; `run` is quoted already.
QString commandLine(const QStringList& words, const QString& run);

}  // namespace msdbg::app
