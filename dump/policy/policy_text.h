// What was to be recorded, in words. Pure function; thread-safe.
#pragma once

#include <string>

#include "dump/policy/record_options.h"

namespace msdbg::dump {

/// "grad(*)=full,every=10; *=stats; values within 2.0 GB"
std::string policyText(const RecordOptions& policy);

}  // namespace msdbg::dump
