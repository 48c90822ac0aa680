// What the infer functions of operators share: checks whose messages name the operator, the input and what
// was expected. Errors are kUsage (a model that does not fit together) or kUnsupported. Pure functions;
// thread-safe.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core_engine/ops/op.h"

namespace msdbg::core {

using InputTypes = std::span<const TensorType>;
using InputNames = std::initializer_list<std::string_view>;

Error inferError(std::string_view op, const std::string& message);
/// "W is float32[64, 3, 3, 3]"
std::string describeInput(std::string_view name, const TensorType& type);

/// Between `minimum` (default: all) and names.size() inputs, no unknown dimension.
Status checkInputs(std::string_view op, InputTypes inputs, InputNames names, std::size_t minimum = SIZE_MAX);
/// The same, and all inputs are floating point of one dtype that the engine computes in or rounds to.
Status checkFloatingInputs(std::string_view op, InputTypes inputs, InputNames names,
                           std::size_t minimum = SIZE_MAX);
/// One input or more, all called `name`, no unknown dimension.
Status checkAnyInputs(std::string_view op, InputTypes inputs, std::string_view name);
Status checkRank(std::string_view op, std::string_view name, const TensorType& type, std::size_t rank);
Status checkDType(std::string_view op, std::string_view name, const TensorType& type, DType wanted);
Status checkShape(std::string_view op, std::string_view name, const TensorType& type, const Shape& wanted);
/// An axis in [-rank, rank), made non-negative.
Result<std::size_t> checkAxis(std::string_view op, std::int64_t axis, std::size_t rank);

/// A shape that can be allocated: no dimension below 0, at most 2^40 elements.
Status checkSize(std::string_view op, std::string_view what, const Shape& shape);

/// infer of operators whose floating inputs all have one shape, which is the output's too.
Result<std::vector<TensorType>> inferSameShape(std::string_view op, InputTypes inputs, InputNames names);

}  // namespace msdbg::core
