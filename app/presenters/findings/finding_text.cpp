#include "app/presenters/findings/finding_text.h"

#include <algorithm>
#include <map>

#include "app/presenters/document.h"
#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

constexpr std::size_t kMostReasons = 6, kMostDamage = 3;

QString text(const std::string& t) { return QString::fromStdString(t); }

QString counted(std::int64_t count, const char* noun) { return text(replay::counted(count, noun)); }

void addRow(FindingAnswer& answer, const QString& label, const std::string& value) {
  if (!value.empty()) answer.rows.push_back({label, text(value)});
}

// The user's line, then the lines that called it.
void addWhere(FindingAnswer& answer, const core::Graph& graph, const watch::Hit& hit) {
  if (!hit.node.valid() && !hit.tensor.valid()) return;
  const auto frames = replay::framesOf(graph, hit);
  const core::Frame* user = graph.userFrame(frames);
  addRow(answer, QStringLiteral("where"), replay::sourceLine(user));
  bool below = false;
  for (const core::FrameId id : frames) {
    const core::Frame& frame = graph.frame(id);
    if (below) addRow(answer, QStringLiteral("in"), replay::sourceLine(&frame));
    below |= user && frame == *user;
  }
}

FindingAnswer::Input inputText(const core::Graph& graph, const replay::HitInput& input) {
  FindingAnswer::Input line{text(replay::tensorName(graph.tensor(input.tensor))),
                            QString::number(input.rank.value),
                            "?",
                            "?",
                            "?",
                            "?"};
  if (!input.statistics) return line;
  const core::TensorStatistics& values = input.statistics->values;
  line.nan = text(replay::groupedNumber(values.nan));
  line.inf = text(replay::groupedNumber(values.inf()));
  line.meanAbs = text(core::formatShort(values.meanAbs));
  line.max = text(core::formatShort(values.max));
  return line;
}

void addFirst(FindingAnswer& answer, const Findings& findings, const RunFacts& facts) {
  const core::Graph& graph = *facts.graph;
  const watch::Hit& hit = *findings.report()->first;
  answer.headline += QStringLiteral(": %1 at %2, rank %3, iteration %4")
                         .arg(titleOf(hit), text(replay::hitPlace(graph, hit)),
                              QString::number(hit.rank.value), facts.iterationText(hit.iteration));
  addWhere(answer, graph, hit);
  addRow(answer, QStringLiteral("what"), replay::whatText(graph, hit));
  addRow(answer, QStringLiteral("node"), replay::nodeText(graph, hit));
  addRow(answer, QStringLiteral("values"), replay::valuesText(graph, hit));
  addRow(answer, QStringLiteral("detail"), hit.detail);
  for (const replay::HitInput& input : findings.firstInputs())
    answer.inputs.push_back(inputText(graph, input));
  for (const std::string& sentence : findings.consequences()) answer.then << text(sentence);
  answer.advice = text(std::string(hit.whatNext()));
}

// "not recorded: 12 of weight_not_changed, 3 of dead_relu"; the most frequent reasons first.
QStringList notEvaluableTexts(const watch::CheckReport& report) {
  std::map<std::pair<std::string, std::string>, std::int64_t> groups;
  for (const watch::NotEvaluable& n : report.notEvaluable) groups[{n.reason, n.condition}] += n.count;
  std::vector<std::pair<std::int64_t, QString>> lines;
  for (const auto& [key, count] : groups)
    lines.emplace_back(
        count, QStringLiteral("%1 could not ask %2: %3")
                   .arg(text(key.second), counted(count, "place"), text(replay::reasonText(key.first))));
  std::ranges::stable_sort(lines, std::ranges::greater(), [](const auto& line) { return line.first; });
  QStringList texts;
  for (const auto& [count, line] : lines)
    if (texts.size() < static_cast<qsizetype>(kMostReasons)) texts << line;
  if (lines.size() > kMostReasons)
    texts << QStringLiteral("and %1 more reasons").arg(lines.size() - kMostReasons);
  return texts;
}

FindingAnswer::Kind kindOf(replay::Verdict::Kind kind) {
  switch (kind) {
    case replay::Verdict::Kind::kFault:
      return FindingAnswer::Kind::kFault;
    case replay::Verdict::Kind::kNoFault:
      return FindingAnswer::Kind::kNoFault;
    case replay::Verdict::Kind::kNoAnswer:
      break;
  }
  return FindingAnswer::Kind::kNoAnswer;
}

}  // namespace

std::vector<FindingAnswer::Damage> damageTexts(const std::vector<replay::Damage>& damage) {
  std::vector<FindingAnswer::Damage> texts;
  const std::vector<replay::DamagedFile> files = replay::damagedFiles(damage);
  for (std::size_t i = 0; i < std::min(files.size(), kMostDamage); ++i)
    texts.push_back({text(replay::damageText(files[i])), text(core::join(files[i].details, "; "))});
  if (files.size() > kMostDamage)
    texts.push_back(
        {QStringLiteral("and %1 more: msdbg verify lists them").arg(files.size() - kMostDamage), {}});
  if (!files.empty()) texts.push_back({text(replay::damageAdvice()), {}});
  return texts;
}

QString titleOf(const watch::Hit& hit) {
  const std::string_view title = hit.condition->title;
  return QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size()));
}

QString countsText(const Findings::Counts& counts) {
  QStringList texts;
  if (counts.faults > 0) texts << counted(counts.faults, "fault");
  if (counts.hints > 0) texts << counted(counts.hints, "hint");
  return texts.isEmpty() ? QStringLiteral("no hits") : texts.join(QStringLiteral(", "));
}

FindingAnswer answerOf(const Findings& findings, const RunFacts& facts) {
  FindingAnswer answer;
  const watch::CheckReport* report = findings.report();
  if (!report) return answer;
  const replay::Verdict verdict = findings.verdict();
  answer.kind = kindOf(verdict.kind);
  answer.whole = verdict.whole;
  answer.hints = !verdict.hints.empty();
  answer.headline = text(verdict.answer());
  answer.runState = text(verdict.state());
  if (report->first) addFirst(answer, findings, facts);
  if (!std::ranges::any_of(findings.entries(), &Findings::Entry::enabled) && report->evaluated == 0)
    answer.headline = QStringLiteral("no watchpoint is enabled");
  answer.notes << QStringLiteral("evaluated %1 on %2")
                      .arg(counted(report->evaluated, "question"),
                           counted(static_cast<std::int64_t>(facts.ranks.size()), "rank"));
  answer.notes << notEvaluableTexts(*report);
  answer.damage = damageTexts(findings.runState().damage);
  return answer;
}

// "-w recommended" for the whole set, whatever else is asked beside it.
QString checkCommand(const QString& runArgument, const Findings& findings) {
  const QString command = QStringLiteral("msdbg check ") + runArgument;
  if (findings.isRecommendedSet()) return command;
  const auto isRecommended = [](const Findings::Entry& e) { return e.enabled && e.watchpoint.recommended; };
  const auto& entries = findings.entries();
  const bool whole = std::ranges::count_if(entries, isRecommended) ==
                     static_cast<std::ptrdiff_t>(watch::recommendedSet().size());
  QString asked = whole ? QStringLiteral(" -w recommended") : QString();
  for (const Findings::Entry& entry : entries)
    if (entry.enabled && !(whole && entry.watchpoint.recommended))
      asked += " -w " + shellQuoted(text(entry.watchpoint.argument()));
  return asked.isEmpty() ? QString() : command + asked;
}

}  // namespace msdbg::app
