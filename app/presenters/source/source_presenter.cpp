#include "app/presenters/source/source_presenter.h"

#include <algorithm>
#include <set>

#include "app/presenters/findings/finding_text.h"
#include "app/presenters/source/source_files.h"
#include "replay/describe.h"
#include "replay/findings.h"
#include "replay/search.h"

namespace msdbg::app {
namespace {

constexpr int kMostTexts = 6;  // of a tooltip, nodes and findings each

QString hitText(const RunFacts& facts, const watch::Hit& hit) {
  return QStringLiteral("%1 at iteration %2, rank %3")
      .arg(titleOf(hit) + ": " + QString::fromStdString(replay::hitPlace(*facts.graph, hit)),
           facts.iterationText(hit.iteration), QString::number(hit.rank.value));
}

QString andMore(std::size_t all) {
  return QStringLiteral("  … and %1 more").arg(all - static_cast<std::size_t>(kMostTexts));
}

}  // namespace

SourcePresenter::SourcePresenter(Document& document, QObject* parent)
    : QObject(parent), m_document(document), m_index(document.graph()) {
  m_files = sourceFiles(document.facts(), m_index);
  if (!m_files.empty()) m_file = mostWritten(document.graph(), m_files);
  connect(&document.cursor(), &Cursor::selectionChanged, this, &SourcePresenter::followCursor);
  connect(&document.findings(), &Findings::changed, this, &SourcePresenter::readMarks);
  readMarks();
  followCursor();
}

const std::string& SourcePresenter::path() const {
  static const std::string kNone;
  return m_file < 0 ? kNone : m_files[static_cast<std::size_t>(m_file)].path;
}

void SourcePresenter::showFile(int index) {
  if (index == m_file || index < 0 || index >= static_cast<int>(m_files.size())) return;
  m_file = index;
  emit fileChanged();
}

QString SourcePresenter::text() const {
  const auto& sources = m_document.facts().sources;
  const auto found = sources.find(path());
  return found == sources.end() ? QString() : QString::fromStdString(found->second);
}

const LineIndex::Counts& SourcePresenter::nodeCounts() const { return m_index.of(path()); }

const std::map<std::int32_t, LineMark>& SourcePresenter::marks() const {
  static const std::map<std::int32_t, LineMark> kNone;
  const auto found = m_marks.find(path());
  return found == m_marks.end() ? kNone : found->second;
}

std::int32_t SourcePresenter::line() const {
  const auto& line = m_document.cursor().place().line;
  return line && line->file == path() ? line->line : 0;
}

std::vector<core::NodeId> SourcePresenter::nodesOf(std::int32_t line) const {
  const auto found = replay::search(m_document.graph(), path() + ":" + std::to_string(line));
  return found ? found->nodes : std::vector<core::NodeId>();
}

QString SourcePresenter::toolTip(std::int32_t line) const {
  QStringList lines;
  if (const auto mark = marks().find(line); mark != marks().end()) {
    lines += mark->second.texts;
    const auto all = static_cast<std::size_t>(mark->second.faults + mark->second.hints);
    if (all > kMostTexts) lines += andMore(all);
  }
  if (!nodeCounts().contains(line)) return lines.join('\n');
  const std::vector<core::NodeId> nodes = nodesOf(line);
  lines += QString::fromStdString(replay::counted(static_cast<std::int64_t>(nodes.size()), "node")) +
           QStringLiteral(" of line %1:").arg(line);
  for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), kMostTexts); ++i)
    lines += "  " + QString::fromStdString(m_document.graph().node(nodes[i]).name);
  if (nodes.size() > kMostTexts) lines += andMore(nodes.size());
  return lines.join('\n');
}

std::int32_t SourcePresenter::lineWithNodes(std::int32_t from, int direction) const {
  const LineIndex::Counts& counts = nodeCounts();
  if (direction > 0) {
    const auto next = counts.upper_bound(from);
    return next == counts.end() ? 0 : next->first;
  }
  const auto next = counts.lower_bound(from);
  return next == counts.begin() ? 0 : std::prev(next)->first;
}

void SourcePresenter::selectLine(std::int32_t line) {
  const auto found = replay::search(m_document.graph(), path() + ":" + std::to_string(line));
  if (found && !found->nodes.empty()) {
    m_document.cursor().selectNodes(found->nodes, SourceLine{path(), line});
    return;
  }
  QStringList nearest;
  if (found)
    for (const std::int32_t other : found->nearestLines) nearest += QString::number(other);
  emit message(nearest.isEmpty() ? QStringLiteral("No line of this file made a node")
                                 : QStringLiteral("Line %1 made no node; the nearest lines that did: %2")
                                       .arg(QString::number(line), nearest.join(QStringLiteral(", "))));
}

void SourcePresenter::goToFrame(int row) {
  if (row < 0 || row >= m_frames.rowCount()) return;
  const core::Frame& frame = m_frames.frames()[static_cast<std::size_t>(row)];
  Place place = m_document.cursor().place();
  place.line = SourceLine{frame.file, frame.line};
  if (place == m_document.cursor().place())
    followCursor();  // the same place again: back to it from another file or another part of this one
  else
    m_document.cursor().moveTo(std::move(place));
}

QString SourcePresenter::framesTitle() const {
  const Place& place = m_document.cursor().place();
  const core::Graph& graph = m_document.graph();
  if (place.tensor.valid() && graph.tensor(place.tensor).isSource())
    return QString::fromStdString(graph.tensor(place.tensor).name);
  return place.nodes.empty() ? QString() : QString::fromStdString(graph.node(place.nodes.front()).name);
}

int SourcePresenter::currentFrame() const {
  const auto& line = m_document.cursor().place().line;
  return line ? m_frames.rowOf(*line) : -1;
}

QString SourcePresenter::query() const {
  const QString file = QString::fromStdString(path());
  if (nodeCounts().contains(line())) return QStringLiteral("%1:%2").arg(file, QString::number(line()));
  return nodeCounts().empty() ? QString() : file;
}

void SourcePresenter::followCursor() {
  readFrames();
  if (const auto& line = m_document.cursor().place().line) {
    const auto found = std::ranges::find(m_files, line->file, &SourceFile::path);
    if (found != m_files.end()) showFile(static_cast<int>(found - m_files.begin()));
  }
  emit framesChanged();
  emit lineChanged();
}

// A source (parameter, input) has frames of its own; the node beside it only reads it.
void SourcePresenter::readFrames() {
  const Place& place = m_document.cursor().place();
  const core::Graph& graph = m_document.graph();
  std::span<const core::FrameId> ids;
  if (place.tensor.valid() && graph.tensor(place.tensor).isSource())
    ids = graph.tensor(place.tensor).frames;
  else if (!place.nodes.empty())
    ids = graph.node(place.nodes.front()).frames;
  std::vector<core::Frame> frames;
  for (const core::FrameId id : ids) frames.push_back(graph.frame(id));
  m_frames.setFrames(std::move(frames));
}

void SourcePresenter::readMarks() {
  std::map<std::string, std::map<std::int32_t, LineMark>> marks;
  for (const watch::Hit& hit : m_document.findings().hits()) {
    const auto at = m_document.findings().placeOf(hit).line;
    if (!at) continue;
    LineMark& mark = marks[at->file][at->line];
    ++(hit.effectiveSeverity == watch::Severity::kFault ? mark.faults : mark.hints);
    if (mark.texts.size() < kMostTexts) mark.texts += hitText(m_document.facts(), hit);
  }
  if (const watch::CheckReport* report = m_document.findings().report(); report && report->first)
    if (const auto at = m_document.findings().placeOf(*report->first).line)
      marks[at->file][at->line].first = true;
  if (marks == m_marks) return;
  m_marks = std::move(marks);
  emit marksChanged();
}

}  // namespace msdbg::app
