// What Python processes of a run noted for the launcher (dump/python/msdbg/_notes.py writes and describes the
// file): how far each came, and why it recorded nothing. Values; thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace msdbg::app {

class PythonNotes {
 public:
  static std::filesystem::path fileOf(const std::filesystem::path& run) { return run / "python_notes"; }
  /// Lines that make no sense, and a file that is not there, tell nothing.
  static PythonNotes read(const std::filesystem::path& run);

  bool any() const { return m_started > 0 || !m_reasons.empty(); }
  /// Half a sentence after "nothing was recorded: ".
  std::string whyNothing() const;

 private:
  int m_started = 0;    // processes
  std::string m_torch;  // the version that the last of those that imported it has; "": none did
  std::vector<std::string> m_reasons;  // in the order in which they were noted, each once
};

}  // namespace msdbg::app
