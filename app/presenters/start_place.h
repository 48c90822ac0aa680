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
  std::optional<std::int64_t> step = {};  // the program's own number, instead of an iteration
  bool any() const { return !node.empty() || iteration || rank || step; }
};

/// kNotFound: no such node (nearest names), rank, iteration or step (which there are).
core::Result<Place> resolveStart(const RunFacts& facts, const StartPlace& start);

}  // namespace msdbg::app
