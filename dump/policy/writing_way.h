// WritingWay: who writes large values, and through what. What is recorded does not depend on it. Values.
#pragma once

#include <optional>
#include <string>

#include "core_engine/base/result.h"

namespace msdbg::dump {

struct WritingWay {
  bool inTeam = false;  // by training's own threads, without a copy; else copied and written in background
  bool direct = false;  // past the page cache, where the file system can
  bool operator==(const WritingWay&) const = default;
  std::string text() const;  // "training's threads, page cache"
};

/// "auto": whichever is found fastest (dump/writer/way_trial.h), no value. "team", "thread": through the page
/// cache; "team-direct", "thread-direct": past it. kUsage: none of these.
core::Result<std::optional<WritingWay>> writingWayFromName(const std::string& name);
std::string writingWayName(const std::optional<WritingWay>& way);

}  // namespace msdbg::dump
