// Progress: one line on a terminal that is written over and over; nothing at all in a pipe. The line is gone
// when the object is. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace msdbg::app {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void line(const std::string& text);  // at most ten times a second
  void share(const std::string& what, double share);
  void clear();
  bool shown() const { return m_terminal; }

 private:
  bool m_terminal, m_lines;  // lines: one after another, for the program that started this one
  bool m_drawn = false;
  std::chrono::steady_clock::time_point m_last{};
};

}  // namespace msdbg::app
