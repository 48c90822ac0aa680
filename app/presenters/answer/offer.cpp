#include "app/presenters/answer/offer.h"

#include "app/presenters/document.h"
#include "core_engine/tensor/index_text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

QString tr(const char* english) { return QObject::tr(english); }

struct Wording {
  const char *name, *tip;
};

Wording wordingOf(Ask ask) {
  switch (ask) {
    case Ask::kWhy:
      return {"Why this value?", "Back through operators, the optimizer and iterations to its cause."};
    case Ask::kHistory:
      return {"History of this element", "Its value, gradient and optimizer states in every iteration."};
    case Ask::kProve:
      return {"Prove this iteration", "Computes it again and compares every byte with what was recorded."};
    case Ask::kFloat64:
      return {"Compare this iteration with float64",
              "Computes each operator in float64 too: where precision was lost."};
    case Ask::kRecheck:
      return {"Recheck this iteration", "Computes each operator again from its recorded inputs."};
  }
  return {};
}

QString secondsText(double seconds) {
  if (seconds <= 0) return {};
  return seconds < 1 ? tr(", less than a second") : tr(", about %1 s").arg(seconds, 0, 'f', 0);
}

QString costText(Ask ask, const ReplayCost& cost) {
  if (ask == Ask::kRecheck)
    return tr("Needs stored inputs; costs one iteration%1.").arg(secondsText(cost.secondsAnIteration));
  if (!cost.way)
    return tr("From what is stored alone: nothing can be computed again (%1).").arg(cost.whyNone);
  const QString iterations = text(replay::counted(cost.way->iterations, "iteration"));
  const QString many = iterations + secondsText(cost.way->seconds);
  switch (ask) {
    case Ask::kWhy:
      return tr("What is not stored is computed again: %1, as many for each iteration further back.")
          .arg(many);
    case Ask::kHistory:
      return tr("What is not stored is computed again: each iteration once%1.")
          .arg(cost.secondsAnIteration > 0
                   ? tr(", about %1 ms each").arg(1000 * cost.secondsAnIteration, 0, 'f', 0)
                   : QString());
    default:
      return tr("Computes %1, from the checkpoint of iteration %2.")
          .arg(many)
          .arg(cost.way->checkpoint.value);
  }
}

// Why it cannot be asked; "" when it can.
QString obstacle(Ask ask, const Subject& subject, const core::Graph& graph, const ReplayCost* cost) {
  if (!subject.iteration.valid() || !subject.rank.valid()) return tr("No iteration is recorded here.");
  const bool ofTensor = ask == Ask::kWhy || ask == Ask::kHistory;
  if (ofTensor && !subject.tensor.valid()) return tr("Select a tensor first.");
  if (ask == Ask::kHistory && !subject.element) {
    const core::Shape& shape = graph.tensor(subject.tensor).shape;
    if (!shape.known() || shape.elements() != 1) return tr("Select a cell of the table first.");
  }
  if (!cost) return tr("What it costs is not known yet.");
  const bool computes = ask == Ask::kProve || ask == Ask::kFloat64;
  if (computes && !cost->way) return tr("It cannot be computed again: %1.").arg(cost->whyNone);
  return {};
}

QStringList wordsOf(Ask ask, const Subject& subject, const core::Graph& graph) {
  const QString iteration = QString::number(subject.iteration.value);
  if (ask == Ask::kRecheck) return {"check", "--recheck", "-w", "kernel_mismatch", "--iterations", iteration};
  if (ask == Ask::kProve) return {"replay", "--iteration", iteration, "--prove"};
  if (ask == Ask::kFloat64) return {"replay", "--iteration", iteration, "--dtype", "float64"};
  const core::TensorInfo& tensor = graph.tensor(subject.tensor);
  QStringList words = {ask == Ask::kWhy ? "why" : "history", "--tensor", text(replay::tensorName(tensor))};
  const core::Shape& shape = tensor.shape;
  if (subject.element && shape.known() && shape.rank() > 0)
    words << "--index" << text(core::indexText(shape, *subject.element)).remove(' ');
  if (ask == Ask::kWhy)
    words << "--iteration" << iteration << "--rank" << QString::number(subject.rank.value);
  return words;
}

}  // namespace

Offer offerOf(Ask ask, const Subject& subject, const core::Graph& graph, const ReplayCost* cost) {
  const Wording wording = wordingOf(ask);
  Offer offer{.ask = ask, .name = tr(wording.name)};
  if (const QString why = obstacle(ask, subject, graph, cost); !why.isEmpty()) {
    offer.tip = tr(wording.tip) + "\n" + why;
    return offer;
  }
  offer.words = wordsOf(ask, subject, graph);
  offer.tip = tr(wording.tip) + "\n" + costText(ask, *cost);
  return offer;
}

QString commandLine(const QStringList& words, const QString& run) {
  QStringList line = {QStringLiteral("msdbg"), words.value(0), run};
  for (const QString& word : words.mid(1)) line << shellQuoted(word);
  return line.join(' ');
}

}  // namespace msdbg::app
