// ComputedValue: asks `msdbg show` for a value that a run does not hold, in a process of its own: the window
// links none of the engine, and to cancel is to end that process. UI thread only.
#pragma once

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <filesystem>
#include <memory>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

class ComputedValue : public QObject {
  Q_OBJECT
 public:
  explicit ComputedValue(QObject* parent = nullptr) : QObject(parent) {}
  ~ComputedValue() override { cancel(); }

  /// One at a time: what was asked for before is cancelled. computed() or failed() follows.
  void start(const std::filesystem::path& run, const std::string& tensor, core::Rank rank,
             core::Iteration iteration);
  bool running() const { return m_process != nullptr; }
  void cancel();  // neither signal follows

 signals:
  void progressed(const QString& text);  // "computing iteration 3 of 5"
  /// `other`: it is not what training had: its hash is another than the recorded one.
  void computed(const core::Tensor& value, bool other);
  void failed(const QString& why);

 private:
  void readProgress();
  void finish(int exitStatus);
  core::Result<core::Tensor> readValue(const QByteArray& answer, bool* other) const;

  std::unique_ptr<QProcess> m_process;
  std::unique_ptr<QTemporaryDir> m_folder;
  QByteArray m_said;  // on stderr, its last line
};

/// msdbg beside this program, else the one on PATH; "" where there is none.
QString msdbgProgram();

}  // namespace msdbg::app
