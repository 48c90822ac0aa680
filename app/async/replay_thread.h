// ReplayThread: owns a run and is the only thread that touches it. The UI thread asks; the answer comes back
// to it as a call. A newer question with the same tag of the same asker cancels the older one. Long work (a
// check) lets quick questions in between: see YieldingSource.
//
// Threading: every member is called on the thread that made the object (the UI thread). Jobs run on the
// replay thread and get the Run and a CancelToken; they capture values only. Answers are delivered on the UI
// thread, never inside ask(), and not at all when the asker is gone or has asked again.
#pragma once

#include <QObject>
#include <QPointer>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core_engine/base/cancel.h"
#include "replay/run.h"

namespace msdbg::app {

class ReplayThread : public QObject {
  Q_OBJECT
 public:
  enum class Lane { kQuick, kLong };
  using Opener = std::function<core::Result<std::unique_ptr<replay::Run>>()>;

  /// Opens with `opener` on the new thread; questions asked before that wait. Tests give a run of their own.
  explicit ReplayThread(Opener opener, QObject* parent = nullptr);
  explicit ReplayThread(const std::filesystem::path& run, QObject* parent = nullptr);
  ~ReplayThread() override;  // cancels what runs, drops what waits, joins

  /// job: (replay::Run&, const core::CancelToken&) -> T. done: (T) -> void, on the UI thread.
  /// When the run could not be opened, T must be made from core::Error: use core::Result<…> for T.
  template <typename Job, typename Done>
  void ask(QObject* asker, const std::string& tag, Job job, Done done, Lane lane = Lane::kQuick);
  /// Cancels what `asker` asked under `tag`; no answer comes.
  void cancel(QObject* asker, const std::string& tag);

  /// True on the replay thread of any run: assertions only.
  static bool onReplayThread();
  /// Runs the quick questions that wait. Only for long jobs, on the replay thread, where no pointer into the
  /// run is held.
  void serveQuick();
  bool idle() const;  // nothing waits or runs, every answer was delivered

 private:
  friend class ReplayThreadTest;
  // Runs on the replay thread; returns what delivers the answer on the UI thread.
  using Work =
      std::function<std::function<void()>(const core::Result<replay::Run*>&, const core::CancelToken&)>;
  void post(QObject* asker, const std::string& tag, Work work, Lane lane);
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

template <typename Job, typename Done>
void ReplayThread::ask(QObject* asker, const std::string& tag, Job job, Done done, Lane lane) {
  using T = std::invoke_result_t<Job, replay::Run&, const core::CancelToken&>;
  post(
      asker, tag,
      [job = std::move(job), done = std::move(done)](const core::Result<replay::Run*>& run,
                                                     const core::CancelToken& cancel) mutable {
        auto answer = std::make_shared<T>(run.ok() ? job(**run, cancel) : T(run.error()));
        return std::function<void()>([answer, done]() mutable { done(std::move(*answer)); });
      },
      lane);
}

}  // namespace msdbg::app
