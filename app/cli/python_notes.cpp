#include "app/cli/python_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cli/table.h"
#include "core_engine/base/text.h"

namespace msdbg::app {

PythonNotes PythonNotes::read(const std::filesystem::path& run) {
  PythonNotes notes;
  std::ifstream file(fileOf(run));
  for (std::string line; std::getline(file, line);) {
    const auto note = nlohmann::json::parse(line, nullptr, false);
    if (!note.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto value = note.find(key);
      return value != note.end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    const std::string event = text("event"), reason = text("text");
    if (event == "started") ++notes.m_started;
    if (event == "torch") notes.m_torch = text("version");
    if (event == "reason" && !reason.empty() &&
        std::ranges::find(notes.m_reasons, reason) == notes.m_reasons.end())
      notes.m_reasons.push_back(reason);
  }
  return notes;
}

std::string PythonNotes::whyNothing() const {
  if (!m_reasons.empty()) return core::join(m_reasons, "; ");
  if (!m_torch.empty())
    return fmt::format(
        "torch {} was imported, but no iteration ended: nothing called the step() of an optimizer", m_torch);
  if (m_started == 1) return "the program's Python process did not import torch";
  return fmt::format("none of {} imported torch", counted(m_started, "Python processe"));
}

}  // namespace msdbg::app
