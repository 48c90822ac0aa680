// How run.json holds RecordOptions. For dump's own .cpp files.
#pragma once

#include "dump/json_internal.h"
#include "dump/policy/record_options.h"

namespace msdbg::dump {

Json optionsToJson(const RecordOptions& options);
/// What another version wrote: keys and rules that cannot be understood are kept in otherKeys, and so are all
/// values when that version is newer. Throws where a known key has an impossible value else.
RecordOptions optionsOfRun(const Json& json, bool newer);

}  // namespace msdbg::dump
