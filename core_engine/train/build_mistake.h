// How layers, losses and what else builds a model refuse a call: BuildError with the line of who called them.
#pragma once

#include <string>

#include "core_engine/ops/functions.h"

namespace msdbg::core {

[[noreturn]] inline void buildMistake(const std::string& what, const Where& where) {
  throw BuildError(what + " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")");
}

}  // namespace msdbg::core
