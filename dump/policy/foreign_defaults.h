// What is recorded of a program of another framework where nobody says. Pure.
#pragma once

#include "dump/policy/record_options.h"

namespace msdbg::dump {

/// Statistics of everything; neither checkpoints nor batches, since nothing of it can be computed again here.
/// What somebody chose stays; checkpoints every C iterations are values of parameters and buffers then.
RecordOptions foreignDefaults(RecordOptions options);

}  // namespace msdbg::dump
