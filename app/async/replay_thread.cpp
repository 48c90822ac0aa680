#include "app/async/replay_thread.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace msdbg::app {
namespace {

thread_local bool isReplayThread = false;

using Key = std::pair<const QObject*, std::string>;

}  // namespace

struct ReplayThread::Impl {
  struct Request {
    std::uint64_t number = 0;
    Key key;
    QPointer<QObject> asker;  // read on the UI thread only
    Work work;
    core::CancelToken cancel;
  };

  explicit Impl(ReplayThread& o, Opener opener)
      : owner(o), thread([this, opener = std::move(opener)] { loop(opener); }) {}

  void loop(const Opener& opener) {
    isReplayThread = true;
    open(opener);
    while (std::shared_ptr<Request> request = next()) run(std::move(request));
    opened.reset();  // readers are closed on the thread that used them
  }

  // An exception (no memory, a library's own) ends one answer, not the window.
  void open(const Opener& opener) try {
    auto result = opener();
    if (!result.ok()) {
      access = result.error();
      return;
    }
    opened = std::move(result).value();
    access = opened.get();
  } catch (const std::exception& e) {
    access = core::Error(core::ErrorCode::kInternal, std::string("the run could not be opened: ") + e.what());
  }

  std::shared_ptr<Request> take(std::deque<std::shared_ptr<Request>>& lane) {
    if (lane.empty()) return nullptr;
    auto request = std::move(lane.front());
    lane.pop_front();
    return request;
  }

  std::shared_ptr<Request> next() {
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return stopping || !quick.empty() || !slow.empty(); });
    if (stopping) return nullptr;
    auto request = take(quick);
    return request ? request : take(slow);
  }

  void run(std::shared_ptr<Request> request) {
    std::function<void()> deliver;
    if (!request->cancel.cancelled()) {
      try {
        deliver = request->work(access, request->cancel);
      } catch (const std::exception& e) {
        deliver = afterException(*request, e.what());
      }
    }
    QMetaObject::invokeMethod(
        &owner, [this, request, deliver = std::move(deliver)] { arrived(*request, deliver); },
        Qt::QueuedConnection);
  }

  // The same question, answered by an error.
  std::function<void()> afterException(Request& request, const std::string& what) {
    const core::Error error(core::ErrorCode::kInternal, "the run could not be read: " + what);
    return request.work(error, request.cancel);
  }

  // UI thread.
  void arrived(Request& request, const std::function<void()>& deliver) {
    const auto newest = newestOf.find(request.key);
    const bool current = newest != newestOf.end() && newest->second->number == request.number;
    if (current) newestOf.erase(newest);
    --outstanding;
    if (current && deliver && request.asker && !request.cancel.cancelled()) deliver();
  }

  ReplayThread& owner;
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::shared_ptr<Request>> quick, slow;
  bool stopping = false;
  // Replay thread only.
  std::unique_ptr<replay::Run> opened;
  core::Result<replay::Run*> access = core::Error(core::ErrorCode::kInternal, "not opened yet");
  // UI thread only.
  std::map<Key, std::shared_ptr<Request>> newestOf;
  std::uint64_t numbers = 0;
  std::int64_t outstanding = 0;
  std::thread thread;  // last: it uses the others
};

ReplayThread::ReplayThread(Opener opener, QObject* parent)
    : QObject(parent), m_impl(std::make_unique<Impl>(*this, std::move(opener))) {}

ReplayThread::ReplayThread(const std::filesystem::path& run, QObject* parent)
    : ReplayThread([run] { return replay::Run::open(run); }, parent) {}

ReplayThread::~ReplayThread() {
  for (auto& [key, request] : m_impl->newestOf) request->cancel.cancel();
  {
    const std::lock_guard lock(m_impl->mutex);
    m_impl->stopping = true;
    m_impl->quick.clear();
    m_impl->slow.clear();
  }
  m_impl->wake.notify_one();
  m_impl->thread.join();
}

void ReplayThread::post(QObject* asker, const std::string& tag, Work work, Lane lane) {
  cancel(asker, tag);
  auto request = std::make_shared<Impl::Request>();
  request->number = ++m_impl->numbers;
  request->key = {asker, tag};
  request->asker = asker;
  request->work = std::move(work);
  m_impl->newestOf[request->key] = request;
  ++m_impl->outstanding;
  {
    const std::lock_guard lock(m_impl->mutex);
    (lane == Lane::kQuick ? m_impl->quick : m_impl->slow).push_back(std::move(request));
  }
  m_impl->wake.notify_one();
}

// A request that waits stays in its queue: the thread sees that it is cancelled and passes it by.
void ReplayThread::cancel(QObject* asker, const std::string& tag) {
  const auto found = m_impl->newestOf.find({asker, tag});
  if (found == m_impl->newestOf.end()) return;
  found->second->cancel.cancel();
  m_impl->newestOf.erase(found);
}

bool ReplayThread::onReplayThread() { return isReplayThread; }

void ReplayThread::serveQuick() {
  assert(isReplayThread);
  while (true) {
    std::shared_ptr<Impl::Request> request;
    {
      const std::lock_guard lock(m_impl->mutex);
      if (m_impl->stopping) return;
      request = m_impl->take(m_impl->quick);
    }
    if (!request) return;
    m_impl->run(std::move(request));
  }
}

bool ReplayThread::idle() const { return m_impl->outstanding == 0; }

}  // namespace msdbg::app
