#include "app/presenters/source/frame_model.h"

#include <algorithm>

#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString toolTip(const core::Frame& frame) {
  QString text = QStringLiteral("%1:%2").arg(QString::fromStdString(frame.file), QString::number(frame.line));
  if (!frame.function.empty()) text += "\nin " + QString::fromStdString(frame.function);
  if (!frame.code.empty()) text += "\n" + QString::fromStdString(frame.code);
  if (frame.engine) text += QStringLiteral("\n(inside the engine's own layers)");
  return text;
}

}  // namespace

void FrameModel::setFrames(std::vector<core::Frame> frames) {
  if (frames == m_frames) return;
  beginResetModel();
  m_frames = std::move(frames);
  endResetModel();
}

int FrameModel::rowOf(const SourceLine& line) const {
  const auto found = std::ranges::find_if(
      m_frames, [&](const core::Frame& f) { return f.line == line.line && f.file == line.file; });
  return found == m_frames.end() ? -1 : static_cast<int>(found - m_frames.begin());
}

int FrameModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_frames.size());
}

int FrameModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant FrameModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const core::Frame& frame = m_frames[static_cast<std::size_t>(index.row())];
  if (role == kEngineRole) return frame.engine;
  if (role == Qt::ToolTipRole) return toolTip(frame);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kPlace:
      return QString::fromStdString(replay::placeOf(&frame));
    case kFunction:
      return QString::fromStdString(frame.function);
    default:
      return QString::fromStdString(frame.code).simplified();
  }
}

QVariant FrameModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const kTitles[] = {"line", "function", "code"};
  return section >= 0 && section < kColumns ? QVariant(QString(kTitles[section])) : QVariant();
}

}  // namespace msdbg::app
