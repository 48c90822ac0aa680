// Attributes of nodes from JSON. Pure.
#pragma once

#include <string_view>

#include "core_engine/graph/graph.h"

namespace msdbg::dump {

/// Numbers ({"float": "-inf"}, "inf" or "nan" for those that JSON has not), booleans, texts, lists of numbers
/// or of texts; what is nested deeper becomes text. kUsage: no JSON object.
core::Result<core::Attributes> attributesFromJson(std::string_view json);

}  // namespace msdbg::dump
