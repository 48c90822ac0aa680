// OpDef: everything that one operator is, in one file op_<name>.cpp (shape inference, gradient rule,
// reference kernel, doc) and one row in builtin_ops.cpp. Plain data and plain functions; no registration, no
// inheritance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

class Communicator;
class UpdateWatch;

struct TensorType {
  DType dtype = DType::Float32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

/// Reads typed attributes with defaults, which stand for values of another type too (other frameworks').
std::int64_t intAttribute(const Attributes& a, std::string_view name, std::int64_t fallback);
double floatAttribute(const Attributes& a, std::string_view name, double fallback);
std::vector<std::int64_t> intsAttribute(const Attributes& a, std::string_view name,
                                        std::vector<std::int64_t> fallback);
std::string stringAttribute(const Attributes& a, std::string_view name, std::string fallback);

/// Error messages say which input and what was expected: "Gemm: A is [64, 400] but B is [256, 120]: 400 !=
/// 256".
using InferFn = Result<std::vector<TensorType>> (*)(std::span<const TensorType> inputs,
                                                    const Attributes& attributes);

/// What surrounds one execution of a node.
struct RunState {
  Iteration iteration{0};
  Rank rank{0};
  int ranks = 1;
  int threads = 1;
  std::uint64_t seed = 0;
  bool training = true;                  // false: Dropout is the identity
  Communicator* communicator = nullptr;  // never null in a graph that holds a collective
};

struct KernelArgs {
  const Node& node;
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;  // allocated with the inferred dtype and shape; alias an input only where
                                     // TilePorts::inPlace allows it
  const RunState& state;
  UpdateWatch* watch =
      nullptr;  // takes statistics of the outputs while they are computed; only where inPlace
};
/// The reference kernel: plain, exact about the definition, any supported dtype, fixed summation order.
using ReferenceFn = Status (*)(const KernelArgs& args);

/// Builds backward nodes. Rules call apply() with forward inputs/outputs and output gradients.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual const Node& forward() const = 0;
  virtual Value input(std::size_t i) const = 0;
  virtual Value output(std::size_t i) const = 0;
  /// The gradient of output i; nullopt when nothing flows back through it.
  virtual std::optional<Value> outputGradient(std::size_t i) const = 0;
  /// Whether the gradient of input i is wanted (it leads to a trainable parameter).
  virtual bool wanted(std::size_t i) const = 0;
  /// Adds a backward node `grad/<scope>/<opType>-opN` with the forward node's frames; returns its outputs.
  virtual std::vector<Value> apply(std::string_view opType, std::vector<Value> inputs,
                                   Attributes attributes = {}) = 0;
  Value apply1(std::string_view opType, std::vector<Value> inputs, Attributes attributes = {}) {
    return apply(opType, std::move(inputs), std::move(attributes)).front();
  }
  /// Sums `gradient` down to the shape of `input` (undoes broadcasting); itself when the shapes agree.
  /// By value: the graph's tables, which shapes live in, may move when nodes are added.
  Value reduceTo(Value gradient, Shape shape);
  /// A scalar constant, for the rare rule that needs a factor.
  Value constant(double value, DType dtype);
  /// Throws BuildError when a gradient flows into output i, which the rule treats as a mere statistic.
  void refuseGradientOf(std::size_t i);
};
/// One entry per forward input; nullopt where no gradient exists or none is wanted.
using GradientFn = std::vector<std::optional<Value>> (*)(GradientBuilder& builder);

/// 2 per multiply-add of convolutions and matrix products; 0 for everything else (as the peers count).
using FlopsFn = std::int64_t (*)(const Graph& graph, const Node& node);

struct AttributeDoc {
  std::string_view name, type /* int, float, string, ints */, defaultValue, doc;
};

/// What the data may be: the inputs that the result's values come from. Labels, indices, masks and conditions
/// have dtypes of their own, which infer checks.
enum class DataTypes { kFloating, kNumbers /* all but bool */, kAny, kInt64, kBool };

/// OpDef::maxInputs of operators that take any number (Concat, Max, Min); their last input name ends in "…".
inline constexpr std::size_t kAnyNumber = 0x7fffffff;

struct OpDef {
  std::string_view name;  // ONNX operator name
  std::string_view doc;   // one sentence; formula; ONNX section or "msdbg"
  std::size_t minInputs = 1, maxInputs = 1;
  std::vector<std::string_view> inputNames = {}, outputNames = {};
  DataTypes dataTypes = DataTypes::kFloating;
  std::vector<AttributeDoc> attributes = {};
  InferFn infer = nullptr;
  GradientFn gradient = nullptr;  // nullptr: not differentiable, an error where one is wanted
  ReferenceFn reference = nullptr;
  int revision = 1;  // of the reference kernel: raised when its bits change
  FlopsFn flops = nullptr;
  bool activation = false;      // an activation function: watchpoint target "activation"
  bool stopsGradients = false;  // what it makes is a constant for autodiff, whatever it is made of
};

using OpFactory = OpDef (*)();
std::span<const OpFactory> builtinOps();     // builtin_ops.cpp: the only list
const OpDef* findOp(std::string_view name);  // nullptr when unknown
const OpDef* findOp(const Node& node);       // nullptr also for a node of another domain
std::span<const OpDef> allOps();             // sorted by name

}  // namespace msdbg::core
