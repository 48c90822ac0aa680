// How run.json holds RecordOptions. For dump's own .cpp files.
#pragma once

#include "dump/json_internal.h"
#include "dump/policy/record_options.h"

namespace msdbg::dump {

Json optionsToJson(const RecordOptions& options);
/// What another version wrote: keys and rules that cannot be understood are kept in otherKeys. Throws where a
/// known key has an impossible value.
RecordOptions optionsOfRun(const Json& json);

}  // namespace msdbg::dump
