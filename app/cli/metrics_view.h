// The numbers that a program gave beside its iterations (validation, rounds), as JSON and as a table. Pure.
#pragma once

#include "app/cli/json_output.h"
#include "replay/run.h"

namespace msdbg::app {

/// Every value of every metric; an empty list where there is none.
Json metricsJson(const replay::Run& run);
/// One line a metric; "" where there is none.
std::string metricsText(const replay::Run& run);

}  // namespace msdbg::app
