// What a check found, in words: the parts of the answer, which a panel lays out. Pure functions of the
// findings.
#pragma once

#include <QStringList>
#include <vector>

#include "app/presenters/findings.h"

namespace msdbg::app {

struct FindingAnswer {
  enum class Kind { kNotChecked, kFault, kNoFault, kNoAnswer };
  Kind kind = Kind::kNotChecked;
  QString headline;
  QString runState;    // belongs to the headline: what could not be read, and how the run ended
  bool whole = false;  // the run ended well and all of it was read
  bool hints = false;  // something is worth a look; only without, and of a whole run, is kNoFault good news
  struct Row {
    QString label, text;
  };
  std::vector<Row> rows;  // where, what, node, values, detail
  struct Input {
    QString tensor, rank, nan, inf, meanAbs, max;  // "?" where nothing was recorded
  };
  std::vector<Input> inputs;  // of the first wrong node
  QStringList then;           // what followed
  QString advice;
  QStringList notes;  // what was evaluated, what could not be and why
  struct Damage {
    QString text, detail;  // in our words; in those of what found it
  };
  std::vector<Damage> damage;  // the last one may say that there is more
};

/// The files that are damaged, the first few of them, and what to do.
std::vector<FindingAnswer::Damage> damageTexts(const std::vector<replay::Damage>& damage);
/// What the window calls the condition of a hit, wherever it names one.
QString titleOf(const watch::Hit& hit);
/// "3 faults, 1 hint", "1 fault", "no hits".
QString countsText(const Findings::Counts& counts);

FindingAnswer answerOf(const Findings& findings, const RunFacts& facts);

/// `msdbg check RUN -w …` with the enabled watchpoints; without any for the recommended set; "" when none is
/// enabled.
QString checkCommand(const QString& runArgument, const Findings& findings);

}  // namespace msdbg::app
