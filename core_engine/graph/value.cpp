#include "core_engine/graph/value.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/graph/precision.h"
#include "core_engine/ops/op.h"

namespace msdbg::core {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 46;

[[noreturn]] void fail(const Graph& graph, std::span<const FrameId> frames, const std::string& what) {
  const Frame* frame = graph.userFrame(frames);
  throw BuildError(frame ? what + " (" + frame->file + ":" + std::to_string(frame->line) + ")" : what);
}

std::vector<FrameId> framesAt(Graph& graph, const std::source_location& where) {
  return graph.frameStack(graph.addFrame(frameFrom(where)));
}

std::string lineOf(const std::source_location& where) {
  return " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")";
}

/// What the Trainer compiled would not know of it.
void checkOpen(Graph& graph, const std::source_location& where) {
  if (graph.hasTrainer())
    fail(graph, framesAt(graph, where),
         "graph " + graph.name() + " has its Trainer already: build everything before that is made");
}

/// Names become paths in HDF5 and patterns on the command line: what would mean something else there is
/// refused.
bool isPlainName(std::string_view name) {
  for (const std::string& part : split(name, '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return std::none_of(name.begin(), name.end(), [](unsigned char c) {
    return c <= ' ' || c == 0x7f ||
           std::string_view(":*?[]()\\\"'").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::string unusableName(const char* kind, const std::string& name) {
  return std::string(kind) + " name '" + name +
         "' is not usable: no empty parts, spaces or any of : * ? [ ] ( ) quotes";
}

void checkName(Graph& graph, const std::string& name, const char* kind, const std::source_location& where) {
  if (!isPlainName(name)) fail(graph, framesAt(graph, where), unusableName(kind, name));
}

void checkShape(Graph& graph, const Shape& shape, const std::string& name,
                const std::source_location& where) {
  const auto refuse = [&](const std::string& why) {
    fail(graph, framesAt(graph, where), name + " has shape " + shape.text() + ": " + why);
  };
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape.dims()) {
    if (dim < 1) refuse("dimensions are positive");
    if (dim > kMostElements / elements) refuse("that is more than any memory holds");
    elements *= dim;
  }
}

/// Of inputs that fit into memory an operator may still make one that does not: the outer product of two.
void checkSize(const Graph& graph, std::span<const FrameId> frames, std::string_view opType,
               const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape.dims()) {
    if (dim > 0 && elements > kMostElements / dim)
      fail(graph, frames,
           std::string(opType) + ": its output has shape " + shape.text() +
               ": that is more than any memory holds");
    elements *= dim;
  }
}

/// A batch names its tensors by their inputs: a second one of this name could not be told from the first.
void checkFree(Graph& graph, const std::string& name, const std::source_location& where) {
  const auto there = graph.findTensor(graph.scopePath() + "/" + name);
  if (!there) return;
  const Frame* frame = graph.userFrame(graph.tensor(*there).frames);
  fail(graph, framesAt(graph, where),
       "there is a '" + name + "' already" +
           (frame ? " (" + frame->file + ":" + std::to_string(frame->line) + ")" : "") +
           "; give this input a name of its own");
}

const OpDef& opOrFail(const Graph& graph, std::span<const FrameId> frames, std::string_view opType) {
  const OpDef* op = findOp(opType);
  if (op) return *op;
  std::vector<std::string> names;
  for (const OpDef& known : allOps()) names.emplace_back(known.name);
  fail(graph, frames, "unknown operator '" + std::string(opType) + "'" + didYouMean(opType, names));
}

void checkInputs(const Graph& graph, std::span<const FrameId> frames, const OpDef& op,
                 std::span<const Value> inputs) {
  const std::string name(op.name);
  if (inputs.size() < op.minInputs || inputs.size() > op.maxInputs)
    fail(graph, frames,
         name + ": " + std::to_string(inputs.size()) + " inputs, but it takes " +
             std::to_string(op.minInputs) + " to " + std::to_string(op.maxInputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string which = name + ": input " + std::to_string(i);
    if (!inputs[i].valid()) fail(graph, frames, which + " is an empty Value");
    if (&inputs[i].graph() != &graph) fail(graph, frames, which + " belongs to another graph");
  }
}

std::vector<TensorType> typesOf(std::span<const Value> inputs, std::span<const DType> dtypes) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) types.push_back({dtypes[i], inputs[i].shape()});
  return types;
}

/// Equal on all ranks: computed from what is equal on all ranks. Dropout's mask depends on the place in the
/// batch.
bool replicatedOutput(const OpDef& op, std::span<const Value> inputs) {
  return op.name != "Dropout" &&
         std::all_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.info().replicated; });
}

std::vector<TensorInfo> outputsOf(const OpDef& op, std::span<const Value> inputs,
                                  std::vector<TensorType> types) {
  std::vector<TensorInfo> outputs(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    outputs[i].dtype = types[i].dtype;
    outputs[i].shape = std::move(types[i].shape);
    outputs[i].role =
        op.name == "SoftmaxCrossEntropyLoss" && i == 0 ? TensorRole::kLoss : TensorRole::kActivation;
    outputs[i].replicated = replicatedOutput(op, inputs);
  }
  return outputs;
}

TensorInfo sourceInfo(Graph& graph, const std::string& name, Shape shape, DType dtype, TensorRole role,
                      const std::source_location& where) {
  const bool made = role == TensorRole::kConstant && isRounded(dtype);
  if (!isComputed(dtype) && !made) fail(graph, framesAt(graph, where), name + ": " + notComputed(dtype));
  TensorInfo info;
  info.name = graph.uniqueName(graph.scopePath() + "/" + name);
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.role = role;
  info.frames = framesAt(graph, where);
  return info;
}

}  // namespace

std::vector<Value> applyOp(std::string_view opType, std::span<const Value> inputs, Attributes attributes,
                           const std::source_location& where) {
  const auto valid = std::find_if(inputs.begin(), inputs.end(), [](const Value& v) { return v.valid(); });
  if (valid == inputs.end())
    throw BuildError(std::string(opType) + ": all inputs are empty Values" + lineOf(where));
  Graph& graph = valid->graph();
  checkOpen(graph, where);
  const std::vector<FrameId> frames = framesAt(graph, where);
  const OpDef& op = opOrFail(graph, frames, opType);
  checkInputs(graph, frames, op, inputs);
  const std::vector<DType> dtypes = dtypesRead(opType, inputs);
  auto types = op.infer(typesOf(inputs, dtypes), attributes);
  if (!types.ok()) fail(graph, frames, types.error().message());
  for (const TensorType& type : *types) checkSize(graph, frames, opType, type.shape);
  const std::vector<Value> read = castTo(dtypes, inputs, frames);
  std::vector<TensorId> ids;
  for (const Value& input : read) ids.push_back(input.id());
  const NodeId node =
      graph.addNode(std::string(opType), graph.scopePath(), Phase::kForward, std::move(ids),
                    std::move(attributes), outputsOf(op, read, std::move(types).value()), frames);
  std::vector<Value> outputs;
  for (const TensorId id : graph.node(node).outputs) outputs.emplace_back(graph, id);
  return outputs;
}

Value parameter(Graph& graph, const std::string& name, Shape shape, DType dtype, Initializer initializer,
                const std::source_location& where) {
  checkOpen(graph, where);
  checkName(graph, name, "parameter", where);
  checkShape(graph, shape, "parameter " + name, where);
  TensorInfo info = sourceInfo(graph, name, std::move(shape), dtype, TensorRole::kParameter, where);
  info.trainable = true;
  info.replicated = true;
  info.initializer = initializer;
  return {graph, graph.addSource(std::move(info))};
}

Value parameter(Graph& graph, const std::string& name, Shape shape, DType dtype, const Init& init,
                const std::source_location& where) {
  checkShape(graph, shape, "parameter " + name, where);
  const auto initializer = init.forShape(shape);
  if (!initializer.ok())
    fail(graph, framesAt(graph, where), "parameter " + name + ": " + initializer.error().message());
  return parameter(graph, name, std::move(shape), dtype, *initializer, where);
}

Value constant(Graph& graph, double value, Shape shape, std::optional<DType> dtype,
               const std::source_location& where) {
  checkOpen(graph, where);
  checkShape(graph, shape, "the constant", where);
  const DType type = dtype.value_or(graph.floatingDType());
  TensorInfo info = sourceInfo(graph, "const", std::move(shape), type, TensorRole::kConstant, where);
  info.replicated = true;
  info.initializer = {Initializer::Kind::kConstant, value};
  return {graph, graph.addSource(std::move(info))};
}

Graph::Graph(std::string name, DType floating, std::source_location where)
    : m_name(std::move(name)), m_floating(floating) {
  if (!isPlainName(m_name) || m_name.find('/') != std::string::npos)
    throw BuildError(unusableName("graph", m_name) + " or /" + lineOf(where));
  if (!isComputedFloating(floating))
    throw BuildError("graph " + m_name + ": float32 or float64 is needed, not " +
                     std::string(dtypeName(floating)) + lineOf(where));
}

Value Graph::input(std::string name, Shape shape, std::optional<DType> dtype, std::source_location where) {
  checkOpen(*this, where);
  checkName(*this, name, "input", where);
  checkFree(*this, name, where);
  checkShape(*this, shape, "input " + name, where);
  const DType type = dtype.value_or(m_floating);
  const bool label = !isFloating(type) && name.find("label") != std::string::npos;
  const TensorRole role = label ? TensorRole::kLabel : TensorRole::kInput;
  return {*this, addSource(sourceInfo(*this, name, std::move(shape), type, role, where))};
}

Value Graph::parameter(std::string name, Shape shape, const Init& init, std::optional<DType> dtype,
                       std::source_location where) {
  const DType type = dtype.value_or(m_floating);
  if (!isFloating(type))
    fail(*this, framesAt(*this, where),
         "parameter " + name + " is " + std::string(dtypeName(type)) +
             ", but only floating-point numbers train");
  return core::parameter(*this, name, std::move(shape), type, init, where);
}

void Graph::mixedPrecision(DType lower, std::source_location where) {
  checkOpen(*this, where);
  const std::string what = "graph " + m_name + ": mixedPrecision: ";
  if (lower != DType::Float32 && !isRounded(lower))
    throw BuildError(what + "bfloat16, float16 or float32 (none) is needed, not " +
                     std::string(dtypeName(lower)) + lineOf(where));
  if (m_floating != DType::Float32 && isRounded(lower))
    throw BuildError(what + "the graph is of " + std::string(dtypeName(m_floating)) + ", not of float32" +
                     lineOf(where));
  m_lower = isRounded(lower) ? std::optional(lower) : std::nullopt;
}

Scope Graph::scope(std::string name, std::source_location where) { return {*this, std::move(name), where}; }

Scope::Scope(Graph& graph, std::string name, const std::source_location& where, bool engine)
    : m_graph(graph) {
  checkName(graph, name, "scope", where);
  graph.openFrames.push_back({std::move(name), graph.addFrame(frameFrom(where, engine))});
}
Scope::~Scope() { m_graph.openFrames.pop_back(); }

LayerScope::LayerScope(Graph& graph, const std::source_location& callers) : m_graph(graph) {
  graph.openFrames.push_back({"", graph.addFrame(frameFrom(callers))});
}
LayerScope::~LayerScope() { m_graph.openFrames.pop_back(); }

}  // namespace msdbg::core
