// What the environment says is recorded. Reads the process's environment: not while another thread writes it.
#pragma once

#include "dump/policy/record_options.h"

namespace msdbg::dump {

/// What the environment says is recorded: the file MSDBG_DUMP_CONFIG (unless somebody else names one:
/// `file` is false), then MSDBG_DUMP_OPTIONS, JSON whose keys win. kUsage names the variable.
core::Result<RecordOptions> environmentOptions(bool file = true);
/// For MSDBG_DUMP_OPTIONS: the options without a policy that nobody chose. What is recorded by default is for
/// the recorder of the program to say.
std::string optionsText(const RecordOptions& options);
/// Warns of each variable MSDBG_DUMP_… that means nothing: nearest one, or all.
void warnOfUnknownVariables();

}  // namespace msdbg::dump
