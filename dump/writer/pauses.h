// Pauses: how long to wait between tries of something that failed and may work again: 0.1 s, each time twice
// as long, 5 s at most. Value type.
#pragma once

#include <algorithm>
#include <chrono>

namespace msdbg::dump {

class Pauses {
 public:
  using Duration = std::chrono::milliseconds;
  /// A disk that was full for three seconds, or a server that came back, works by then.
  static constexpr Duration kPatience{6000};

  explicit Pauses(Duration patience = kPatience) : m_patience(patience) {}
  Duration next() {
    const Duration now = m_next;
    m_next = std::min(2 * m_next, kLongest);
    m_total += now;
    return now;
  }
  bool longEnough() const { return m_total >= m_patience; }

 private:
  static constexpr Duration kLongest{5000};
  Duration m_patience, m_next{100}, m_total{0};
};

}  // namespace msdbg::dump
