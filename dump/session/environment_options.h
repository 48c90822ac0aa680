// What the environment says is recorded. Reads the process's environment: not while another thread writes it.
#pragma once

#include "dump/policy/record_options.h"

namespace msdbg::dump {

/// What the environment says is recorded: the file MSDBG_DUMP_CONFIG (unless somebody else names one:
/// `file` is false), then MSDBG_DUMP_OPTIONS, JSON whose keys win. kUsage names the variable.
core::Result<RecordOptions> environmentOptions(bool file = true);
/// Warns of each variable MSDBG_DUMP_… that means nothing: nearest one, or all.
void warnOfUnknownVariables();

}  // namespace msdbg::dump
