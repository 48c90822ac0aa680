// ComputedValue: asks `msdbg show` for a value that a run does not hold. UI thread only.
#pragma once

#include <QTemporaryDir>
#include <filesystem>

#include "app/async/question.h"
#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

class ComputedValue : public QObject {
  Q_OBJECT
 public:
  explicit ComputedValue(QObject* parent = nullptr);

  /// One at a time: what was asked for before is cancelled. computed() or failed() follows.
  void start(const std::filesystem::path& run, const std::string& tensor, core::Rank rank,
             core::Iteration iteration);
  void cancel();  // neither signal follows

 signals:
  void progressed(const QString& text);  // "computing iteration 3 of 5"
  /// `other`: it is not what training had: its hash is another than the recorded one.
  void computed(const core::Tensor& value, bool other);
  void failed(const QString& why);

 private:
  void finish(const Reply& reply);
  core::Result<core::Tensor> readValue(const QByteArray& answer, bool* other) const;

  Question m_question;
  std::unique_ptr<QTemporaryDir> m_folder;
};

}  // namespace msdbg::app
