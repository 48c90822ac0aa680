// What happens to calls that do not fit: an error that says why, never a crash.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

std::vector<TensorType> typesOf(const SampleGraph& s) {
  std::vector<TensorType> types;
  for (const Tensor& t : s.values) types.push_back({t.dtype(), t.shape()});
  return types;
}

Shape withDim(const Shape& shape, std::size_t d, std::int64_t size) {
  Shape changed = shape;
  changed[d] = size;
  return changed;
}

/// The shape with one dimension more, fewer, larger, smaller, empty.
std::vector<Shape> mutations(const Shape& shape) {
  const Ints dims(shape.dims().begin(), shape.dims().end());
  Ints longer = dims, shorter = dims;
  longer.push_back(2);
  if (!shorter.empty()) shorter.erase(shorter.begin());
  std::vector<Shape> list{Shape(longer), Shape(shorter), Shape{}};
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (std::int64_t size : {dims[d] + 1, dims[d] - 1, std::int64_t{0}})
      list.push_back(withDim(shape, d, size));
  return list;
}

/// A call that infer accepts must also run, or say by name what is wrong with its values (all 0: a Range of
/// step 0, an index into nothing).
void runOrRefuse(const std::string& op, const std::vector<TensorType>& types, const Attributes& attributes) {
  const auto inferred = findOp(op)->infer(types, attributes);
  if (!inferred.ok()) {
    CHECK(inferred.error().message().starts_with(op + ": "));
    return;
  }
  std::vector<Tensor> inputs;
  for (const TensorType& t : types) inputs.push_back(Tensor::zeros(t.dtype, t.shape));
  try {
    const std::vector<Tensor> outputs = callOp(op, inputs, attributes);
    REQUIRE(outputs.size() == inferred->size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CHECK(outputs[i].dtype() == (*inferred)[i].dtype);
      CHECK(outputs[i].shape() == (*inferred)[i].shape);
    }
  } catch (const std::runtime_error& error) {
    CHECK_THAT(error.what(), Catch::StartsWith("network/" + op));
  }
}

}  // namespace

TEST_CASE("Wrong calls are refused with a message that names the operator, the input and what was expected") {
  for (const WrongCall& call : wrongCalls()) {
    const auto inferred = findOp(call.op)->infer(call.inputs, call.attributes);
    INFO(call.op << " must mention: " << call.messageParts.front());
    REQUIRE_FALSE(inferred.ok());
    const std::string& message = inferred.error().message();
    CHECK(message.starts_with(call.op + ": "));
    for (const std::string& part : call.messageParts) CHECK_THAT(message, Catch::Contains(part));
  }
}

TEST_CASE("Every operator has a wrong call in the list") {
  for (const OpDef& op : allOps()) {
    INFO(op.name);
    CHECK(std::any_of(wrongCalls().begin(), wrongCalls().end(),
                      [&](const WrongCall& c) { return c.op == op.name; }));
  }
}

TEST_CASE("Too few and too many inputs and unknown dimensions are errors for every operator") {
  for (const Sample& s : samples()) {
    INFO(s.op << ": " << s.what);
    const OpDef& op = *findOp(s.op);
    const std::vector<TensorType> types = typesOf(buildSample(s, DType::Float32));
    std::vector<TensorType> few(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(op.minInputs) - 1),
        many = types;
    CHECK_FALSE(op.infer(few, s.attributes).ok());
    if (op.maxInputs != kAnyNumber) {
      while (many.size() <= op.maxInputs) many.push_back(types[0]);
      CHECK_FALSE(op.infer(many, s.attributes).ok());
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i].shape.rank() == 0) continue;
      auto unknown = types;
      unknown[i].shape = withDim(types[i].shape, 0, -1);
      CHECK_FALSE(op.infer(unknown, s.attributes).ok());
    }
  }
}

TEST_CASE("Changed shapes and dtypes of any input are refused or computed, never a crash") {
  for (const Sample& s : samples()) {
    INFO(s.op << ": " << s.what);
    const std::vector<TensorType> types = typesOf(buildSample(s, DType::Float32));
    for (std::size_t i = 0; i < types.size(); ++i) {
      for (const Shape& shape : mutations(types[i].shape)) {
        auto changed = types;
        changed[i].shape = shape;
        runOrRefuse(s.op, changed, s.attributes);
      }
      for (DType dtype : {DType::Float64, DType::Int64, DType::Bool}) {
        auto changed = types;
        changed[i].dtype = dtype;
        runOrRefuse(s.op, changed, s.attributes);
      }
    }
  }
}
