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
Value gelu(Value x, Where where = Where::current());  // by erf
Value leakyRelu(Value x, double alpha = 0.01, Where where = Where::current());
Value elu(Value x, double alpha = 1, Where where = Where::current());
Value hardSigmoid(Value x, Where where = Where::current());
Value hardSwish(Value x, Where where = Where::current());
Value exp(Value x, Where where = Where::current());
Value log(Value x, Where where = Where::current());
Value sqrt(Value x, Where where = Where::current());
Value erf(Value x, Where where = Where::current());
Value abs(Value x, Where where = Where::current());  // its gradient at 0 is 0
Value sin(Value x, Where where = Where::current());
Value cos(Value x, Where where = Where::current());
Value softplus(Value x, Where where = Where::current());  // ln(1 + e^x), without overflow
Value clip(Value x, double min, double max, Where where = Where::current());
Value softmax(Value x, std::int64_t axis = -1, Where where = Where::current());
Value logSoftmax(Value x, std::int64_t axis = -1, Where where = Where::current());
Value identity(Value x, Where where = Where::current());
/// x, but a constant for the gradients: nothing behind it learns by what is computed of it.
Value stopGradient(Value x, Where where = Where::current());
Value cast(Value x, DType to, Where where = Where::current());
/// ratio: probability of dropping, in [0, 1). Kept elements are scaled by 1/(1-ratio). Identity in
/// evaluation.
Value dropout(Value x, double ratio, Where where = Where::current());

struct PoolOptions {
  std::int64_t kernel = 2, stride = 0 /* 0: same as kernel */, pad = 0;
};
Value maxPool(Value x, const PoolOptions& options = {}, Where where = Where::current());
Value averagePool(Value x, const PoolOptions& options = {}, Where where = Where::current());
Value globalAveragePool(Value x, Where where = Where::current());  // [N, C, …] -> [N, C, 1, …]
Value flatten(Value x, std::int64_t axis = 1, Where where = Where::current());
Value reshape(Value x, Shape shape, Where where = Where::current());  // one -1 allowed; 0 copies a dimension
Value transpose(Value x, std::vector<std::int64_t> perm = {},
                Where where = Where::current());  // {}: reversed
Value squeeze(Value x, std::vector<std::int64_t> axes = {},
              Where where = Where::current());  // {}: every dimension of 1
Value unsqueeze(Value x, std::vector<std::int64_t> axes, Where where = Where::current());
Value expand(Value x, Shape shape, Where where = Where::current());
Value concat(std::initializer_list<Value> parts, std::int64_t axis, Where where = Where::current());
Value concat(std::span<const Value> parts, std::int64_t axis, Where where = Where::current());
/// `count` equal parts; the last one is smaller where they do not come out even.
std::vector<Value> split(Value x, std::int64_t count, std::int64_t axis, Where where = Where::current());
/// x[start:end:step] along one axis, as in NumPy; negative numbers count from the end.
Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step = 1,
            Where where = Where::current());
/// Slices of `data` picked by Int64 or Int32 indices: with axis 0 the rows of an embedding.
Value gather(Value data, Value indices, std::int64_t axis = 0, Where where = Where::current());
/// `pads`: [begin of each dimension, …, end of each dimension, …].
Value pad(Value x, std::vector<std::int64_t> pads, double value = 0, Where where = Where::current());
/// The upper (else lower) triangle of the last two dimensions from diagonal k on, 0 elsewhere.
Value trilu(Value x, bool upper = true, std::int64_t k = 0, Where where = Where::current());
/// Int64 0, 1, … count - 1.
Value range(Graph& graph, std::int64_t count, Where where = Where::current());
/// Rows of `depth` elements in the graph's floating dtype: 1 at the id (Int64 or Int32; a negative one counts
/// from the end), 0 elsewhere; all 0 for an id outside. `axis`: where the rows lie in the result.
Value oneHot(Value ids, std::int64_t depth, std::int64_t axis = -1, Where where = Where::current());
Value argMax(Value x, std::int64_t axis = -1, bool keepdims = false, Where where = Where::current());
/// Over `axes` (none given: all); of equal extremes the first gets the gradient.
Value reduceMax(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                Where where = Where::current());
Value reduceMin(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                Where where = Where::current());
Value reduceSum(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                Where where = Where::current());
Value reduceMean(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                 Where where = Where::current());
Value reduceSumSquare(Value x, std::vector<std::int64_t> axes = {}, bool keepdims = true,
                      Where where = Where::current());
Value matmul(Value a, Value b, Where where = Where::current());
Value pow(Value x, Value y, Where where = Where::current());
Value pow(Value x, double y, Where where = Where::current());
Value max(Value a, Value b, Where where = Where::current());
Value max(Value a, double b, Where where = Where::current());
Value min(Value a, Value b, Where where = Where::current());
Value min(Value a, double b, Where where = Where::current());
Value equal(Value a, Value b, Where where = Where::current());  // Bool, as the next four
Value greater(Value a, Value b, Where where = Where::current());
Value greaterOrEqual(Value a, Value b, Where where = Where::current());
Value less(Value a, Value b, Where where = Where::current());
Value lessOrEqual(Value a, Value b, Where where = Where::current());
Value logicalAnd(Value a, Value b, Where where = Where::current());  // of Bool, as the next three
Value logicalOr(Value a, Value b, Where where = Where::current());
Value logicalXor(Value a, Value b, Where where = Where::current());
Value logicalNot(Value x, Where where = Where::current());
Value where(Value condition, Value x, Value y, Where where = Where::current());

/// Mean cross-entropy of logits [N, C] (or [N, C, …]) against class indices [N] (or [N, …], Int64): a scalar.
Value softmaxCrossEntropy(Value logits, Value label, Where where = Where::current());

Value operator-(Operand x);
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
