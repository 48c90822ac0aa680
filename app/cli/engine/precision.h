// msdbg replay --dtype float64: which node lost precision in an iteration, by itself or from its inputs. Main
// thread only.
#pragma once

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "replay/precision/precision.h"

namespace msdbg::app {

struct PrecisionOptions {
  std::string run, iteration, tensors;
  std::optional<std::int64_t> rank;
  bool all = false;
};

/// kExitHits: a local error that no healthy node makes, or values that, computed again, are not as recorded.
core::Result<int> precision(const PrecisionOptions& options, const Context& context);

// precision_text.cpp
void printPrecision(const OpenedRun& run, core::Iteration iteration, const replay::Precision& precision,
                    bool all);
Json precisionJson(const OpenedRun& run, core::Iteration iteration, const replay::Precision& precision);

}  // namespace msdbg::app
