// CancelToken: asked between pieces of long work; set by Ctrl-C or by a newer request.
// Copies share one flag. Thread-safe and async-signal-safe to set.
#pragma once

#include <atomic>
#include <memory>

namespace msdbg::core {

class CancelToken {
 public:
  CancelToken() : m_flag(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() { m_flag->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return m_flag->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> m_flag;
};

}  // namespace msdbg::core
