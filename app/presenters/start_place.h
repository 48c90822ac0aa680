// Where the window starts when the command line says so. Pure function; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/presenters/cursor.h"

namespace msdbg::app {

struct StartPlace {
  std::string node;  // a name as commands take it, or FILE:LINE; "": none
  std::optional<std::int64_t> iteration, rank;
  bool any() const { return !node.empty() || iteration || rank; }
};

/// kNotFound: no such node (nearest names), rank or iteration (which there are).
core::Result<Place> resolveStart(const RunFacts& facts, const StartPlace& start);

}  // namespace msdbg::app
