// The operators as a user calls them while building a model. Each call becomes one node (ONNX name and
// semantics; see `msdbg ops`) carrying the caller's line. Shapes and errors: the operator's own file. They
// throw BuildError.
#pragma once

#include <source_location>

#include "core_engine/graph/value.h"

namespace msdbg::core {

using Where = std::source_location;

Value relu(Value x, Where where = Where::current());
Value sigmoid(Value x, Where where = Where::current());
Value tanh(Value x, Where where = Where::current());
Value softmax(Value x, std::int64_t axis = -1, Where where = Where::current());
Value logSoftmax(Value x, std::int64_t axis = -1, Where where = Where::current());
Value identity(Value x, Where where = Where::current());
Value cast(Value x, DType to, Where where = Where::current());
/// ratio: probability of dropping, in [0, 1). Kept elements are scaled by 1/(1-ratio). Identity in
/// evaluation.
Value dropout(Value x, double ratio, Where where = Where::current());

struct PoolOptions {
  std::int64_t kernel = 2, stride = 0 /* 0: same as kernel */, pad = 0;
};
Value maxPool(Value x, const PoolOptions& options = {}, Where where = Where::current());
Value flatten(Value x, std::int64_t axis = 1, Where where = Where::current());
Value reshape(Value x, Shape shape, Where where = Where::current());  // one -1 allowed; 0 copies a dimension
Value transpose(Value x, std::vector<std::int64_t> perm = {},
                Where where = Where::current());  // {}: reversed
Value reduceSum(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                Where where = Where::current());
Value reduceMean(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                 Where where = Where::current());
Value matmul(Value a, Value b, Where where = Where::current());

/// Mean cross-entropy of logits [N, C] (or [N, C, …]) against class indices [N] (or [N, …], Int64): a scalar.
Value softmaxCrossEntropy(Value logits, Value label, Where where = Where::current());

Value operator+(Operand a, Operand b);
Value operator-(Operand a, Operand b);
Value operator*(Operand a, Operand b);
Value operator/(Operand a, Operand b);
Value operator+(Operand a, double b);
Value operator-(Operand a, double b);
Value operator*(Operand a, double b);
Value operator/(Operand a, double b);
Value operator+(double a, Operand b);
Value operator-(double a, Operand b);
Value operator*(double a, Operand b);
Value operator/(double a, Operand b);

}  // namespace msdbg::core
